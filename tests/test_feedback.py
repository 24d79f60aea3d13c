"""Feedback: stored beside the traces, reused while it holds, learned from.

Covers `fathom.strategies.verified` and, with test_calibrations, `fathom.engine.calibration`.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest
from tests.factories import FEES, QUESTION, engine_at, index_fees

from fathom.agents.reader.signals import COLUMNS
from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.evaluation.calibration import calibrate
from fathom.index.embedded.traces import FILE
from fathom.index.feedback import Feedback, compute_question_key
from fathom.index.traces import MissingTraceError, OutrankedFeedbackError
from fathom.jsonable import dump_canonical, hash_text
from fathom.strategies.verified import _find_places
from fathom.types import Answer, Filter

RIGHT_ANSWER = "harbour office"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_at(index_fees(tmp_path)) as opened:
        yield opened


def rewrite_document(engine: Engine, text: str) -> None:
    (engine.directory.parent / "corpus" / "fees.md").write_text(f"# Fees\n\n{text}\n")
    engine.ingest()


def verify_answer(engine: Engine) -> Answer:
    answer = engine.ask(QUESTION)
    engine.calibration.add_feedback(answer.trace_id or "", right=True)
    return answer


def test_a_verified_answer_is_reused_and_marked(engine: Engine) -> None:
    first = verify_answer(engine)
    again = engine.ask(QUESTION)
    assert (again.phase, again.confidence, again.calibration) == ("verified", 1.0, "a person")
    assert (again.answer, again.short_answer) == (first.answer, first.short_answer)
    assert again.citations == first.citations
    assert again.usage.retrievals == 0
    assert again.trace_id != first.trace_id


def test_case_spaces_and_final_punctuation_do_not_change_the_question(engine: Engine) -> None:
    verify_answer(engine)
    assert engine.ask(f"  {QUESTION.upper().rstrip('?')} ").phase == "verified"
    assert engine.ask("What does a mooring permit cost a year?").phase != "verified"


def test_a_verified_answer_is_not_reused_under_other_conditions_or_in_a_conversation(
    engine: Engine,
) -> None:
    verify_answer(engine)
    assert engine.ask(QUESTION, filters=["language=en"]).phase != "verified"
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    assert engine.ask(QUESTION, history=turns).phase != "verified"


def test_a_verified_answer_is_dropped_once_its_quote_has_changed(engine: Engine) -> None:
    verify_answer(engine)
    rewrite_document(engine, FEES.replace("40", "55"))
    answer = engine.ask(QUESTION)
    assert answer.phase != "verified"
    assert "55 crowns" in answer.answer


def test_a_quote_that_vanished_meanwhile_is_detected_in_the_run(engine: Engine) -> None:
    answer = verify_answer(engine)
    (feedback,) = engine.traces.store.list_feedback()
    moved = [{**citation, "quote": "Another text."} for citation in feedback.again["citations"]]
    engine.traces.store.put_feedback(
        replace(feedback, again={**feedback.again, "citations": moved})
    )
    again = engine.ask(QUESTION)
    assert again.phase == answer.phase == "look"
    (step,) = [s for s in engine.trace(again.trace_id or "").steps if s.name == "verified"]
    assert step.verdict == "left out"
    assert engine.replay(again.trace_id or "").same


def test_feedback_is_deleted_with_the_documents_it_cites(engine: Engine) -> None:
    verify_answer(engine)
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


def test_deleting_a_trace_deletes_its_feedback(engine: Engine) -> None:
    answer = verify_answer(engine)
    engine.traces.delete(answer.trace_id or "")
    assert engine.traces.store.list_feedback() == ()
    assert engine.ask(QUESTION).phase != "verified"


def test_a_corrected_answer_is_located_in_the_sources_and_reused(
    engine: Engine,
) -> None:
    question = "Where is the mooring permit paid?"
    first = engine.ask(question)
    (document,) = engine.documents.list()
    feedback = engine.calibration.add_feedback(
        first.trace_id or "", answer=RIGHT_ANSWER, sources=[document.path]
    )
    assert feedback.right is False
    again = engine.ask(question)
    assert (again.phase, again.short_answer) == ("verified", RIGHT_ANSWER)
    (citation,) = again.citations
    assert citation.quote == "It is paid at the harbour office."
    assert engine.documents.get(document.id).text[citation.start : citation.end] == citation.quote
    assert again.answer == f"{citation.quote} [1]"


@pytest.mark.parametrize(("typed", "written"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_a_corrected_answer_is_located_however_its_accents_are_composed(
    engine: Engine, typed: Literal["NFC", "NFD"], written: Literal["NFC", "NFD"]
) -> None:
    name = "Café Renée"
    rewrite_document(engine, normalize(written, f"{FEES} The permit is paid at the {name}."))
    first = engine.ask(QUESTION)
    (document,) = engine.documents.list()
    places = list(_find_places(normalize(typed, name), [engine.documents.get(document.id)]))
    assert [place.cut(document.text) for document, place in places] == [normalize(written, name)]
    part = normalize(typed, "Café René")
    assert engine.calibration.add_feedback(first.trace_id or "", answer=part).again is None


def test_a_correction_missing_from_the_documents_is_stored_but_not_reused(engine: Engine) -> None:
    first = engine.ask(QUESTION)
    feedback = engine.calibration.add_feedback(first.trace_id or "", answer="seventy dollars")
    assert (feedback.again, feedback.answer) == (None, "seventy dollars")
    assert engine.ask(QUESTION).phase != "verified"


def test_a_correction_from_a_sentence_that_does_not_answer_is_refused(
    engine: Engine,
) -> None:
    first = engine.ask(QUESTION)
    for planted in (RIGHT_ANSWER, "It", "paid at the harbour office"):
        with pytest.raises(UsageError, match=r"fees\.md holds .*, but not as an answer to 'How"):
            engine.calibration.add_feedback(first.trace_id or "", answer=planted)
    assert engine.traces.store.list_feedback() == ()
    assert engine.ask(QUESTION).phase != "verified"
    engine.calibration.add_feedback(first.trace_id or "", answer="40 crowns")
    assert engine.ask(QUESTION).short_answer == "40 crowns"


def test_a_correction_cites_the_place_that_answers_not_the_first_mention(
    engine: Engine,
) -> None:
    rewrite_document(engine, f"A key costs 40 crowns. Boats wait outside. The pier is new. {FEES}")
    first = engine.ask(QUESTION)
    feedback = engine.calibration.add_feedback(first.trace_id or "", answer="40 crowns")
    [citation] = feedback.again["citations"]
    assert citation["quote"] == "A mooring permit costs 40 crowns a year."


@pytest.mark.parametrize("part", ["crown", "0 crowns", "arbour office"])
def test_a_part_of_a_word_does_not_support_a_correction(engine: Engine, part: str) -> None:
    first = engine.ask(QUESTION)
    assert engine.calibration.add_feedback(first.trace_id or "", answer=part).again is None


def test_a_correction_in_a_conversation_is_never_reused(engine: Engine) -> None:
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    first = engine.ask(QUESTION, history=turns)
    assert engine.calibration.add_feedback(first.trace_id or "", answer=RIGHT_ANSWER).again is None
    assert engine.ask(QUESTION).phase != "verified"


def test_an_opinion_does_not_change_answers_for_others(engine: Engine) -> None:
    first = engine.ask(QUESTION)
    feedback = engine.calibration.add_feedback(first.trace_id or "", right=True, counts=False)
    assert (feedback.again, feedback.counts) == (None, False)
    assert engine.traces.store.list_feedback() == (feedback,)
    assert engine.calibration.label_answers() == []
    second = engine.ask(QUESTION)
    assert second.phase != "verified"
    with pytest.raises(UsageError, match="can say right or wrong, but give no answer"):
        engine.calibration.add_feedback(second.trace_id or "", answer="40 crowns", counts=False)


def test_an_opinion_does_not_revoke_a_verified_answer(engine: Engine) -> None:
    first = verify_answer(engine)
    again = engine.ask(QUESTION)
    engine.calibration.add_feedback(again.trace_id or "", right=False, counts=False)
    assert engine.ask(QUESTION).phase == "verified"
    with pytest.raises(OutrankedFeedbackError):
        engine.calibration.add_feedback(first.trace_id or "", right=False, counts=False)
    assert engine.ask(QUESTION).phase == "verified"
    engine.calibration.add_feedback(first.trace_id or "", right=False)
    assert engine.ask(QUESTION).phase != "verified"


def test_an_answer_called_wrong_later_is_not_reused(engine: Engine) -> None:
    verify_answer(engine)
    again = engine.ask(QUESTION)
    engine.calibration.add_feedback(again.trace_id or "", right=False)
    assert engine.ask(QUESTION).phase != "verified"


def test_a_verified_answer_is_replayed_byte_for_byte(engine: Engine) -> None:
    verify_answer(engine)
    again = engine.ask(QUESTION)
    assert engine.replay(again.trace_id or "").same


def test_a_verified_answer_stores_its_quotes_like_any_trace(engine: Engine) -> None:
    verify_answer(engine)
    again = engine.ask(QUESTION)
    rewrite_document(engine, FEES.replace("40", "55"))
    with pytest.raises(MissingTraceError):
        engine.trace(again.trace_id or "")


def test_the_latest_feedback_counts(engine: Engine) -> None:
    answer = verify_answer(engine)
    engine.calibration.add_feedback(answer.trace_id or "", right=False)
    (feedback,) = engine.traces.store.list_feedback()
    assert (feedback.said, feedback.right) == ("wrong", False)


@pytest.mark.parametrize("fields", [{}, {"right": True, "answer": "40 crowns"}])
def test_feedback_must_say_exactly_one_thing(engine: Engine, fields: dict[str, object]) -> None:
    answer = engine.ask(QUESTION)
    with pytest.raises(UsageError, match="say either right or wrong"):
        engine.calibration.add_feedback(answer.trace_id or "", **fields)  # type: ignore[arg-type]


def test_an_unanswered_question_accepts_only_a_correction(engine: Engine) -> None:
    silent = engine.ask(QUESTION, filters=["language=id"])
    assert silent.status == "abstained"
    with pytest.raises(UsageError, match="gave no answer"):
        engine.calibration.add_feedback(silent.trace_id or "", right=False)
    feedback = engine.calibration.add_feedback(silent.trace_id or "", answer="40 crowns")
    assert feedback.right is None


def test_unknown_traces_and_sources_are_refused(engine: Engine) -> None:
    answer = engine.ask(QUESTION)
    with pytest.raises(MissingTraceError):
        engine.calibration.add_feedback("feed", right=True)
    with pytest.raises(UsageError, match=r"no document 'nowhere\.md'"):
        engine.calibration.add_feedback(
            answer.trace_id or "", answer="40 crowns", sources=["nowhere.md"]
        )


def add_labels(engine: Engine, count: int) -> None:
    """Add feedback on answers of every confidence, right where it is high."""
    (feedback,) = engine.traces.store.list_feedback() or [None]
    assert feedback is not None
    for at in range(count):
        sure = at % 16 / 2
        signals = dict.fromkeys(COLUMNS, 0.0) | {"sure": sure}
        right = (sure > 2) != (at % 40 == 7)
        engine.traces.store.put_feedback(
            replace(
                feedback, trace_id=f"t{at}", key=f"k{at}", signals=signals, right=right, again=None
            )
        )


def test_calibration_learns_from_feedback(engine: Engine) -> None:
    verify_answer(engine)
    add_labels(engine, 200)
    report = calibrate(engine, feedback=True)
    assert report.calibration.made_of == {"feedback": 201}
    assert report.questions == 201
    assert engine.calibration.get_current().calibration == report.calibration


def test_feedback_on_answers_of_other_settings_is_ignored(engine: Engine) -> None:
    verify_answer(engine)
    add_labels(engine, 200)
    with engine_at(engine.directory.parent, ask={"chunks": 3}) as other:
        assert other.calibration.label_answers() == []
        answer = engine.ask(QUESTION, filters=["language=en"])
        assert other.calibration.add_feedback(answer.trace_id or "", right=False).made_for == ""
    assert len(engine.calibration.label_answers()) == 201


def test_measurements_never_reuse_verified_answers(engine: Engine, tmp_path: Path) -> None:
    verify_answer(engine)
    questions = tmp_path / "asked.jsonl"
    row = {"_id": "q", "text": QUESTION, "answers": ["40 crowns"]}
    questions.write_text(f"{json.dumps(row)}\n")
    folder = tmp_path / "kept"
    with pytest.raises(UsageError, match="at least 20"):
        calibrate(engine, questions, records=folder)
    (line,) = (folder / "asked" / "adaptive.jsonl").read_text().splitlines()
    assert '"phase":"look"' in line.replace(": ", ":")


def test_the_key_of_a_question_covers_its_words_and_conditions() -> None:
    year = Filter("year", ">=", 2020)
    condition = Filter("language", "=", "en")
    assert compute_question_key("Who  pays?") == compute_question_key("who pays")
    assert compute_question_key("who pays") != compute_question_key("who paid")
    assert compute_question_key("who pays", [year]) != compute_question_key("who pays")
    assert compute_question_key("who pays", [year, condition]) == compute_question_key(
        "who pays", [condition, year]
    )


def test_accents_may_be_composed_or_not(engine: Engine) -> None:
    composed = f"Café: {QUESTION}"
    decomposed = normalize("NFD", composed)
    answer = engine.ask(decomposed)
    engine.calibration.add_feedback(answer.trace_id or "", right=True)
    assert [engine.ask(text).phase for text in (composed, decomposed)] == ["verified"] * 2


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_feedback_of_a_release_with_keys_of_typed_texts_is_still_found(
    engine: Engine, stored: Literal["NFC", "NFD"]
) -> None:
    question = f"Café: {QUESTION}"
    answer = engine.ask(question)
    engine.calibration.add_feedback(answer.trace_id or "", right=True)
    (feedback,) = engine.traces.store.list_feedback()
    # The key as an older release computed it: of the text as it was typed.
    words = normalize(stored, question).casefold().rstrip("?")
    key = hash_text(dump_canonical([words, []]))[:32]
    engine.traces.store.put_feedback(replace(feedback, key=key))
    for form in ("NFC", "NFD"):
        assert engine.ask(normalize(form, question)).phase == "verified"
    refusal = engine.ask(normalize("NFD", question))
    engine.calibration.add_feedback(refusal.trace_id or "", right=False)
    assert engine.ask(question).phase != "verified"


def test_feedback_is_read_as_it_was_written() -> None:
    feedback = Feedback(
        trace_id="t", key="k", question="q", strategy="naive", said="wrong", right=False
    )
    assert Feedback.from_json(feedback.to_json()) == feedback
