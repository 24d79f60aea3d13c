"""A quote is verbatim and verified, or it is not shown."""

import asyncio

from tests.making import run_of

from fathom.agents.finalizer import Finalizer
from fathom.retrieval.quotes import Quotes
from fathom.types import Answer, Block, Chunk, Claim, Document, Draft, Evidence, Hit, Span

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
CHUNK = Chunk(id="d1#0", document_id="d1", text=TEXT[6:], span=Span(6, len(TEXT)), ordinal=0)


def draft(start: int, end: int, confidence: float = 0.9, chunk: Chunk = CHUNK) -> Draft:
    hit = Hit(chunk=chunk, score=1.0, rank=1, retriever="hybrid")
    evidence = Evidence(hit=hit, span=Span(start, end), support=0.8)
    return Draft(evidence=(evidence,), short_answer="40 crowns", confidence=confidence)


def final(of: Draft, document: Document | None = DOCUMENT) -> Answer:
    quotes = Quotes(lambda document_id: document if document_id == "d1" else None)
    finalizer = Finalizer(quotes=quotes, strategy="naive", min_confidence=0.5)
    with run_of() as run:
        return asyncio.run(finalizer("What does a permit cost?", of, phase="read", run=run))


def test_offsets_of_a_quote_point_into_the_document() -> None:
    answer = final(draft(0, 25))
    (citation,) = answer.citations
    assert answer.status == "answered"
    assert answer.answer == "A permit costs 40 crowns. [1]"
    assert TEXT[citation.start : citation.end] == citation.quote == "A permit costs 40 crowns."
    assert citation.verified
    assert (citation.path, citation.title, citation.section) == ("fees.md", "Fees", "Permits")
    assert (citation.page, citation.line) == (2, 3)
    assert answer.stop_reason == "answered"


def test_a_quote_that_the_document_does_not_hold_is_never_shown() -> None:
    forged = Chunk(id="d1#0", document_id="d1", text="It is free.", span=Span(6, 17), ordinal=0)
    answer = final(draft(0, 11, chunk=forged))
    assert (answer.status, answer.stop_reason, answer.citations) == ("abstained", "no_evidence", ())
    assert "free" not in answer.answer


def test_a_document_that_is_gone_is_not_cited() -> None:
    assert final(draft(0, 25), document=None).stop_reason == "no_evidence"


def test_low_confidence_abstains_but_shows_what_was_near() -> None:
    answer = final(draft(0, 25, confidence=0.49))
    assert (answer.status, answer.answer, answer.short_answer) == ("abstained", "", "")
    assert answer.stop_reason == "low_confidence"
    assert len(answer.citations) == 1


def test_nothing_read_is_no_evidence() -> None:
    answer = final(Draft())
    assert (answer.status, answer.stop_reason, answer.confidence) == ("abstained", "no_evidence", 0)


def test_a_sentence_without_a_quote_that_stands_there_is_not_shown() -> None:
    forged = Chunk(id="d1#0", document_id="d1", text="It is free.", span=Span(6, 17), ordinal=0)
    true, false = draft(0, 25).evidence[0], draft(0, 11, chunk=forged).evidence[0]
    claims = (
        Claim(text="You pay 40 crowns.", evidence=(0, 1)),
        Claim(text="It is free.", evidence=(1,)),
    )
    answer = final(Draft(evidence=(true, false), claims=claims, confidence=0.9))
    assert answer.answer == "You pay 40 crowns. [1]"
    assert [citation.quote for citation in answer.citations] == ["A permit costs 40 crowns."]


def test_one_place_has_one_number() -> None:
    same = draft(0, 25).evidence[0]
    claims = (Claim(text="It costs 40.", evidence=(0,)), Claim(text="Crowns.", evidence=(1,)))
    answer = final(Draft(evidence=(same, same), claims=claims, confidence=0.9))
    assert answer.answer == "It costs 40. [1] Crowns. [1]"
    assert len(answer.citations) == 1
