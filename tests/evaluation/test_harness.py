"""The choice of systems to measure, and `evaluate` itself, as a notebook calls it.

Covers fathom.evaluation.findings.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.factories import make_ranking
from tests.evaluation.test_datasets import write_dataset
from tests.serving.cli.test_app import CommandRunner, run
from tests.serving.cli.test_evaluate import CORPUS, QRELS, QUERIES, SURE

from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.evaluation import Evaluation, evaluate, load
from fathom.evaluation.harness import Systems, prepare_engine
from fathom.models.cross_reader import Key, OnnxCrossReader
from fathom.models.reading import PairScores
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP

__all__ = ["run"]

NO_SECOND = QUERIES.splitlines()[0], QRELS.splitlines()[0]
"""The question about the first document and its relevance."""


def test_without_names_the_default_retriever_is_measured() -> None:
    assert Systems.of([], []) == Systems(retrievers=["hybrid"], strategies=[])


def test_each_system_is_measured_once() -> None:
    systems = Systems.of(["a", "b", "a"], ["s", "s"])
    assert (systems.retrievers, systems.strategies) == (["a", "b"], ["s"])


def test_compared_names_are_strategies_unless_both_are_among_the_retrievers() -> None:
    ranking = Systems.of(["hybrid", "keyword"], [], ("hybrid", "keyword"))
    assert (ranking.retrievers, ranking.strategies) == (["hybrid", "keyword"], [])
    answering = Systems.of([], ["maf"], ("hybrid", "maf"))
    assert (answering.retrievers, answering.strategies) == ([], ["maf", "hybrid"])
    both = Systems.of(["hybrid"], [], ("hybrid", "maf"))
    assert (both.retrievers, both.strategies) == (["hybrid"], ["hybrid", "maf"])


def test_an_unknown_system_is_refused_at_once() -> None:
    Systems.of(["hybrid"], ["naive"]).check()
    with pytest.raises(UsageError, match="retriever 'magic': choose one of vector"):
        Systems.of(["magic"], []).check()
    with pytest.raises(UsageError, match="magic"):
        Systems.of([], [], ("naive", "magic")).check()


@pytest.fixture(scope="module")
def toy_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two documents that disagree, and a question about each."""
    folder = tmp_path_factory.mktemp("data") / "toy"
    folder.mkdir()
    return write_dataset(folder, CORPUS, QUERIES, QRELS)


def open_engine(place: Path) -> Engine:
    settings = {"index": {"directory": place / "index"}, "ask": {"min_confidence": 0}}
    return Engine(Settings.model_validate(settings), cross_reader=OVERLAP)


