"""Calibrations end to end: stored with the index, used, refused, replayed."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tests.factories import FEES, QUESTION, engine_at, index_fees, open_public_folder

from fathom.agents.reader.signals import COLUMNS
from fathom.assembly import Assembly, calibrations
from fathom.assembly.calibrations import (
    choose_calibration,
    describe_identity,
    load_shipped_calibrations,
    make_asking_rule,
    make_weigher,
)
from fathom.calibration import caution
from fathom.calibration.caution import LEVELS, ProbabilityBounds
from fathom.calibration.law import Calibration, LabelledAnswer, Weigher
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.evaluation.calibration import calibrate
from fathom.index.embedded.schema import FILE
from fathom.jsonable import dump_canonical, hash_text
from fathom.models.embedder import SHIPPED, SHIPPED_INT8
from fathom.models.reader_loading import read_card
from fathom.registry import STRATEGIES
from fathom.runs.chain import Chain, decode_trace
from fathom.runs.recorder import restore_answer
from fathom.runs.trace import Trace
from fathom.settings import Settings

OFF = "What does a lighthouse keeper earn?"


@pytest.fixture(scope="module")
def index_folder() -> Iterator[Path]:
    with open_public_folder() as directory:
        yield index_fees(directory)


def make_outcomes(
    count: int, *, right_from: float = 2.0, share: int = 40
) -> list[LabelledAnswer | None]:
    """Return answers that are right above a confidence, except one in `share`."""
    silent = dict.fromkeys(COLUMNS, 0.0)
    return [
        LabelledAnswer({**silent, "sure": value}, (value > right_from) != (at % share == 7))
        for at in range(count)
        for value in [at % 16 / 2]
    ]


def strip_later_fields(trace: Trace) -> Trace:
    """Return a trace as it was recorded before there were tentative answers."""
    chain = Chain()
    for line in trace.data.decode().split("\n"):
        content = json.loads(line)
        kind = content.pop("record")
        del content["previous"]
        if kind == "run":
            del content["settings"]["ask"]["caution"]
            del content["arguments"]["calibration"]["tentative"]
            content["settings_hash"] = hash_text(dump_canonical(content["settings"]))
        chain.add(chain.format_line(kind, content))
    return decode_trace("\n".join(chain.lines).encode())


@pytest.fixture
def engine(index_folder: Path) -> Iterator[Engine]:
    with engine_at(index_folder) as opened:
        yield opened
        if opened.reader().get_calibrations():
            drop_calibration(opened)


def drop_calibration(engine: Engine) -> None:
    with closing(sqlite3.connect(engine.directory / FILE)) as opened, opened:
        opened.execute("DELETE FROM calibrations")


def test_without_a_calibration_an_answer_has_no_probability(engine: Engine) -> None:
    answer = engine.ask(QUESTION)
    assert answer.status == "answered"
    assert (answer.confidence, answer.calibration) == (None, None)


def test_a_learned_calibration_is_stored_and_used_for_later_answers(index_folder: Path) -> None:
    with engine_at(index_folder) as first:
        calibration = first.calibration.learn(make_outcomes(400), made_of={"questions": "mine"})
    with engine_at(index_folder) as later:
        answer = later.ask(QUESTION)
        (step,) = [
            step for step in later.trace(answer.trace_id or "").steps if step.agent == "finalizer"
        ]
        assert answer.confidence == calibration.calibration.law(step.outputs["signals"])
        assert answer.calibration == "own questions"
        assert later.calibration.get_current().calibration == calibration.calibration
        drop_calibration(later)


def test_an_error_rate_withholds_answers_that_are_not_sure_enough(index_folder: Path) -> None:
    with engine_at(index_folder, ask={"min_probability": 0.0}) as engine:
        engine.calibration.learn(make_outcomes(800, right_from=3.2))
        loose = engine.ask(QUESTION)
    with engine_at(index_folder, ask={"min_probability": 0.3}) as usual:
        assert (loose.confidence or 1) < 0.3
        assert usual.ask(QUESTION).stop_reason == "low_confidence"
    with engine_at(index_folder, ask={"max_error": 0.1}) as strict:
        answer = strict.ask(QUESTION)
        assert loose.status == "answered"
        calibration = strict.calibration.get_current().calibration
        assert calibration is not None
        assert (calibration.find_threshold(0.1) or 0) > (answer.confidence or 0)
        assert (answer.status, answer.stop_reason) == ("abstained", "low_confidence")
        assert (answer.answer, answer.short_answer) == ("", "")
        assert answer.confidence == loose.confidence
        drop_calibration(strict)


def test_the_certificate_decides_whatever_the_confidence_of_the_reader(index_folder: Path) -> None:
    with engine_at(index_folder, ask={"min_confidence": 1.0}) as engine:
        engine.calibration.learn(make_outcomes(800))
        assert engine.ask(QUESTION).tentative
    with engine_at(index_folder, ask={"min_confidence": 1.0, "max_error": 0.1}) as engine:
        answer = engine.ask(QUESTION)
        calibration = engine.calibration.get_current().calibration
        assert calibration is not None
        assert (calibration.find_threshold(0.1) or 1) <= (answer.confidence or 0)
        assert (answer.status, answer.tentative) == ("answered", False)
        drop_calibration(engine)


def test_a_weak_answer_is_tentative_stored_so_and_replayed(index_folder: Path) -> None:
    with engine_at(index_folder) as engine:
        engine.calibration.learn(make_outcomes(800, right_from=2.6, share=80))
        answer = engine.ask(QUESTION)
        assert LEVELS["balanced"].given > (answer.confidence or 1)
        assert (answer.status, answer.tentative) == ("answered", True)
        assert [citation.quote for citation in answer.citations if citation.verified]
        trace_id = answer.trace_id or ""
        assert restore_answer(engine.trace(trace_id).answer).tentative
        again = engine.replay(trace_id)
        assert again.same
        assert again.answer is not None
        assert again.answer.tentative
        drop_calibration(engine)


def test_a_replay_takes_the_recorded_bounds_of_a_level_that_has_changed(
    index_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_at(index_folder) as engine:
        engine.calibration.learn(make_outcomes(800, right_from=2.6, share=80))
        trace_id = engine.ask(QUESTION).trace_id or ""
        stricter = {name: ProbabilityBounds(0.99, 0.98) for name in LEVELS}
        monkeypatch.setattr(caution, "LEVELS", stricter)
        assert engine.ask(QUESTION).status == "abstained"
        assert engine.replay(trace_id).same
        drop_calibration(engine)


@pytest.mark.parametrize(
    "assignment", ["ask.min_probability=0.3", "ask.caution=cautious", "ask.max_error=0.1"]
)
def test_a_replay_with_a_stricter_bound_withholds_a_tentative_answer(
    index_folder: Path, assignment: str
) -> None:
    with engine_at(index_folder) as engine:
        engine.calibration.learn(make_outcomes(800, right_from=2.6, share=80))
        replay = engine.replay(engine.ask(QUESTION).trace_id or "", assignments=[assignment])
        assert replay.answer is not None
        assert (replay.answer.status, replay.answer.tentative) == ("abstained", False)
        drop_calibration(engine)


def test_a_run_from_before_there_were_tentative_answers_replays_as_it_was(
    index_folder: Path,
) -> None:
    with engine_at(index_folder, ask={"min_probability": 0.3}) as engine:
        engine.calibration.learn(make_outcomes(800, right_from=2.6, share=80))
        trace = engine.trace(engine.ask(QUESTION).trace_id or "")
        drop_calibration(engine)
    older = strip_later_fields(trace)
    assert "tentative" not in older.data.decode()
    with engine_at(index_folder) as engine:
        engine.traces.store.put(older, held=frozenset())
        again = engine.replay(older.id)
        assert (again.same, again.difference, again.missing) == (True, None, ())


def test_an_error_rate_needs_a_calibration(index_folder: Path) -> None:
    with (
        engine_at(index_folder, ask={"max_error": 0.1}) as engine,
        pytest.raises(
            UsageError,
            match=r"--max-error 0.1: there is no calibration of adaptive .* `fathom calibrate",
        ),
    ):
        engine.ask(QUESTION)


def test_an_uncertified_rate_is_refused_with_the_certified_ones(index_folder: Path) -> None:
    with engine_at(index_folder) as engine:
        engine.calibration.learn(make_outcomes(800, share=30))
    with engine_at(index_folder, ask={"max_error": 0.001}) as strict:
        with pytest.raises(UsageError, match=r"certifies no such rate; certified are .*0\.1"):
            strict.ask(QUESTION)
        drop_calibration(strict)


def test_a_calibration_of_other_settings_is_ignored_with_a_reason(index_folder: Path) -> None:
    with engine_at(index_folder) as engine:
        engine.calibration.learn(make_outcomes(400))
    with engine_at(index_folder, ask={"chunks": 3}) as other:
        answer = other.ask(QUESTION)
        assert answer.confidence is None
        assert any("ask.chunks was 8, is 3" in warning for warning in answer.warnings)
    with engine_at(index_folder, ask={"chunks": 3, "max_error": 0.1}) as strict:
        with pytest.raises(UsageError, match=r"ask.chunks was 8, is 3\); run `fathom calibrate"):
            strict.ask(QUESTION)
        drop_calibration(strict)


@pytest.mark.parametrize(
    "section", [{"maf": {"rounds": 3}}, {"ask": {"seed": 4}}, {"budget": {"calls": 3}}]
)
def test_settings_that_naive_does_not_use_do_not_matter(
    index_folder: Path, section: dict[str, Any]
) -> None:
    with engine_at(index_folder) as engine:
        engine.calibration.learn(make_outcomes(400))
    with engine_at(index_folder, **section) as other:
        assert other.ask(QUESTION).confidence is not None
        drop_calibration(other)


def test_a_newer_setting_counts_with_its_default(engine: Engine) -> None:
    engine.calibration.learn(make_outcomes(400))
    calibrations = engine.reader().get_calibrations()
    data = json.loads(calibrations["adaptive"])
    del data["identity"]["settings"]["ask.sentences"]
    assert not choose_calibration(engine.assembly, "adaptive", {"adaptive": json.dumps(data)}).stale


@pytest.mark.parametrize(("name", "precision"), [(SHIPPED, "fp32"), (SHIPPED_INT8, "int8")])
def test_the_shipped_embedders_have_the_same_calibrations(
    tmp_path: Path, name: str, precision: str
) -> None:
    settings = {"index.directory": str(tmp_path), "models.embedder": name}
    with Engine(parse_settings(settings)) as engine:
        assembly = engine.assembly
        assert assembly.identity["embedder.precision"] == precision
        assert choose_calibration(assembly, "adaptive", {}).calibration is not None


def test_the_query_encoder_counts_unless_it_is_the_embedder(engine: Engine) -> None:
    now = describe_identity(engine.assembly, "adaptive")["settings"]
    models = engine.settings.models.model_copy(update={"query_encoder": "rounded"})
    settings = engine.settings.model_copy(update={"models": models})
    other = describe_identity(
        Assembly(settings, index=pytest.fail, models=engine.models), "adaptive"
    )

    assert "models.query_encoder" not in now
    assert other["settings"] == {**now, "models.query_encoder": "rounded"}


def test_an_unreadable_calibration_names_the_next_step(engine: Engine) -> None:
    with pytest.raises(UsageError, match="another version of Fathom; run `fathom calibrate"):
        choose_calibration(engine.assembly, "naive", {"naive": "{}"})


def test_each_strategy_has_its_own_calibration(engine: Engine) -> None:
    engine.calibration.learn(make_outcomes(400))
    assert engine.ask(QUESTION, strategy="rrf").calibration is None


def test_too_few_answers_are_refused_with_their_number(engine: Engine) -> None:
    with pytest.raises(
        UsageError, match=r"12 questions, 10 answered, 6 of them wrong: .* at least 20"
    ):
        engine.calibration.learn([*make_outcomes(10), None, None])
    assert not engine.reader().get_calibrations()


def test_an_answer_is_replayed_after_a_new_calibration_too(engine: Engine) -> None:
    engine.calibration.learn(make_outcomes(400))
    first = engine.ask(QUESTION)
    engine.calibration.learn(make_outcomes(400, right_from=5.0))
    again = engine.ask(QUESTION)
    assert first.confidence != again.confidence
    assert engine.replay(first.trace_id or "").same
    assert engine.replay(again.trace_id or "").same


def test_a_calibration_changes_neither_documents_nor_revision(engine: Engine) -> None:
    before = engine.reader().get_revision()
    engine.calibration.learn(make_outcomes(400))
    assert engine.reader().get_revision() == before
    assert engine.verify() == []


def test_a_rebuilt_index_keeps_its_calibrations(index_folder: Path) -> None:
    with engine_at(index_folder) as engine:
        engine.calibration.learn(make_outcomes(400))
        engine.ingest(rebuild=True)
        assert engine.ask(QUESTION).calibration == "own questions"
        drop_calibration(engine)


def test_an_older_index_has_no_calibrations_until_it_is_written_to(
    index_folder: Path,
) -> None:
    with closing(sqlite3.connect(index_folder / "index" / FILE)) as opened, opened:
        opened.execute("DROP TABLE calibrations")
    with engine_at(index_folder) as engine:
        assert engine.ask(QUESTION).confidence is None
        engine.calibration.learn(make_outcomes(400))
        assert engine.ask(QUESTION).calibration == "own questions"
        drop_calibration(engine)


def test_questions_with_answers_calibrate_an_index(tmp_path: Path) -> None:
    corpus, questions = tmp_path / "corpus.jsonl", []
    with corpus.open("w") as lines:
        for at in range(40):
            word = f"{'bcdfghjklmnpqrstvwxz'[at % 20]}o{'rnls'[at % 4]}a{at}"
            text = f"{word} permits cost {at + 3} crowns."
            lines.write(json.dumps({"_id": f"d{at}", "title": word, "text": text}) + "\n")
            questions.append((str(at), f"How much does the {word} permit cost?"))
    file = tmp_path / "questions.jsonl"
    with engine_at(tmp_path, ask={"min_confidence": 0.0}) as engine:
        engine.ingest([corpus])
        labels = {
            name: engine.ask(text).short_answer if int(name) % 3 else "nobody knows"
            for name, text in questions
        }
        rows = [{"_id": name, "text": text, "answers": [labels[name]]} for name, text in questions]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        report = calibrate(engine, file, max_error=0.3, records=tmp_path / "kept")
        assert (report.questions, report.answered) == (40, 40)
        assert report.wrong >= 13
        assert [certificate.max_error for certificate in report.calibration.certificates] == [
            0.01, 0.02, 0.05, 0.1, 0.3,
        ]  # fmt: skip
        assert engine.calibration.get_current().calibration == report.calibration
        assert report.calibration.made_of == {"questions": "questions", "count": 40}
        summary = report.to_text()
        assert "40 questions, 40 answered" in summary
        assert "never" in summary
        assert "ECE" in summary
        assert report.to_dict()["certificates"][0]["coverage"] == 0.0
        coverage, risk = report.risk[-1]
        assert (coverage, risk) == (1.0, report.wrong / 40)
        stored_lines = (tmp_path / "kept" / "questions" / "adaptive.jsonl").read_text().splitlines()
        assert set(json.loads(stored_lines[0])["signals"]) == set(COLUMNS)


def test_shipped_calibrations_were_learned_with_the_shipped_reader() -> None:
    again = "learn it again: python -m training.fit_calibration"
    assert load_shipped_calibrations(), again
    for name, calibration in load_shipped_calibrations().items():
        reader = read_card().get("fitted_as", read_card()["sha256"])
        assert calibration.identity["reader"] == reader, f"{name}: {again}"
        assert calibration.source == "public questions"
        assert calibration.made_of
        assert set(calibration.law.weights) <= set(COLUMNS), f"{name}: {again}"


def test_only_calibrated_strategies_ship_certificates() -> None:
    assert set(load_shipped_calibrations()) == set(STRATEGIES)
    file = resources.files("fathom.data") / "calibration.json"
    strategies = json.loads(file.read_text(encoding="utf-8"))["strategies"]
    assert not any(
        calibration.certificates
        for name, calibration in load_shipped_calibrations().items()
        if name not in strategies
    )


def test_the_shipped_calibration_applies_to_the_default_settings_only() -> None:
    with open_public_folder() as folder:
        (folder / "fees.md").write_text(f"# Fees\n\n{FEES}\n")
        with Engine.open(folder / "index") as engine:
            engine.ingest([folder / "fees.md"])
            answer = engine.ask(QUESTION)
            assert answer.calibration == "public questions"
            assert 0.5 < (answer.confidence or 0) < 1
            assert engine.replay(answer.trace_id or "").same
        with Engine.open(folder / "index", {"ask.chunks": 3}) as other:
            assert other.ask(QUESTION).confidence is None
        with (
            Engine.open(folder / "index", {"ask.max_error": 0.01}) as strict,
            pytest.raises(UsageError, match="by public questions certifies no such rate"),
        ):
            strict.ask(QUESTION)


def make_model_calibrations() -> dict[str, Calibration]:
    """Return calibrations of two models that differ in what they were made of."""
    naive = load_shipped_calibrations()["naive"]
    return {
        name: replace(naive, made_of={"questions": name}) for name in ("qwen-0.5b", "qwen-1.5b")
    }


def make_assembly(model: str, **ask: Any) -> Assembly:
    """Return the parts of the default settings with a language model."""
    settings = Settings()
    llm = settings.llm.model_copy(update={"model": model})
    asking = settings.ask.model_copy(update=ask)
    return Engine(settings.model_copy(update={"llm": llm, "ask": asking})).assembly


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        ("local:qwen-1.5b", "qwen-1.5b"),
        ("local:/models/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", "qwen-1.5b"),
        ("local:qwen-0.5b", "qwen-0.5b"),
        ("local:/models/other.gguf", "qwen-0.5b"),
        ("openai:qwen-1.5b", "qwen-0.5b"),
    ],
)
def test_a_model_has_its_calibration_and_an_unknown_one_that_of_the_weakest(
    monkeypatch: pytest.MonkeyPatch, model: str, chosen: str
) -> None:
    monkeypatch.setattr(calibrations, "load_model_calibrations", make_model_calibrations)
    assembly = make_assembly(model)
    in_force = choose_calibration(assembly, "naive", {})
    assert in_force.calibration is not None
    assert in_force.calibration.made_of == {"questions": chosen}


def test_an_improbable_answer_is_not_given_with_a_model_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibrations, "load_model_calibrations", make_model_calibrations)
    silent = dict.fromkeys(COLUMNS, 0.0)
    for model, bound in (("local:qwen-1.5b", None), ("local:qwen-1.5b", 0.3), ("", None)):
        assembly = make_assembly(model, min_probability=bound)
        in_force = choose_calibration(assembly, "naive", {})
        weigher = make_weigher(in_force, "naive", assembly.settings.ask)
        assert Weigher.from_json(weigher.to_json()) == weigher
        weighed = weigher(silent)
        assert (weighed.confidence or 0) < 0.3
        assert not weighed.probable
        assert weigher.tentative_from == (None if bound else LEVELS["balanced"].tentative)


@pytest.mark.parametrize(
    ("model", "llm", "ask", "least"),
    [
        ("local:qwen-1.5b", {}, {}, 0.1),
        ("local:qwen-1.5b", {}, {"caution": "cautious"}, 0.1),
        ("local:qwen-1.5b", {}, {"caution": "eager"}, 0.0),
        ("local:qwen-1.5b", {}, {"min_probability": 0.0}, 0.0),
        ("local:qwen-1.5b", {"skip_above_confidence": 0.6}, {}, None),
        ("local:qwen-0.5b", {}, {}, None),
        ("openai:qwen-1.5b", {}, {}, None),
        ("", {}, {}, None),
    ],
)
def test_a_measured_model_is_asked_by_the_probability_of_the_local_draft(
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    llm: dict[str, float],
    ask: dict[str, Any],
    least: float | None,
) -> None:
    monkeypatch.setattr(calibrations, "load_model_calibrations", make_model_calibrations)
    assembly = make_assembly(model, **ask)
    in_force = choose_calibration(assembly, "naive", {})
    settings = assembly.settings.model_copy(
        update={"llm": assembly.settings.llm.model_copy(update=llm)}
    )
    rule = make_asking_rule(in_force, settings)
    assert (None if rule is None else rule.least) == least
    assert rule is None or rule.law == load_shipped_calibrations()["naive"].law


def test_the_calibration_of_a_model_applies_to_default_settings_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibrations, "load_model_calibrations", make_model_calibrations)
    assembly = make_assembly("local:qwen-1.5b", chunks=3)
    assert choose_calibration(assembly, "naive", {}).calibration is None


def test_recent_questions_are_compared_with_the_calibration(index_folder: Path) -> None:
    with engine_at(index_folder) as engine:
        engine.traces.store.sweep(engine.reader())
        for _ in range(40):
            usual = engine.ask(QUESTION)
        signals = engine.trace(usual.trace_id or "").signals
        alike = [LabelledAnswer(dict(signals), bool(at % 3)) for at in range(400)]
        engine.calibration.learn(alike)
        assert engine.calibration.find_drift() == ()
        assert not engine.ask(QUESTION).warnings
        other = [LabelledAnswer({**signals, "words": 9.0}, bool(at % 3)) for at in range(400)]
        engine.calibration.learn(other)
        assert engine.calibration.find_drift() == ("words",)
        (warning,) = engine.ask(QUESTION).warnings
        assert "differ from those adaptive was calibrated on (words moved)" in warning
        drop_calibration(engine)
