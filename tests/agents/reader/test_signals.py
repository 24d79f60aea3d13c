"""The signals of an answer, column by column."""

import pytest
from tests.factories import FEES, QUESTION, hit_of, hit_with, read_fees

from fathom.agents.reader.signals import COLUMNS, AnswerSignals
from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Alternative, Chunk, Draft, Evidence, Hit, Span

OTHER = "The crane stands on the east quay."
AGREED = "Whoever moors a boat pays 40 crowns."
GULDEN = "A mooring permit costs 50 gulden a year."


def read_both(question: str, chunk: Chunk) -> Reading:
    """Read two documents that answer in different ways."""
    if "50 gulden" in chunk.text:
        return reading(chunk, "50 gulden", 0.7)
    if chunk.text == AGREED:
        return reading(chunk, "40 crowns", 0.7)
    return read_fees(question, chunk)


def make_draft(hit: Hit, short: str = "40 crowns", confidence: float = 0.9) -> Draft:
    quote = Span(0, hit.chunk.text.index(".") + 1)
    evidence = Evidence(hit=hit, span=quote, support=0.8)
    return Draft(evidence=(evidence,), short_answer=short, confidence=confidence)


def measure(
    draft: Draft, *hits: Hit, question: str = QUESTION, searches: int = 1
) -> dict[str, float]:
    answer_signals = AnswerSignals(pairs=ScriptedCrossReader(read_both))
    return answer_signals(Question(question), draft, hits, searches=searches)


def test_every_column_has_a_number() -> None:
    assert set(measure(make_draft(hit_of()), hit_of())) == set(COLUMNS)
    assert set(measure(Draft())) == set(COLUMNS)


def test_every_column_is_described() -> None:
    assert all(len(column) > 10 for column in COLUMNS.values())


def test_without_evidence_only_the_question_has_signals() -> None:
    signals_of_question = measure(Draft(), question="Berapa biaya izin tambat kapal di pelabuhan?")
    assert signals_of_question["indonesian"] == 1.0
    assert signals_of_question["words"] > 0
    assert (
        signals_of_question["sure"]
        == signals_of_question["support"]
        == signals_of_question["held"]
        == 0.0
    )


def test_signals_are_about_the_question_that_the_quote_answers() -> None:
    chain = Question("How much does a permit of the office at the east quay cost?")
    by_default = AnswerSignals(pairs=ScriptedCrossReader(read_both))
    about_last = AnswerSignals(pairs=ScriptedCrossReader(read_both), about=Question(QUESTION))
    draft, hits = make_draft(hit_of()), (hit_of(),)
    assert about_last(chain, draft, hits) == by_default(Question(QUESTION), draft, hits)
    assert about_last(chain, draft, hits) != by_default(chain, draft, hits)


def test_the_confidence_of_the_draft_is_a_logit() -> None:
    assert measure(make_draft(hit_of(), confidence=0.5), hit_of())["sure"] == 0.0
    assert measure(make_draft(hit_of(), confidence=1.0), hit_of())["sure"] == 10.0


def test_hits_with_other_answers_are_counted() -> None:
    alone = measure(make_draft(hit_of()), hit_of())
    beside = measure(make_draft(hit_of()), hit_of(), hit_of(GULDEN, document="d2", rank=2))
    agreed = measure(make_draft(hit_of()), hit_of(), hit_of(AGREED, document="d2", rank=2))
    copied = measure(make_draft(hit_of()), hit_of(), hit_of(FEES, document="d2", rank=2))
    assert copied["agreeing"] == 0.0
    assert beside["disagreeing"] > alone["disagreeing"] == -10.0
    assert (agreed["agreeing"], beside["agreeing"]) == (1.0, 0.0)
    assert agreed["others"] > alone["others"]


def test_the_rank_of_the_cited_chunk_counts() -> None:
    first = measure(make_draft(hit_of()), hit_of(), hit_of(OTHER, document="d2", rank=2))
    cited = hit_of(rank=2)
    second = measure(make_draft(cited), hit_of(OTHER, document="d2"), cited)
    assert first["place"] == 0.0 < second["place"]
    assert (first["lexical"], first["margin"]) == (1.0, 0.5)


