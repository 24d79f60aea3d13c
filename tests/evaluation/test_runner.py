"""Every question leaves a record; recorded questions are not asked again; failures count.

Documents rank by their best chunk.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from fathom.errors import ModelError, UsageError
from fathom.evaluation import runner
from fathom.evaluation.datasets import Dataset, DatasetQuestion
from fathom.evaluation.records import Records
from fathom.evaluation.runner import (
    TracedAnswer,
    build_file_name,
    build_filters,
    hash_setup,
    rank_documents,
    record_retriever,
    record_strategy,
)
from fathom.question.conversation import DialogueTurn
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin
from fathom.settings import Settings
from fathom.types import Answer, Chunk, Citation, Conflict, Filter, Hit, Query, Span
from fathom.usage import Budget, Usage

if TYPE_CHECKING:
    from fathom.engine import Engine

QUESTIONS = tuple(DatasetQuestion(id=f"q{n}", text="What?", answers=("40",)) for n in range(3))
DATASET = Dataset(name="toy", corpus=Path("toy"), questions=QUESTIONS, qrels={"q0": {"d1": 1}})
CITATION = Citation(
    n=1, document="d1", title="", page=None, start=0, end=2, quote="40", verified=True, support=0.7
)


def make_outcome() -> TracedAnswer:
    recorder = Recorder(Origin(question="What?", strategy="s"))
    with recorder.step("search", agent="retriever") as step:
        step.set_outcome(outputs={"hits": [["d1#0", 1.0], ["d2#0", 0.5]]})
    with recorder.step("plan", agent="planner") as step:
        step.set_outcome(outputs={"workflow": ["R", "AG"]})
    answer = Answer(
        question="What?",
        status="answered",
        answer="40 [1]",
        short_answer="40",
        confidence=0.8,
        citations=(CITATION,),
        conflicts=(Conflict(answer="41", citations=(1,)),),
        strategy="s",
        phase="read",
        stop_reason="answered",
        usage=Usage(retrievals=1, seconds=0.25),
        budget=Budget(),
        trace_id="abc",
    )
    return SimpleNamespace(answer=answer, trace=recorder.seal(answer))


def make_failing_ask(on: str, error: BaseException) -> Callable[[DatasetQuestion], TracedAnswer]:
    def ask_or_fail(question: DatasetQuestion) -> TracedAnswer:
        if question.id == on:
            raise error
        return make_outcome()

    return ask_or_fail


def test_a_record_holds_the_data_of_a_report() -> None:
    record = record_strategy("s", DATASET, QUESTIONS, lambda _: make_outcome(), Records(setup="x"))
    first = record[0]
    assert [entry.question for entry in record] == ["q0", "q1", "q2"]
    assert (first.dataset, first.strategy, first.setup) == ("toy", "s", "x")
    assert (first.gold, first.relevant, record[1].relevant) == (("40",), {"d1": 1}, {})
    assert (first.status, first.compared_text, first.confidence) == ("answered", "40", 0.8)
    assert (first.evidence, first.conflicts) == (("d1", "d2"), ("41",))
    assert (first.citations[0].document, first.citations[0].support) == ("d1", 0.7)
    assert (first.usage["retrievals"], first.seconds, first.trace_id) == (1, 0.25, "abc")
    assert first.actions == ("R,AG",)


@pytest.mark.parametrize("error", [ModelError("gone"), TimeoutError(), ZeroDivisionError("x\ny")])
def test_a_failure_is_recorded_and_the_next_question_is_asked(error: Exception) -> None:
    record = record_strategy("s", DATASET, QUESTIONS, make_failing_ask("q1", error), Records())
    assert [entry.status for entry in record] == ["answered", "failed", "answered"]
    assert record[1].stop_reason.startswith(type(error).__name__)
    assert "\n" not in record[1].stop_reason


def test_a_programming_error_ends_the_run() -> None:
    with pytest.raises(UsageError, match="no such"):
        record_strategy(
            "s", DATASET, QUESTIONS, make_failing_ask("q1", UsageError("no such")), Records()
        )


def test_a_killed_run_continues(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    killed = make_failing_ask("q2", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        record_strategy("s", DATASET, QUESTIONS, killed, Records(file))
    calls: list[str] = []

    def ask(question: DatasetQuestion) -> TracedAnswer:
        calls.append(question.id)
        return make_outcome()

    progress: list[int] = []
    record = record_strategy(
        "s", DATASET, QUESTIONS, ask, Records(file), on_question=progress.append
    )
    assert (calls, progress, len(record)) == (["q2"], [1, 2, 3], 3)
    assert record_strategy("s", DATASET, QUESTIONS, ask, Records(file)) == record
    assert calls == ["q2"]


def test_an_edited_question_does_not_count_by_its_old_record(tmp_path: Path) -> None:
    file, calls = tmp_path / "s.jsonl", list[str]()

    def ask(question: DatasetQuestion) -> TracedAnswer:
        calls.append(question.text)
        return make_outcome()

    record_strategy("s", DATASET, QUESTIONS, ask, Records(file))
    regraded = replace(QUESTIONS[0], answers=("41",))
    edited = (regraded, replace(QUESTIONS[1], text="Which?"), QUESTIONS[2])
    for _ in range(2):
        record = record_strategy("s", DATASET, edited, ask, Records(file))
        assert [entry.gold for entry in record] == [("41",), ("40",), ("40",)]
        assert [entry.text for entry in record] == ["What?", "Which?", "What?"]
        # Another gold answer needs no other answer, another text does.
        assert calls == ["What?"] * 3 + ["Which?"]


def test_other_documents_or_earlier_turns_make_another_question(tmp_path: Path) -> None:
    file, calls = tmp_path / "s.jsonl", list[DatasetQuestion]()

    def ask(question: DatasetQuestion) -> TracedAnswer:
        calls.append(question)
        return make_outcome()

    turn = DialogueTurn(role="user", content="Hello")
    first = QUESTIONS[0]
    versions = [
        first,
        replace(first, documents=("d1",)),
        replace(first, without=("d1",)),
        replace(first, history=(turn,)),
        replace(first, history=(turn, turn)),
    ]
    for version in versions:
        for _ in range(2):
            record_strategy("s", DATASET, [version], ask, Records(file))
    assert calls == versions


def test_a_record_from_before_the_scope_counts_by_its_text(tmp_path: Path) -> None:
    records = Records(tmp_path / "s.jsonl")
    question = replace(QUESTIONS[0], documents=("d1",))
    (record,) = record_strategy("s", DATASET, [question], lambda _: make_outcome(), records)
    records.add(replace(record, scope=None))

    def refuse(question: DatasetQuestion) -> TracedAnswer:
        raise AssertionError(question)

    assert record_strategy("s", DATASET, [question], refuse, records) == [record]


def test_a_question_may_use_only_its_own_documents() -> None:
    question = DatasetQuestion(id="q", text="?", documents=("a", "b"))
    assert build_filters(question) == (Filter("document", "in", ("a", "b")),)
    assert build_filters(QUESTIONS[0]) == ()


class FixedRetriever:
    """Returns the same chunks for every query."""

    name = "fixed"

    def __init__(self, *chunk_ids: str) -> None:
        self.chunk_ids = chunk_ids
        self.asked: list[int] = []
        self.filters: list[tuple[Filter, ...]] = []

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.asked.append(k)
        self.filters.append(query.filters)
        return [
            Hit(chunk=make_hit(chunk_id), score=-float(rank), rank=rank, retriever=self.name)
            for rank, chunk_id in enumerate(self.chunk_ids[:k], start=1)
        ]


class FailingRetriever(FixedRetriever):
    """Fails."""

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        raise ModelError("gone")


def make_hit(chunk_id: str) -> Chunk:
    document, ordinal = chunk_id.split("#")
    return Chunk(id=chunk_id, document_id=document, text="", span=Span(0, 0), ordinal=int(ordinal))


def test_documents_rank_by_their_best_chunk() -> None:
    retriever = FixedRetriever("a#3", "b#0", "a#1", "c#0")
    assert rank_documents(retriever, DatasetQuestion(id="q", text="?"), depth=10) == ["a", "b", "c"]


def test_more_chunks_are_requested_until_there_are_enough_documents() -> None:
    retriever = FixedRetriever(*(f"a#{n}" for n in range(9)), "b#0", "c#0")
    assert rank_documents(retriever, DatasetQuestion(id="q", text="?"), depth=2) == ["a", "b"]
    assert retriever.asked == [2, 8, 32]


RESTRICTED = DatasetQuestion(id="q0", text="What?", documents=("d1", "d2"))
"""A question with documents of its own."""


def test_a_ranking_is_recorded_too() -> None:
    progress: list[int] = []
    retriever = FixedRetriever("d2#0", "d1#3", "d2#1")
    entries = record_retriever(
        DATASET, QUESTIONS[:2], retriever, Records(setup="x"), on_question=progress.append
    )
    first = entries[0]
    assert ([entry.question for entry in entries], progress) == (["q0", "q1"], [1, 2])
    assert (first.dataset, first.strategy, first.setup) == ("toy", "fixed", "x")
    assert (first.status, first.is_ranking, first.depth) == ("ranked", True, 100)
    assert (first.evidence, first.relevant, first.gold) == (("d2", "d1"), {"d1": 1}, ("40",))
    assert (first.usage["retrievals"], first.usage["seconds"]) == (1, first.seconds)
    assert (first.answer, first.confidence, first.citations, first.trace_id) == ("", None, (), None)


def test_a_failed_ranking_counts(tmp_path: Path) -> None:
    file = tmp_path / "broken.ranked.jsonl"
    entries = record_retriever(DATASET, QUESTIONS[:1], FailingRetriever(), Records(file))
    assert (entries[0].status, entries[0].is_ranking, entries[0].evidence) == ("failed", True, ())
    assert entries[0].stop_reason == "ModelError: gone"
    assert (
        record_retriever(DATASET, QUESTIONS[:1], FixedRetriever("d1#0"), Records(file)) == entries
    )


def test_a_ranking_may_use_only_the_documents_of_the_question() -> None:
    retriever = FixedRetriever("d1#0")
    rank_documents(retriever, RESTRICTED)
    assert retriever.filters == [(Filter("document", "in", ("d1", "d2")),)]


def test_a_run_name_contains_the_settings() -> None:
    assert build_file_name("rrf", {}) == "rrf"
    assert (
        build_file_name("rrf", {"rrf.k": "4", "web.provider": "a/b"})
        == "rrf@rrf.k=4@web.provider=a%2Fb"
    )


def test_many_settings_have_a_valid_file_name(tmp_path: Path) -> None:
    many = {f"section.setting-{n}": "a value of some length" for n in range(20)}
    names = {build_file_name("rrf", {**many, "rrf.k": k}) for k in "123"}
    assert len(names) == 3
    for name in names:
        (tmp_path / f"{name}.ranked.jsonl").write_text("")
        assert name.startswith("rrf@section.setting-0=")
    assert len(list(tmp_path.iterdir())) == 3


def test_the_setup_covers_everything_that_affects_an_answer() -> None:
    setup = hash_setup(cast("Engine", make_engine()))
    assert setup == hash_setup(cast("Engine", make_engine()))
    others = (
        make_engine(identity={"embedder.sha256": "b"}),
        make_engine(revision="2"),
        make_engine(tokens=5),
        make_engine(ask={"chunks": 2}),
    )
    assert len({setup, *(hash_setup(cast("Engine", engine)) for engine in others)}) == 5


def test_the_stored_calibration_of_a_system_is_in_its_setup() -> None:
    engines = [make_engine(calibrations=stored) for stored in ({}, {"s": "a"}, {"s": "b"})]
    assert len({hash_setup(cast("Engine", engine), "s") for engine in engines}) == 3
    assert len({hash_setup(cast("Engine", engine), "other") for engine in engines}) == 1


def test_the_weights_of_the_cross_reader_are_in_the_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = hash_setup(cast("Engine", make_engine()))
    monkeypatch.setattr(runner, "read_card", lambda _: {"sha256": "another"})
    assert hash_setup(cast("Engine", make_engine())) != setup


def make_engine(
    *,
    identity: Mapping[str, str] = MappingProxyType({"embedder.sha256": "a"}),
    revision: str = "1",
    tokens: int = 4,
    calibrations: Mapping[str, str] = MappingProxyType({}),
    **tables: Any,
) -> SimpleNamespace:
    """Return the parts of an engine that a setup hash covers."""
    return SimpleNamespace(
        assembly=SimpleNamespace(identity=dict(identity)),
        reader=lambda: SimpleNamespace(
            get_revision=lambda: revision, get_calibrations=lambda: dict(calibrations)
        ),
        settings=Settings.model_validate({"budget": {"tokens": tokens}, **tables}),
    )
