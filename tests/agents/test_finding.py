import pytest
from tests.making import hit_of
from tests.scripted_pairs import reading

from fathom.agents.finding import around, candidates_of
from fathom.agents.looking import Look
from fathom.types import Hit, Span


def looked(hit: Hit, answer: str, score: float, trust: float = 1.0) -> Look:
    return Look(hit=hit, reading=reading(hit.chunk, answer, score), trust=trust)


def test_equal_answers_of_several_hits_count_together() -> None:
    found = candidates_of([
        looked(hit_of("It costs 55.", document="a"), "55", 0.6),
        looked(hit_of("The fee is 40 Crowns.", document="b"), "40 Crowns", 0.4),
        looked(hit_of("So 40 crowns, then.", document="c"), "40 crowns", 0.5),
    ])  # fmt: skip
    assert [each.text for each in found] == ["40 crowns", "55"]
    assert found[0].score == pytest.approx(1 - 0.6 * 0.5)
    assert [place.evidence.hit.chunk.document_id for place in found[0].places] == ["c", "b"]
    assert found[0].places[0].evidence.quote == "So 40 crowns, then."


def test_a_score_counts_as_far_as_its_hit_is_trusted() -> None:
    (found,) = candidates_of([looked(hit_of(), "40 crowns", 0.5, trust=0.8)])
    assert found.score == 0.4
    assert found.places[0].evidence.support == 0.5


def test_what_overlapping_chunks_share_counts_once() -> None:
    one, other = hit_of("It costs 40."), hit_of("40. A year.", start=9, rank=2)
    (found,) = candidates_of([looked(one, "40", 0.5), looked(other, "40", 0.5)])
    assert found.score == 0.5


def test_nothing_and_punctuation_are_no_answers() -> None:
    assert candidates_of([]) == []
    assert candidates_of([looked(hit_of("- ! -"), "!", 0.9)]) == []


def test_ties_keep_the_order_of_the_hits() -> None:
    hits = [hit_of(f"No {word}.", document=word) for word in "cab"]
    found = candidates_of([looked(hit, hit.chunk.document_id, 0.5) for hit in hits])
    assert [each.text for each in found] == ["c", "a", "b"]


def test_the_sentences_around_a_span() -> None:
    text = "One is. Two are. Three were."
    assert around(text, Span(8, 11)).cut(text) == "Two are."
    assert around(text, Span(4, 11)).cut(text) == "One is. Two are."
    assert around("  ", Span(0, 1)) == Span(0, 1)