@pytest.fixture(scope="module")
def evaluation(toy_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    place = tmp_path_factory.mktemp("place")
    with open_engine(place) as engine:
        return evaluate(
            engine,
            toy_dataset,
            retrievers=["keyword", "vector"],
            strategies=["naive"],
            compare=("keyword", "vector"),
            records=place / "records",
        )


def test_rows_are_those_that_the_command_prints(
    evaluation: Evaluation, toy_dataset: Path, run: CommandRunner
) -> None:
    ask = ("eval", str(toy_dataset), "--retriever", "keyword,vector", "--strategy", "naive")
    printed = run(*ask, *SURE, "--compare", "keyword", "vector", "--json").json
    payload = json.loads(json.dumps(evaluation.to_dict()))
    for row in (*printed["rows"], *payload["rows"]):
        for clock in (row["latency_s"], row["usage"]):
            clock.clear()  # seconds differ from run to run
    assert payload == printed
    assert [row.system for row in evaluation.rows] == ["keyword", "vector", "naive"]
    assert evaluation.rows[2].measures["R@5"] == 1.0


def test_a_notebook_shows_tables_and_sentences(evaluation: Evaluation) -> None:
    markdown = evaluation._repr_markdown_()
    assert "| toy | keyword | 2 |" in markdown
    assert "- keyword and vector cannot be told apart in nDCG@10 on toy" in markdown
    assert evaluation.to_text().startswith("data set")
    assert evaluation.warnings == []


def test_it_works_in_a_running_loop_as_in_a_notebook(toy_dataset: Path, tmp_path: Path) -> None:
    async def cell() -> Evaluation:
        with open_engine(tmp_path) as engine:
            return evaluate(
                engine, toy_dataset, strategies=["naive"], queries=1, judges=["similarity"]
            )

    evaluation = asyncio.run(cell())
    assert (evaluation.rows[0].queries, len(evaluation.judgements)) == (1, 1)


def test_an_index_with_the_data_set_is_used_unchanged(toy_dataset: Path, tmp_path: Path) -> None:
    with open_engine(tmp_path) as engine:
        engine.ingest([toy_dataset])
        with prepare_engine(engine, load(toy_dataset)) as ready:
            assert ready is engine
    other = tmp_path / "other"
    with open_engine(other) as engine, prepare_engine(engine, load(toy_dataset)) as ready:
        assert ready.directory == other / "index" / "eval" / "toy"
        assert ready.settings.ask == engine.settings.ask


def test_the_index_of_a_data_set_holds_its_documents_alone(tmp_path: Path) -> None:
    folders = [tmp_path / place / "toy" for place in ("a", "b")]
    for folder in folders:
        folder.mkdir(parents=True)
    gone = write_dataset(folders[0], CORPUS, QUERIES, QRELS)
    other = write_dataset(folders[1], CORPUS.replace("d2", "d3").replace("40", "41"), *NO_SECOND)
    with open_engine(tmp_path) as engine:

        def read_texts(folder: Path) -> dict[str, str]:
            with prepare_engine(engine, load(folder)) as ready:
                names = [document.id for document in ready.documents.list()]
                return {name: ready.documents.get(name).text for name in names}

        assert read_texts(gone).keys() == {"d1", "d2"}
        assert "41" in read_texts(other)["d1"]
        assert read_texts(other).keys() == {"d1", "d3"}
        assert "40" in read_texts(gone)["d1"]
        write_dataset(folders[0], CORPUS.splitlines()[0], *NO_SECOND)
        assert read_texts(gone).keys() == {"d1"}


def test_no_strategy_profits_from_the_readings_of_another(
    toy_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Key] = []
    score = OnnxCrossReader._score_new_pairs

    def note(self: OnnxCrossReader, question: str, keys: Sequence[Key]) -> list[PairScores | None]:
        read.extend(keys)
        return score(self, question, keys)

    monkeypatch.setattr(OnnxCrossReader, "_score_new_pairs", note)
    settings = Settings.model_validate({"index": {"directory": tmp_path / "index"}})
    with Engine(settings) as engine:
        evaluate(engine, toy_dataset, strategies=["naive", "adaptive"], queries=1)
        reader, models = engine.models.cross_reader, engine.models
        evaluate(engine, toy_dataset, strategies=["naive"], queries=1)
        # The engine itself keeps its models.
        assert engine.models is models
        assert models.cross_reader is reader
    pairs = [key for key in read if key[0] != "warm"]
    assert len(pairs) == 3 * len(set(pairs)) > 0


def test_another_seed_asks_other_questions(toy_dataset: Path, tmp_path: Path) -> None:
    with open_engine(tmp_path) as engine:
        drawn = {
            evaluate(engine, toy_dataset, retrievers=["keyword"], queries=1, seed=seed)
            .ranked[0][0]
            .question
            for seed in range(8)
        }
    assert drawn == {"q1", "q2"}


def test_progress_is_reported(toy_dataset: Path, tmp_path: Path) -> None:
    progress: list[tuple[str, int, int]] = []
    with open_engine(tmp_path) as engine:
        evaluate(
            engine,
            toy_dataset,
            retrievers=["keyword"],
            on_progress=lambda *arguments: progress.append(arguments),
        )
    assert progress == [("toy keyword", 1, 2), ("toy keyword", 2, 2)]


def test_invalid_arguments_are_refused_before_any_work(toy_dataset: Path, tmp_path: Path) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "retriever 'magic'": {"retrievers": ["magic"]},
        "judge 'wisdom'": {"strategies": ["naive"], "judges": ["wisdom"]},
        "needs a language model": {"strategies": ["naive"], "judges": ["correctness"]},
        "no such file of labels": {
            "strategies": ["naive"], "judges": ["similarity"], "labels": tmp_path / "none",
        },
    }  # fmt: skip
    with open_engine(tmp_path) as engine:
        for match, arguments in wrong.items():
            with pytest.raises(UsageError, match=match):
                evaluate(engine, toy_dataset, **arguments)
        with pytest.raises(UsageError, match="no such data set; name its folder"):
            evaluate(engine, tmp_path / "none")
    assert not (tmp_path / "index").exists()


def test_several_evaluations_are_combined_and_tested_together() -> None:
    first, second = (
        Evaluation(
            ranked=[
                [make_ranking(f"q{n}", strategy=name, dataset=dataset, evidence=("d2", "d1")[at:])
                 for n in range(8)]
                for at, name in enumerate(("keyword", "vector"))
            ],
            compared=("keyword", "vector"),
        )
        for dataset in ("one", "two")
    )  # fmt: skip
    both = Evaluation.combine([first, second])
    assert [row.dataset for row in both.rows] == ["one", "one", "two", "two"]
    assert len(both.comparisons) == 2 * len(first.comparisons) == 10
    assert both.comparisons[0].p_holm > first.comparisons[0].p_holm


EXAMPLES = re.findall(
    r"^```python\n(.*?)^```", Path("docs/evaluation.md").read_text(), re.DOTALL | re.MULTILINE
)


def test_the_examples_of_the_docs_run(
    toy_dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "mydata").mkdir()
    write_dataset(tmp_path / "mydata", CORPUS, QUERIES, QRELS)
    monkeypatch.chdir(tmp_path)
    assert EXAMPLES
    for example in EXAMPLES:
        exec(compile(example, "docs/evaluation.md", "exec"), {"display": print})
    assert "nDCG@10" in capsys.readouterr().out
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