def test_names_and_times_missing_from_the_evidence_are_counted() -> None:
    question = QUESTION.replace("?", " in 1999?")
    dated = hit_of("In 1999 a mooring permit costs 40 crowns a year.")
    held, lacking = (measure(make_draft(hit), hit, question=question) for hit in (dated, hit_of()))
    assert lacking["anchors"] < held["anchors"]


def test_another_reading_counts_unless_it_is_refuted() -> None:
    draft = make_draft(hit_of())

    def measure_with_other(*, refuted: bool) -> Draft:
        other = Alternative(text="50 gulden", evidence=(0,), refuted=refuted)
        return Draft(
            evidence=draft.evidence,
            short_answer=draft.short_answer,
            alternatives=(other,),
            confidence=draft.confidence,
        )

    assert measure(measure_with_other(refuted=False), hit_of())["conflict"] == 1.0
    assert measure(measure_with_other(refuted=True), hit_of())["conflict"] == 0.0


def test_searches_and_the_form_of_the_question_count() -> None:
    many = measure(make_draft(hit_of()), hit_of(), searches=14)
    assert many["searches"] > measure(make_draft(hit_of()), hit_of())["searches"]
    question = "Is the mooring permit paid at the harbour office?"
    assert measure(make_draft(hit_of()), hit_of(), question=question)["yes_no"] == 1.0


@pytest.mark.parametrize("hits", [(), (hit_of(),)])
def test_without_hits_the_cited_hits_are_used(hits: tuple[Hit, ...]) -> None:
    assert measure(make_draft(hit_of()), *hits)["documents"] == 1.0


def test_equal_drafts_have_equal_signals() -> None:
    assert measure(make_draft(hit_of()), hit_of()) == measure(make_draft(hit_of()), hit_of())


def describe_form(question: str, quotes: list[str], builder: Builder) -> tuple[float, float]:
    """Return the signals `formed` and `short` of a draft with these quotes of one document."""
    hit = hit_with(builder)
    starts = [hit.chunk.text.index(quote) for quote in quotes]
    evidence = tuple(
        Evidence(hit=hit, span=Span(start, start + len(quote)), support=0.8)
        for start, quote in zip(starts, quotes, strict=True)
    )
    signals = measure(Draft(evidence=evidence, confidence=0.5), hit, question=question)
    return signals["formed"], signals["short"]


@pytest.mark.parametrize(
    ("question", "quote", "formed"),
    [
        ("What is a quay?", "A quay is a wall where ships moor.", 1.0),
        ("What is a quay?", "Every quay has a crane.", 0.0),
        ("Apa itu dermaga?", "Dermaga adalah tempat kapal bersandar.", 1.0),
        ("What does --edge do?", "Keeps the edges.", 1.0),
        ("What does --quiet do?", "Keeps the edges.", -1.0),
        ("Which option keeps edges?", "Keeps the edges.", 1.0),
        ("Which edges are kept by default?", "Keeps the edges.", -1.0),
        ("When are edges kept?", "Keeps the edges.", 0.0),
    ],
)
def test_a_quote_of_the_asked_form_is_told(question: str, quote: str, formed: float) -> None:
    builder = Builder()
    builder.add_paragraph("A quay is a wall where ships moor. Every quay has a crane.")
    builder.add_paragraph("Dermaga adalah tempat kapal bersandar.")
    builder.add_paragraph("--edge\nKeeps the edges.")
    assert describe_form(question, [quote], builder) == (formed, 0.0)


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How do I fill a pothole?", 1.0),
        ("Sebutkan langkahnya!", 1.0),
        ("Who fills potholes?", 0.0),
    ],
)
def test_the_list_asked_for_counts_as_a_short_answer(question: str, short: float) -> None:
    builder = Builder()
    builder.add_item("Cut it.", "1.")
    builder.add_item("Fill it.", "2.")
    assert describe_form(question, ["Cut it.", "Fill it."], builder) == (0.0, short)
    assert describe_form(question, ["Cut it."], builder) == (0.0, 0.0)
