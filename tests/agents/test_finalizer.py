"""Quotes are verbatim and verified, or not shown."""

import asyncio
from dataclasses import replace

import pytest
from tests.factories import chunk_of

from fathom.agents.finalizer import Finalizer
from fathom.documents.base import Builder
from fathom.question.question import Question
from fathom.retrieval.quotes import QuoteLookup
from fathom.runs.context import CalibratedConfidence, Weigh
from fathom.testing.doubles import run_context
from fathom.types import (
    Alternative,
    Answer,
    Block,
    Chunk,
    Claim,
    Document,
    Draft,
    Evidence,
    Hit,
    Span,
)

TEXT = "Fees\n\nA permit costs 40 crowns. It is valid for a year."
DOCUMENT = Document(
    id="d1",
    text=TEXT,
    path="fees.md",
    title="Fees",
    blocks=(
        Block(kind="heading", span=Span(0, 4), page=1),
        Block(kind="paragraph", span=Span(6, 55), headings=("Fees", "Permits"), page=2),
    ),
)
OTHER = Alternative(text="50 crowns", evidence=(0,))
CHUNK = Chunk(id="d1#0", document_id="d1", text=TEXT[6:], span=Span(6, len(TEXT)), ordinal=0)


def make_draft(start: int, end: int, confidence: float = 0.9, chunk: Chunk = CHUNK) -> Draft:
    hit = Hit(chunk=chunk, score=1.0, rank=1, retriever="hybrid")
    evidence = Evidence(hit=hit, span=Span(start, end), support=0.8)
    return Draft(evidence=(evidence,), short_answer="40 crowns", confidence=confidence)


def finalize(
    of: Draft,
    document: Document | None = DOCUMENT,
    question: str = "What does a permit cost?",
    weigh: Weigh | None = None,
    states_disputes: bool = False,
) -> Answer:
    quotes = QuoteLookup(lambda document_id: document if document_id in {"d1", "d2"} else None)
    finalizer = Finalizer(quotes=quotes, strategy="naive", min_confidence=0.5)
    with run_context() as context:
        run = replace(context, weigh=weigh, states_disputes=states_disputes)
        return asyncio.run(finalizer(Question(question), of, phase="read", context=run))


def test_offsets_of_a_quote_point_into_the_document() -> None:
    answer = finalize(make_draft(0, 25))
    (citation,) = answer.citations
    assert answer.status == "answered"
    assert answer.answer == "A permit costs 40 crowns. [1]"
    assert TEXT[citation.start : citation.end] == citation.quote == "A permit costs 40 crowns."
    assert citation.verified
    assert (citation.path, citation.title, citation.section) == ("fees.md", "Fees", "Permits")
    assert (citation.page, citation.line) == (2, 3)
    assert answer.stop_reason == "answered"


@pytest.mark.parametrize(
    ("weighed", "others", "status"),
    [
        (CalibratedConfidence(0.7), (), "answered"),
        (CalibratedConfidence(None), (), "answered"),
        (CalibratedConfidence(0.1, probable=False), (), "abstained"),
        (CalibratedConfidence(0.1, probable=False), (OTHER,), "answered"),
        (CalibratedConfidence(0.1, probable=False), (replace(OTHER, refuted=True),), "abstained"),
        (CalibratedConfidence(0.1, probable=False, enough=False), (OTHER,), "abstained"),
    ],
)
def test_an_improbable_answer_is_given_only_beside_a_disagreeing_one(
    weighed: CalibratedConfidence, others: tuple[Alternative, ...], status: str
) -> None:
    answer = finalize(replace(make_draft(0, 25), alternatives=others), weigh=lambda _: weighed)
    assert bool(answer.conflicts) == (status == "answered" and bool(others))
    assert (answer.status, answer.confidence) == (status, weighed.confidence)
    assert answer.citations
    if status == "abstained":
        assert (answer.stop_reason, answer.answer) == ("low_confidence", "")


@pytest.mark.parametrize(
    ("weighed", "others", "status"),
    [
        (CalibratedConfidence(0.6, sure=1.0), (), "answered"),
        (CalibratedConfidence(0.6), (), "abstained"),
        (CalibratedConfidence(0.6, sure=0.6), (), "answered"),
        (CalibratedConfidence(0.4, sure=0.4), (), "abstained"),
        (CalibratedConfidence(None), (), "abstained"),
        (CalibratedConfidence(0.6, probable=False, sure=0.6), (), "abstained"),
        (CalibratedConfidence(0.6, enough=False, sure=0.6), (), "abstained"),
        (CalibratedConfidence(0.3, probable=False, sure=1.0), (), "abstained"),
        (CalibratedConfidence(0.3, probable=False, sure=1.0), (OTHER,), "abstained"),
        (CalibratedConfidence(0.6, enough=False, sure=1.0), (), "abstained"),
    ],
)
def test_the_probability_may_decide_alone_or_make_up_for_an_unsure_draft(
    weighed: CalibratedConfidence, others: tuple[Alternative, ...], status: str
) -> None:
    unsure = replace(make_draft(0, 25, confidence=0.3), alternatives=others)
    assert finalize(unsure, weigh=lambda _: weighed).status == status


