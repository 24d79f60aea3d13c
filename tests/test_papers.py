"""The papers' systems by one switch, from the preset to the replay of an answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.embedding_server import EmbeddingAct
from tests.evaluation.test_datasets import write_dataset
from tests.factories import FEES, QUESTION, engine_at, index_fees
from tests.scripted_server import serve
from tests.serving.cli.test_app import CommandRunner, check_one_line, run
from tests.serving.cli.test_evaluate import CORPUS, QRELS, QUERIES

from fathom.config import Layers, parse_settings
from fathom.engine import Engine
from fathom.engine.paper import check_paper_embedder
from fathom.errors import IndexMismatch, SettingsError, UsageError
from fathom.registry import PAPERS
from fathom.runs.trace import Trace
from fathom.settings import Settings
from fathom.settings.papers import load_preset
from fathom.settings.section import iterate_keys
from fathom.types import Answer

__all__ = ["run"]

EVERY_PAPER = pytest.mark.parametrize("paper", PAPERS)
STATED: dict[str, dict[str, Any]] = {
    "maf": {
        "ask.min_confidence": 1.0,
        "chunking.size": 1200,
        "chunking.overlap": 200,
        "maf.vor_k": 12,
        "maf.vor_read": 5,
        "maf.vor_threshold": 0.75,
        "maf.evr_k": 24,
        "maf.evr_weight": 0.7,
        "maf.evr_floor": 0.35,
        "maf.evr_threshold": 0.6,
        "maf.agents": 4,
        "maf.rounds": 3,
        "maf.debate_threshold": 0.65,
        "maf.web_threshold": 0.55,
        "llm.max_tokens": 8000,
    },
    "rrf": {
        "ask.min_probability": 0.0,
        "chunking.size": 500,
        "rrf.k": 4,
        "rrf.rrf_k": 60,
        "rrf.contexts": 1,
        "rrf.weights": [],
    },
    "anchor": {
        "anchor.pool": 24,
        "anchor.fine": 8,
        "anchor.title_bonus": 0.07,
        "anchor.per_source": 2,
        "anchor.per_document": 2,
        "anchor.list_slots": 3,
        "anchor.diversity": 0.45,
        "anchor.context_tokens": 900,
        "anchor.context_tokens_b": 700,
        "anchor.answer_tokens": 160,
        "anchor.tau_overlap": 0.42,
        "ask.min_confidence": 0.0,
        "anchor.coverage_min": 1.0,
        "anchor.conflict_abstains": True,
        "anchor.regeneration": 300,
        "anchor.ceiling": 1.2,
        "anchor.bridges": 0,
        "anchor.second_hop_bridges": 0,
        "retrieval.vector_weight": 0.7,
        "retrieval.keyword_weight": 0.3,
    },
    "mao": {
        "ask.min_probability": 0.0,
        "mao.retrieve": 5,
        "mao.questions": 4,
        "mao.alpha": 0.1,
        "mao.coverage_threshold": 0,
        "mao.policy": "learned",
    },
    "hybrid": {
        "hybrid.simple": [0.6, 0.4],
        "hybrid.moderate": [0.4, 0.6],
        "hybrid.complex": [0.3, 0.7],
        "hybrid.joined": [0.5, 0.5],
        "hybrid.foreign": [],
        "hybrid.k": 10,
    },
}
"""The numbers that the papers state, copied from them by hand."""


def read_values(settings: Settings, keys: Any) -> dict[str, Any]:
    """Return values by dotted key, as JSON has them."""
    tree = settings.model_dump(mode="json")
    return {key: tree[key.partition(".")[0]][key.partition(".")[2]] for key in keys}


def read_recorded(trace: Trace, key: str) -> Any:
    table, _, name = key.partition(".")
    return trace.origin.settings[table][name]


def get_trace(engine: Engine, answer: Answer) -> Trace:
    assert answer.trace_id
    return engine.trace(answer.trace_id)


@contextmanager
def open_paper_engine(folder: Path, paper: str) -> Iterator[Engine]:
    """Yield an engine over one document, with a server for the embedders that a paper names."""
    with (
        serve(EmbeddingAct()) as server,
        engine_at(
            index_fees(folder),
            ask={"paper": paper},
            embedding={"base_url": server.base_url, "tries": 1},
        ) as engine,
    ):
        engine.ingest(rebuild=True)
        yield engine


@EVERY_PAPER
def test_every_value_of_a_preset_is_a_setting_or_a_constant_with_its_section(paper: str) -> None:
    preset = load_preset(paper)
    assert preset["ask.strategy"].value == paper
    assert preset.keys() <= {key for key, _ in iterate_keys(Settings)}
    assert all(value.section for value in preset.values())


@EVERY_PAPER
def test_a_preset_has_the_numbers_that_its_paper_states(paper: str) -> None:
    assert read_values(parse_settings({"ask.paper": paper}), STATED[paper]) == STATED[paper]


@pytest.mark.parametrize("paper", sorted({*PAPERS} - {"hybrid"}))
def test_a_papers_answers_are_those_of_its_model(paper: str) -> None:
    llm = parse_settings({"ask.paper": paper}).llm
    # No confidence of a local answer reaches 2.
    assert (llm.fallback, llm.skip_above_confidence) == ("abstain", 2.0)


@EVERY_PAPER
def test_a_paper_sets_all_that_its_preset_holds_and_nothing_else(paper: str) -> None:
    preset = load_preset(paper)
    settings = parse_settings({"ask.paper": paper})
    assert read_values(settings, preset) == {key: value.value for key, value in preset.items()}
    plain = Settings()
    others = [key for key, _ in iterate_keys(Settings) if "." in key and key not in preset]
    same = [key for key in others if key.count(".") == 1 and not key.endswith("prompts")]
    same.remove("ask.paper")
    assert read_values(settings, same) == read_values(plain, same)


def test_a_setting_of_the_users_own_wins_over_the_preset_wherever_it_is_set(tmp_path: Path) -> None:
    (tmp_path / "fathom.toml").write_text("[maf]\nagents = 2\n")
    layers = Layers.load(
        cwd=tmp_path,
        environment={"HOME": str(tmp_path), "FATHOM_MAF__ROUNDS": "1"},
        flags={"ask.paper": "maf"},
        assignments=["ask.min_confidence=0.3"],
    )
    values = read_values(
        layers.build_settings(),
        ("maf.agents", "maf.rounds", "ask.min_confidence", "maf.confidence", "maf.debate_on"),
    )
    assert list(values.values()) == [2, 1, 0.3, "top1", "doubt"]
    origins = {value.key: value.origin for value in layers.list_paper_values()}
    assert origins["maf.confidence"] == "paper maf, II, Figure 1"
    assert origins["maf.agents"].endswith("fathom.toml (paper maf, II-B, Table III: 4)")
    assert origins.keys() == load_preset("maf").keys()


def test_the_later_one_of_a_paper_and_a_strategy_counts(tmp_path: Path) -> None:
    (tmp_path / "fathom.toml").write_text("[ask]\nstrategy = 'naive'\n")
    home = {"HOME": str(tmp_path)}
    layers = Layers.load(cwd=tmp_path, environment=home, flags={"ask.paper": "rrf"})
    assert layers.build_settings().ask.strategy == "rrf"
    (tmp_path / "fathom.toml").write_text("[ask]\npaper = 'rrf'\n")
    layers = Layers.load(cwd=tmp_path, environment=home, flags={"ask.strategy": "naive"})
    assert layers.build_settings() == parse_settings({"ask.strategy": "naive"})


def test_a_paper_beside_another_strategy_is_refused_in_one_line() -> None:
    with pytest.raises(SettingsError, match=r"^ask.strategy = 'naive' is not the system") as caught:
        parse_settings({"ask": {"paper": "maf", "strategy": "naive"}})
    assert "\n" not in str(caught.value)
    with pytest.raises(SettingsError, match="there is no such paper; there are maf"):
        parse_settings({"ask.paper": "maff"})


@EVERY_PAPER
def test_another_paper_leaves_nothing_of_the_one_before(paper: str) -> None:
    seeded = parse_settings({"ask.paper": paper, "ask.seed": 7})
    for other in ("", *PAPERS):
        given = {"ask.paper": other} if other else {}
        assert seeded.choose_paper(other) == parse_settings({**given, "ask.seed": 7})


@EVERY_PAPER
def test_an_answer_by_a_paper_is_recorded_with_its_values_and_replays(
    paper: str, tmp_path: Path
) -> None:
    with open_paper_engine(tmp_path, paper) as engine:
        answer = engine.ask(QUESTION)
        trace = get_trace(engine, answer)
        replay = engine.replay(trace.id)
    assert (answer.strategy, replay.same) == (paper, True)
    assert answer.warnings == ()
    recorded = {key for key in load_preset(paper) if not key.startswith("chunking.")}
    for key in recorded:
        assert read_recorded(trace, key) == load_preset(paper)[key].value, key
    assert "paper" not in trace.origin.settings["ask"]
    # Nor does a replay need the switch.
    with engine_at(tmp_path) as plain:
        assert plain.replay(trace.id).same


def test_one_question_may_be_asked_as_a_paper_and_the_next_one_not(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        plain = engine.ask(QUESTION, strategy="maf")
        paper = engine.ask(QUESTION, paper="maf")
        again = engine.ask(QUESTION, strategy="maf")
        traces = [get_trace(engine, answer) for answer in (plain, paper, again)]
        assert [read_recorded(trace, "maf.confidence") for trace in traces] == [
            "reader", "top1", "reader",
        ]  # fmt: skip
        assert all(engine.replay(trace.id).same for trace in traces)
        with pytest.raises(UsageError, match="a strategy or a paper, not both"):
            engine.ask(QUESTION, paper="maf", strategy="maf")
        with pytest.raises(UsageError, match="there is no paper 'mafia'; there are maf"):
            engine.ask(QUESTION, paper="mafia")


def test_another_strategy_than_the_papers_has_its_own_settings(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path), ask={"paper": "maf"}) as engine:
        same = get_trace(engine, engine.ask(QUESTION, strategy="maf"))
        other = get_trace(engine, engine.ask(QUESTION, strategy="naive"))
    assert read_recorded(same, "ask.min_confidence") == 1.0
    assert read_recorded(other, "ask.min_confidence") == 0.5


def test_an_index_that_was_cut_otherwise_is_told(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path), ask={"paper": "maf"}) as engine:
        (warning,) = engine.ask(QUESTION).warnings
        assert "and the paper 'maf' cuts by characters/2 1200/200" in warning
        assert "`fathom ingest --paper maf --index OTHER PATH...`" in warning
        engine.ingest(rebuild=True)
        assert engine.ask(QUESTION).warnings == ()
    # Whoever cuts otherwise on purpose has no need of a warning.
    with engine_at(
        tmp_path, ask={"paper": "maf"}, chunking={"size": 1200, "overlap": 200}
    ) as engine:
        assert engine.ask(QUESTION).warnings == ()


def test_an_index_of_another_embedder_is_refused_before_a_model_is_loaded() -> None:
    stored = {"embedder.model": "all-MiniLM-L6-v2"}
    with pytest.raises(IndexMismatch, match="or keep it with --set models") as one:
        check_paper_embedder(parse_settings({"ask.paper": "rrf"}), stored)
    assert "\n" not in str(one.value)
    for settings in ({"ask.paper": "rrf", "models.embedder": "mine"}, {"ask.paper": "maf"}, {}):
        check_paper_embedder(parse_settings(settings), stored)


def test_config_shows_the_values_of_a_paper_with_their_sections(run: CommandRunner) -> None:
    shown = run("config", "show", "--paper", "rrf", "--json").json
    assert shown["rrf.rrf_k"] == {"value": 60, "origin": "paper rrf, III, the formula"}
    assert shown.keys() == load_preset("rrf").keys()
    assert 'maf.confidence = "top1"  # paper maf' in run("config", "show", "--paper", "maf").out


def test_the_command_line_asks_as_a_paper(run: CommandRunner, tmp_path: Path) -> None:
    (tmp_path / "fees.md").write_text(f"# Fees\n\n{FEES}\n")
    assert run("ingest", "fees.md", "--paper", "maf").code == 0
    answer = run("ask", QUESTION, "--paper", "maf", "--json").json
    assert (answer["strategy"], answer["warnings"]) == ("maf", [])
    assert run("replay", answer["trace_id"]).code == 0
    refused = run("ask", QUESTION, "--paper", "maf", "--strategy", "naive")
    check_one_line(refused, 2, "is not the system of the paper 'maf'")


def test_an_evaluation_measures_papers_beside_strategies(
    run: CommandRunner, tmp_path: Path
) -> None:
    (tmp_path / "toy").mkdir()
    toy = str(write_dataset(tmp_path / "toy", CORPUS, QUERIES, QRELS))
    rows = run("eval", toy, "--paper", "mao,anchor", "--strategy", "naive", "--json").json["rows"]
    assert [row["system"] for row in rows] == [
        "naive", "mao (ask.paper=mao)", "anchor (ask.paper=anchor)",
    ]  # fmt: skip
    (row,) = run("eval", toy, "--paper", "mao", "--json").json["rows"]
    assert row["system"] == "mao (ask.paper=mao)"
    held = ("--index", ".fathom/eval/toy")
    check_one_line(run("eval", toy, "--paper", "maf", *held), 2, "cuts by characters/2 1200/200")
    check_one_line(run("eval", toy, "--paper", "maff"), 2, "there is no paper 'maff'")
