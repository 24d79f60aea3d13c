"""The signals of an answer: what each of them sees."""

import pytest
from tests.making import FEES, QUESTION, hit_of, read_fees

from fathom.agents.reader.signals import COLUMNS, AnswerSignals
from fathom.models.reading import Reading
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Alternative, Chunk, Draft, Evidence, Hit, Span

OTHER = "The crane stands on the east quay."
GULDEN = "A mooring permit costs 50 gulden a year."


def both(question: str, chunk: Chunk) -> Reading:
    """Two documents answer, each in its own way."""
    if "50 gulden" in chunk.text:
        return reading(chunk, "50 gulden", 0.7)
    return read_fees(question, chunk)


def draft_of(hit: Hit, short: str = "40 crowns", confidence: float = 0.9) -> Draft:
    quote = Span(0, hit.chunk.text.index(".") + 1)
    evidence = Evidence(hit=hit, span=quote, support=0.8)
    return Draft(evidence=(evidence,), short_answer=short, confidence=confidence)


def signals(
    draft: Draft, *hits: Hit, question: str = QUESTION, searches: int = 1
) -> dict[str, float]:
    made = AnswerSignals(pairs=ScriptedCrossReader(both))
    return made(question, draft, hits, searches=searches)


def test_there_is_a_number_for_every_column_and_no_other() -> None:
    assert set(signals(draft_of(hit_of()), hit_of())) == set(COLUMNS)
    assert set(signals(Draft())) == set(COLUMNS)


def test_every_column_says_what_it_means() -> None:
    assert all(len(column) > 10 for column in COLUMNS.values())


def test_without_evidence_only_the_question_is_known() -> None:
    found = signals(Draft(), question="Berapa biaya izin tambat kapal di pelabuhan?")
    assert found["indonesian"] == 1.0
    assert found["words"] > 0
    assert found["sure"] == found["support"] == found["held"] == 0.0


def test_how_sure_the_draft_is_stands_there_as_a_logit() -> None:
    assert signals(draft_of(hit_of(), confidence=0.5), hit_of())["sure"] == 0.0
    assert signals(draft_of(hit_of(), confidence=1.0), hit_of())["sure"] == 10.0


def test_hits_that_say_otherwise_are_seen() -> None:
    alone = signals(draft_of(hit_of()), hit_of())
    beside = signals(draft_of(hit_of()), hit_of(), hit_of(GULDEN, document="d2", rank=2))
    agreed = signals(draft_of(hit_of()), hit_of(), hit_of(FEES, document="d2", rank=2))
    assert beside["disagreeing"] > alone["disagreeing"] == -10.0
    assert (agreed["agreeing"], beside["agreeing"]) == (1.0, 0.0)
    assert agreed["others"] > alone["others"]


def test_the_place_of_the_cited_chunk_counts() -> None:
    first = signals(draft_of(hit_of()), hit_of(), hit_of(OTHER, document="d2", rank=2))
    cited = hit_of(rank=2)
    second = signals(draft_of(cited), hit_of(OTHER, document="d2"), cited)
    assert first["place"] == 0.0 < second["place"]
    assert (first["lexical"], first["margin"]) == (1.0, 0.5)


def test_names_and_times_that_the_evidence_lacks_are_seen() -> None:
    asked = QUESTION.replace("?", " in 1999?")
    dated = hit_of("In 1999 a mooring permit costs 40 crowns a year.")
    held, lacking = (signals(draft_of(hit), hit, question=asked) for hit in (dated, hit_of()))
    assert lacking["anchors"] < held["anchors"]


def test_another_reading_counts_unless_it_is_refuted() -> None:
    draft = draft_of(hit_of())

    def with_other(*, refuted: bool) -> Draft:
        other = Alternative(text="50 gulden", evidence=(0,), refuted=refuted)
        return Draft(
            evidence=draft.evidence,
            short_answer=draft.short_answer,
            alternatives=(other,),
            confidence=draft.confidence,
        )

    assert signals(with_other(refuted=False), hit_of())["conflict"] == 1.0
    assert signals(with_other(refuted=True), hit_of())["conflict"] == 0.0


def test_searches_and_the_form_of_the_question_count() -> None:
    many = signals(draft_of(hit_of()), hit_of(), searches=14)
    assert many["searches"] > signals(draft_of(hit_of()), hit_of())["searches"]
    asked = "Is the mooring permit paid at the harbour office?"
    assert signals(draft_of(hit_of()), hit_of(), question=asked)["yes_no"] == 1.0


@pytest.mark.parametrize("hits", [(), (hit_of(),)])
def test_the_cited_hits_stand_in_where_no_hits_are_given(hits: tuple[Hit, ...]) -> None:
    assert signals(draft_of(hit_of()), *hits)["documents"] == 1.0


def test_equal_drafts_have_equal_signals() -> None:
    assert signals(draft_of(hit_of()), hit_of()) == signals(draft_of(hit_of()), hit_of())