@pytest.mark.parametrize(
    ("weighed", "confidence"),
    [
        (CalibratedConfidence(0.2, probable=False, tentative=True), 0.9),
        (CalibratedConfidence(0.4, tentative=True, likely=True, sure=0.4), 0.3),
    ],
)
def test_a_weak_answer_is_shown_as_not_sure_with_its_quotes(
    weighed: CalibratedConfidence, confidence: float
) -> None:
    answer = finalize(make_draft(0, 25, confidence), weigh=lambda _: weighed)
    assert (answer.status, answer.tentative, answer.stop_reason) == ("answered", True, "answered")
    assert answer.answer == "A permit costs 40 crowns. [1]"
    assert [citation.verified for citation in answer.citations] == [True]


def test_a_sure_and_probable_answer_is_not_tentative() -> None:
    weighed = CalibratedConfidence(0.7, tentative=True, likely=True)
    answer = finalize(make_draft(0, 25), weigh=lambda _: weighed)
    assert (answer.status, answer.tentative) == ("answered", False)


@pytest.mark.parametrize("is_refuted", [False, True])
def test_an_answer_that_another_document_denies_is_tentative(is_refuted: bool) -> None:
    denied = replace(make_draft(0, 25), alternatives=(replace(OTHER, refuted=is_refuted),))
    for weigh in (None, lambda _: CalibratedConfidence(0.9)):
        answer = finalize(denied, weigh=weigh)
        assert (answer.status, answer.tentative, len(answer.conflicts)) == ("answered", True, 1)


@pytest.mark.parametrize("states_disputes", [False, True])
def test_a_run_states_a_dispute_unless_it_was_recorded_before(states_disputes: bool) -> None:
    other = replace(CHUNK, id="d2#0", document_id="d2")
    evidence = (*make_draft(0, 25).evidence, *make_draft(26, 48, chunk=other).evidence)
    rival = Alternative(text="50 crowns", evidence=(1,))
    draft = replace(make_draft(0, 25), evidence=evidence, alternatives=(rival,))
    answer = finalize(draft, states_disputes=states_disputes)
    first = "40 crowns or 50 crowns" if states_disputes else "40 crowns"
    assert (answer.short_answer, answer.disputed) == (first, states_disputes)


def test_a_reading_that_a_table_does_not_bear_out_is_tentative() -> None:
    answer = finalize(replace(make_draft(0, 25), is_doubted=True))
    assert (answer.status, answer.tentative) == ("answered", True)


def test_an_answer_from_text_that_repeats_the_question_is_tentative() -> None:
    text = " ".join(["What does a permit cost? 40 crowns."] * 3)
    document = replace(DOCUMENT, text=text, blocks=())
    chunk = Chunk(id="d1#0", document_id="d1", text=text, span=Span(0, len(text)), ordinal=0)
    answer = finalize(make_draft(0, 35, chunk=chunk), document)
    assert (answer.status, answer.tentative) == ("answered", True)
    other = finalize(make_draft(0, 35, chunk=chunk), document, question="Is a permit needed?")
    assert not other.tentative


def test_an_improbable_answer_of_an_unsure_draft_is_withheld() -> None:
    weighed = CalibratedConfidence(0.2, probable=False, tentative=True)
    answer = finalize(make_draft(0, 25, confidence=0.3), weigh=lambda _: weighed)
    assert (answer.status, answer.tentative) == ("abstained", False)


def test_nothing_is_tentative_without_a_verified_quote() -> None:
    weighed = CalibratedConfidence(0.2, probable=False, tentative=True)
    answer = finalize(make_draft(0, 25), document=None, weigh=lambda _: weighed)
    assert (answer.status, answer.tentative, answer.answer) == ("abstained", False, "")
    assert answer.stop_reason == "no_evidence"


def test_a_heading_above_a_chunk_is_cited_at_its_place() -> None:
    hit = Hit(chunk=CHUNK, score=1.0, rank=1, retriever="hybrid")

    def cite_heading(heading: str) -> Answer:
        evidence = Evidence(hit=hit, span=Span(0, 0), support=0.8, heading=heading)
        claim = Claim(text="It is about fees.", evidence=(0,))
        return finalize(Draft(evidence=(evidence,), claims=(claim,), confidence=0.9))

    (citation,) = cite_heading("Fees").citations
    assert (citation.start, citation.end, citation.quote, citation.verified) == (0, 4, "Fees", True)
    assert (
        cite_heading("Prices").status == "abstained"
    )  # a title that stands in no text is no quote


