"""Every question leaves a record; what is recorded is not asked again; what breaks counts."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from fathom.errors import ModelError, UsageError
from fathom.evaluation.datasets import Dataset, Question
from fathom.evaluation.records import Records
from fathom.evaluation.strategies import Asked, filters_of, record_strategy
from fathom.tracing.recorder import Recorder
from fathom.tracing.trace import Origin
from fathom.types import Answer, Citation, Conflict, Filter
from fathom.usage import Budget, Usage

QUESTIONS = tuple(Question(id=f"q{n}", text="What?", answers=("40",)) for n in range(3))
DATASET = Dataset(name="toy", corpus=Path("toy"), questions=QUESTIONS, qrels={"q0": {"d1": 1}})
CITATION = Citation(
    n=1, document="d1", title="", page=None, start=0, end=2, quote="40", verified=True, support=0.7
)


def outcome() -> Asked:
    recorder = Recorder(Origin(question="What?", strategy="s"))
    with recorder.step("search", agent="retriever") as step:
        step.done(outputs={"hits": [["d1#0", 1.0], ["d2#0", 0.5]]})
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


def breaking(on: str, error: BaseException) -> Callable[[Question], Asked]:
    def ask(question: Question) -> Asked:
        if question.id == on:
            raise error
        return outcome()

    return ask


def test_a_record_holds_what_a_report_needs() -> None:
    found = record_strategy("s", DATASET, QUESTIONS, lambda _: outcome(), Records(setup="x"))
    first = found[0]
    assert [each.question for each in found] == ["q0", "q1", "q2"]
    assert (first.dataset, first.strategy, first.setup) == ("toy", "s", "x")
    assert (first.gold, first.relevant, found[1].relevant) == (("40",), ("d1",), ())
    assert (first.status, first.said, first.confidence) == ("answered", "40", 0.8)
    assert (first.evidence, first.conflicts) == (("d1", "d2"), ("41",))
    assert (first.citations[0].document, first.citations[0].support) == ("d1", 0.7)
    assert (first.usage["retrievals"], first.seconds, first.trace_id) == (1, 0.25, "abc")


@pytest.mark.parametrize("error", [ModelError("gone"), TimeoutError(), ZeroDivisionError("x\ny")])
def test_what_breaks_is_recorded_as_failed_and_the_next_is_asked(error: Exception) -> None:
    found = record_strategy("s", DATASET, QUESTIONS, breaking("q1", error), Records())
    assert [each.status for each in found] == ["answered", "failed", "answered"]
    assert found[1].stop_reason.startswith(type(error).__name__)
    assert "\n" not in found[1].stop_reason


def test_a_wrong_call_ends_it() -> None:
    with pytest.raises(UsageError, match="no such"):
        record_strategy("s", DATASET, QUESTIONS, breaking("q1", UsageError("no such")), Records())


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    killed = breaking("q2", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        record_strategy("s", DATASET, QUESTIONS, killed, Records(file))
    asked: list[str] = []

    def ask(question: Question) -> Asked:
        asked.append(question.id)
        return outcome()

    told: list[int] = []
    found = record_strategy("s", DATASET, QUESTIONS, ask, Records(file), on_question=told.append)
    assert (asked, told, len(found)) == (["q2"], [1, 2, 3], 3)
    assert record_strategy("s", DATASET, QUESTIONS, ask, Records(file)) == found
    assert asked == ["q2"]


def test_a_question_is_held_to_its_own_documents() -> None:
    own = Question(id="q", text="?", documents=("a", "b"))
    assert filters_of(own) == (Filter("document", "in", ("a", "b")),)
    assert filters_of(QUESTIONS[0]) == ()
