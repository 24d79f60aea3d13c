"""Feedback: kept beside the traces, given again while it stands, learned from.

Covers `fathom.strategies.verified` and, with test_calibrations, `fathom.engine.calibration`.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.making import FEES, QUESTION, engine_at, ingested

from fathom.agents.reader.signals import COLUMNS
from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.evaluation.calibration import calibrate
from fathom.index.embedded.traces import FILE
from fathom.index.feedback import Feedback, compute_question_key
from fathom.index.traces import MissingTraceError, OutrankedFeedbackError
from fathom.types import Answer, Filter

TOLD = "harbour office"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_at(ingested(tmp_path)) as made:
        yield made


def rewritten(engine: Engine, text: str) -> None:
    (engine.directory.parent / "corpus" / "fees.md").write_text(f"# Fees\n\n{text}\n")
    engine.ingest()


def verified(engine: Engine) -> Answer:
    answer = engine.ask(QUESTION)
    engine.calibration.add_feedback(answer.trace_id or "", right=True)
    return answer


def test_a_verified_answer_is_given_again_and_marked(engine: Engine) -> None:
    first = verified(engine)
    again = engine.ask(QUESTION)
    assert (again.phase, again.confidence, again.calibration) == ("verified", 1.0, "a person")
    assert (again.answer, again.short_answer) == (first.answer, first.short_answer)
    assert again.citations == first.citations
    assert again.usage.retrievals == 0
    assert again.trace_id != first.trace_id


def test_capitals_spaces_and_the_last_mark_make_no_other_question(engine: Engine) -> None:
    verified(engine)
    assert engine.ask(f"  {QUESTION.upper().rstrip('?')} ").phase == "verified"
    assert engine.ask("What does a mooring permit cost a year?").phase != "verified"


def test_it_is_not_given_under_other_conditions_or_in_a_conversation(engine: Engine) -> None:
    verified(engine)
    assert engine.ask(QUESTION, filters=["language=en"]).phase != "verified"
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    assert engine.ask(QUESTION, history=said).phase != "verified"


def test_once_its_quote_has_changed_it_is_not_given_again(engine: Engine) -> None:
    verified(engine)
    rewritten(engine, FEES.replace("40", "55"))
    answer = engine.ask(QUESTION)
    assert answer.phase != "verified"
    assert "55 crowns" in answer.answer


def test_a_quote_that_vanished_meanwhile_is_found_out_in_the_run_itself(engine: Engine) -> None:
    answer = verified(engine)
    (kept,) = engine.traces.store.list_feedback()
    moved = [{**citation, "quote": "Another text."} for citation in kept.again["citations"]]
    engine.traces.store.put_feedback(replace(kept, again={**kept.again, "citations": moved}))
    again = engine.ask(QUESTION)
    assert again.phase == answer.phase == "look"
    (step,) = [s for s in engine.trace(again.trace_id or "").steps if s.name == "verified"]
    assert step.verdict == "left out"
    assert engine.replay(again.trace_id or "").same


def test_feedback_goes_with_the_documents_that_were_cited(engine: Engine) -> None:
    verified(engine)
    engine.ask(QUESTION)  # its trace holds the quote too
    engine.documents.remove(
        [engine.traces.store.list_feedback()[0].again["citations"][0]["document"]]
    )
    assert engine.traces.store.list_feedback() == ()
    data = (engine.directory / FILE).read_bytes()
    assert b"40 crowns" not in data
    with closing(sqlite3.connect(engine.directory / FILE)) as opened:
        assert opened.execute("SELECT count(*) FROM feedback_held").fetchone() == (0,)
        assert opened.execute("SELECT count(*) FROM traces").fetchone() == (0,)


def test_deleting_a_trace_deletes_what_was_said_of_it(engine: Engine) -> None:
    answer = verified(engine)
    engine.traces.delete(answer.trace_id or "")
    assert engine.traces.store.list_feedback() == ()
    assert engine.ask(QUESTION).phase != "verified"


def test_the_right_answer_is_looked_up_in_the_sources_and_given_from_then_on(
    engine: Engine,
) -> None:
    asked = "Where is the mooring permit paid?"
    first = engine.ask(asked)
    (document,) = engine.documents.list()
    made = engine.calibration.add_feedback(
        first.trace_id or "", answer=TOLD, sources=[document.path]
    )
    assert made.right is False
    again = engine.ask(asked)
    assert (again.phase, again.short_answer) == ("verified", TOLD)
    (citation,) = again.citations
    assert citation.quote == "It is paid at the harbour office."
    assert engine.documents.get(document.id).text[citation.start : citation.end] == citation.quote
    assert again.answer == f"{citation.quote} [1]"


def test_an_answer_that_no_document_holds_is_kept_but_not_given(engine: Engine) -> None:
    first = engine.ask(QUESTION)
    made = engine.calibration.add_feedback(first.trace_id or "", answer="seventy dollars")
    assert (made.again, made.answer) == (None, "seventy dollars")
    assert engine.ask(QUESTION).phase != "verified"


def test_an_answer_from_a_sentence_that_does_not_answer_the_question_is_refused(
    engine: Engine,
) -> None:
    first = engine.ask(QUESTION)
    for planted in (TOLD, "It", "paid at the harbour office"):
        with pytest.raises(UsageError, match=r"stands in .*fees\.md, but not as an answer to 'How"):
            engine.calibration.add_feedback(first.trace_id or "", answer=planted)
    assert engine.traces.store.list_feedback() == ()
    assert engine.ask(QUESTION).phase != "verified"
    engine.calibration.add_feedback(first.trace_id or "", answer="40 crowns")
    assert engine.ask(QUESTION).short_answer == "40 crowns"


def test_the_place_where_an_answer_answers_is_given_not_the_first_that_holds_it(
    engine: Engine,
) -> None:
    rewritten(engine, f"A key costs 40 crowns. Boats wait outside. The pier is new. {FEES}")
    first = engine.ask(QUESTION)
    made = engine.calibration.add_feedback(first.trace_id or "", answer="40 crowns")
    [citation] = made.again["citations"]
    assert citation["quote"] == "A mooring permit costs 40 crowns a year."


@pytest.mark.parametrize("part", ["crown", "0 crowns", "arbour office"])
def test_a_part_of_a_word_is_no_answer_that_a_document_holds(engine: Engine, part: str) -> None:
    first = engine.ask(QUESTION)
    assert engine.calibration.add_feedback(first.trace_id or "", answer=part).again is None


def test_a_correction_in_a_conversation_is_never_given_again(engine: Engine) -> None:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    first = engine.ask(QUESTION, history=said)
    assert engine.calibration.add_feedback(first.trace_id or "", answer=TOLD).again is None
    assert engine.ask(QUESTION).phase != "verified"


def test_an_opinion_changes_nothing_that_others_are_answered(engine: Engine) -> None:
    first = engine.ask(QUESTION)
    made = engine.calibration.add_feedback(first.trace_id or "", right=True, counts=False)
    assert (made.again, made.counts) == (None, False)
    assert engine.traces.store.list_feedback() == (made,)
    assert engine.calibration.label_answers() == []
    second = engine.ask(QUESTION)
    assert second.phase != "verified"
    with pytest.raises(UsageError, match="can say right or wrong, but give no answer"):
        engine.calibration.add_feedback(second.trace_id or "", answer="40 crowns", counts=False)


def test_no_opinion_ends_a_verified_answer(engine: Engine) -> None:
    first = verified(engine)
    again = engine.ask(QUESTION)
    engine.calibration.add_feedback(again.trace_id or "", right=False, counts=False)
    assert engine.ask(QUESTION).phase == "verified"
    with pytest.raises(OutrankedFeedbackError):
        engine.calibration.add_feedback(first.trace_id or "", right=False, counts=False)
    assert engine.ask(QUESTION).phase == "verified"
    engine.calibration.add_feedback(first.trace_id or "", right=False)
    assert engine.ask(QUESTION).phase != "verified"


def test_what_is_called_wrong_later_is_not_given_again(engine: Engine) -> None:
    verified(engine)
    again = engine.ask(QUESTION)
    engine.calibration.add_feedback(again.trace_id or "", right=False)
    assert engine.ask(QUESTION).phase != "verified"


def test_a_verified_answer_is_replayed_byte_for_byte(engine: Engine) -> None:
    verified(engine)
    again = engine.ask(QUESTION)
    assert engine.replay(again.trace_id or "").same


def test_it_holds_its_quotes_as_any_trace(engine: Engine) -> None:
    verified(engine)
    again = engine.ask(QUESTION)
    rewritten(engine, FEES.replace("40", "55"))
    with pytest.raises(MissingTraceError):
        engine.trace(again.trace_id or "")


def test_said_twice_the_last_word_counts(engine: Engine) -> None:
    answer = verified(engine)
    engine.calibration.add_feedback(answer.trace_id or "", right=False)
    (kept,) = engine.traces.store.list_feedback()
    assert (kept.said, kept.right) == ("wrong", False)


@pytest.mark.parametrize("said", [{}, {"right": True, "answer": "40 crowns"}])
def test_one_thing_must_be_said(engine: Engine, said: dict[str, object]) -> None:
    answer = engine.ask(QUESTION)
    with pytest.raises(UsageError, match="give one of right, wrong"):
        engine.calibration.add_feedback(answer.trace_id or "", **said)  # type: ignore[arg-type]


def test_where_nothing_was_answered_only_the_right_answer_can_be_told(engine: Engine) -> None:
    silent = engine.ask(QUESTION, filters=["language=id"])
    assert silent.status == "abstained"
    with pytest.raises(UsageError, match="gave no answer"):
        engine.calibration.add_feedback(silent.trace_id or "", right=False)
    made = engine.calibration.add_feedback(silent.trace_id or "", answer="40 crowns")
    assert made.right is None


def test_unknown_traces_and_sources_are_refused(engine: Engine) -> None:
    answer = engine.ask(QUESTION)
    with pytest.raises(MissingTraceError):
        engine.calibration.add_feedback("feed", right=True)
    with pytest.raises(UsageError, match=r"no document 'nowhere\.md'"):
        engine.calibration.add_feedback(
            answer.trace_id or "", answer="40 crowns", sources=["nowhere.md"]
        )


def labels(engine: Engine, count: int) -> None:
    """Answers of every degree of sureness, called right where it is high."""
    (one,) = engine.traces.store.list_feedback() or [None]
    assert one is not None
    for at in range(count):
        sure = at % 16 / 2
        signals = dict.fromkeys(COLUMNS, 0.0) | {"sure": sure}
        right = (sure > 2) != (at % 40 == 7)
        engine.traces.store.put_feedback(
            replace(one, trace_id=f"t{at}", key=f"k{at}", signals=signals, right=right, again=None)
        )


def test_calibration_learns_from_feedback(engine: Engine) -> None:
    verified(engine)
    labels(engine, 200)
    report = calibrate(engine, feedback=True)
    assert report.calibration.made_of == {"feedback": 201}
    assert report.questions == 201
    assert engine.calibration.get_current().calibration == report.calibration


def test_feedback_on_answers_of_other_settings_teaches_nothing(engine: Engine) -> None:
    verified(engine)
    labels(engine, 200)
    with engine_at(engine.directory.parent, ask={"chunks": 3}) as other:
        assert other.calibration.label_answers() == []
        answer = engine.ask(QUESTION, filters=["language=en"])
        assert other.calibration.add_feedback(answer.trace_id or "", right=False).made_for == ""
    assert len(engine.calibration.label_answers()) == 201


def test_what_is_measured_is_never_a_verified_answer(engine: Engine, tmp_path: Path) -> None:
    verified(engine)
    questions = tmp_path / "asked.jsonl"
    row = {"_id": "q", "text": QUESTION, "answers": ["40 crowns"]}
    questions.write_text(f"{json.dumps(row)}\n")
    kept = tmp_path / "kept"
    with pytest.raises(UsageError, match="at least 20"):
        calibrate(engine, questions, records=kept)
    (line,) = (kept / "asked" / "adaptive.jsonl").read_text().splitlines()
    assert '"phase":"look"' in line.replace(": ", ":")


def test_the_key_of_a_question_is_that_of_its_words_and_conditions() -> None:
    year = Filter("year", ">=", 2020)
    one = Filter("language", "=", "en")
    assert compute_question_key("Who  pays?") == compute_question_key("who pays")
    assert compute_question_key("who pays") != compute_question_key("who paid")
    assert compute_question_key("who pays", [year]) != compute_question_key("who pays")
    assert compute_question_key("who pays", [year, one]) == compute_question_key(
        "who pays", [one, year]
    )


def test_feedback_is_read_as_it_was_written() -> None:
    feedback = Feedback(
        trace_id="t", key="k", question="q", strategy="naive", said="wrong", right=False
    )
    assert Feedback.from_json(feedback.to_json()) == feedback