def test_a_quote_missing_from_the_document_is_never_shown() -> None:
    forged = Chunk(id="d1#0", document_id="d1", text="It is free.", span=Span(6, 17), ordinal=0)
    answer = finalize(make_draft(0, 11, chunk=forged))
    assert (answer.status, answer.stop_reason, answer.citations) == ("abstained", "no_evidence", ())
    assert "free" not in answer.answer


def test_a_deleted_document_is_not_cited() -> None:
    assert finalize(make_draft(0, 25), document=None).stop_reason == "no_evidence"


def test_low_confidence_abstains_but_shows_the_nearest_quotes() -> None:
    answer = finalize(make_draft(0, 25, confidence=0.49))
    assert (answer.status, answer.answer, answer.short_answer) == ("abstained", "", "")
    assert answer.stop_reason == "low_confidence"
    assert len(answer.citations) == 1


def test_without_hits_there_is_no_evidence() -> None:
    answer = finalize(Draft())
    assert (answer.status, answer.stop_reason, answer.confidence) == ("abstained", "no_evidence", 0)


def test_fewer_things_than_asked_for_are_a_partial_list() -> None:
    partial = finalize(make_draft(0, 25), question="Name three permits.")
    assert (partial.status, partial.stop_reason) == ("answered", "partial_list")
    assert finalize(make_draft(0, 25), question="Name a permit.").stop_reason == "answered"


def test_a_sentence_without_a_verified_quote_is_not_shown() -> None:
    forged = Chunk(id="d1#0", document_id="d1", text="It is free.", span=Span(6, 17), ordinal=0)
    true, false = make_draft(0, 25).evidence[0], make_draft(0, 11, chunk=forged).evidence[0]
    claims = (
        Claim(text="You pay 40 crowns.", evidence=(0, 1)),
        Claim(text="It is free.", evidence=(1,)),
    )
    answer = finalize(Draft(evidence=(true, false), claims=claims, confidence=0.9))
    assert answer.answer == "You pay 40 crowns. [1]"
    assert [citation.quote for citation in answer.citations] == ["A permit costs 40 crowns."]


def test_each_place_has_one_number() -> None:
    same = make_draft(0, 25).evidence[0]
    claims = (Claim(text="It costs 40.", evidence=(0,)), Claim(text="Crowns.", evidence=(1,)))
    answer = finalize(Draft(evidence=(same, same), claims=claims, confidence=0.9))
    assert answer.answer == "It costs 40. [1] Crowns. [1]"
    assert len(answer.citations) == 1


def quote_draft(builder: Builder, *quotes: str) -> Answer:
    """Return the answer of a draft that quotes these places of a document."""
    parsed = builder.build()
    document = Document(id="d1", text=parsed.text, path="d", title="D", blocks=parsed.blocks)
    hit = Hit(chunk=chunk_of(parsed), score=1.0, rank=1, retriever="hybrid")
    starts = [parsed.text.index(quote) for quote in quotes]
    spans = [Span(at, at + len(quote)) for at, quote in zip(starts, quotes, strict=True)]
    evidence = tuple(Evidence(hit=hit, span=span, support=0.8) for span in spans)
    return finalize(Draft(evidence=evidence, confidence=0.9), document)


def test_a_row_is_quoted_below_the_names_of_its_columns() -> None:
    builder = Builder()
    for cells in (["Material", "Bay"], ["Emulsion", "5"], ["Sand", "7"]):
        builder.add_row(cells)
    answer = quote_draft(builder, "Sand | 7")
    assert answer.answer == "Material | Bay\nSand | 7 [1]"
    assert [citation.quote for citation in answer.citations] == ["Sand | 7"]
    answer = quote_draft(builder, "Emulsion | 5", "Sand | 7")
    assert answer.answer == "Material | Bay\nEmulsion | 5 [1]\nSand | 7 [2]"


def test_a_row_with_column_names_is_quoted_alone() -> None:
    builder = Builder()
    builder.add_row(["Material", "Bay"], head=True)
    builder.add_row(["Material: Sand", "Bay: 7"])
    assert quote_draft(builder, "Material: Sand | Bay: 7").answer == "Material: Sand | Bay: 7 [1]"


def test_items_of_a_list_are_quoted_in_lines_with_their_labels() -> None:
    builder = Builder()
    builder.add_paragraph("Do it. So:")
    for number, item in enumerate(("Cut it.", "Fill it."), start=1):
        builder.add_item(item, f"{number}.")
    builder.add_code("make\n  all")
    answer = quote_draft(builder, "Do it.", "So:", "Cut it.", "Fill it.", "make\n  all")
    assert answer.answer == ("Do it. [1] So: [2]\n1. Cut it. [3]\n2. Fill it. [4]\nmake\n  all [5]")
    assert [citation.quote for citation in answer.citations][2:4] == ["Cut it.", "Fill it."]
    assert quote_draft(builder, "Cut it.").answer == "Cut it. [1]"
