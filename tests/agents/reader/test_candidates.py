import pytest
from tests.factories import hit_of, hit_with

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.candidates import group_candidates, select_supporting
from fathom.documents.base import Builder
from fathom.question.question import Question
from fathom.testing.doubles import reading
from fathom.types import Hit


def make_read_hit(hit: Hit, answer: str, score: float, trust: float = 1.0) -> ReadHit:
    return ReadHit(hit=hit, reading=reading(hit.chunk, answer, score), trust=trust)


def test_equal_answers_of_several_hits_count_together() -> None:
    candidates = group_candidates([
        make_read_hit(hit_of("It costs 55.", document="a"), "55", 0.6),
        make_read_hit(hit_of("The fee is 40 Crowns.", document="b"), "40 Crowns", 0.4),
        make_read_hit(hit_of("So 40 crowns, then.", document="c"), "40 crowns", 0.5),
    ])  # fmt: skip
    assert [candidate.text for candidate in candidates] == ["40 crowns", "55"]
    assert candidates[0].score == pytest.approx(1 - 0.6 * 0.5)
    assert [place.evidence.hit.chunk.document_id for place in candidates[0].places] == ["c", "b"]
    assert candidates[0].places[0].evidence.quote == "So 40 crowns, then."


def test_a_score_counts_as_far_as_its_hit_is_trusted() -> None:
    (candidate,) = group_candidates([make_read_hit(hit_of(), "40 crowns", 0.5, trust=0.8)])
    assert candidate.score == 0.4
    assert candidate.places[0].evidence.support == 0.5


def test_a_document_counts_once_and_so_does_a_copied_sentence() -> None:
    sentence = "The fee of a mooring permit is 40 crowns."
    (candidate,) = group_candidates([
        make_read_hit(hit_of(sentence, document="a"), "40 crowns", 0.5),
        make_read_hit(hit_of("Pay 40 crowns.", document="a", start=99), "40 crowns", 0.4),
        make_read_hit(hit_of(f"As is known, {sentence}", document="b"), "40 crowns", 0.4),
    ])  # fmt: skip
    assert candidate.score == 0.5
    assert len(candidate.places) == 3


def test_text_shared_by_overlapping_chunks_counts_once() -> None:
    first, other = hit_of("It costs 40."), hit_of("40. A year.", start=9, rank=2)
    (candidate,) = group_candidates(
        [make_read_hit(first, "40", 0.5), make_read_hit(other, "40", 0.5)]
    )
    assert candidate.score == 0.5


def test_empty_text_and_punctuation_are_no_answers() -> None:
    assert group_candidates([]) == []
    assert group_candidates([make_read_hit(hit_of("- ! -"), "!", 0.9)]) == []


def test_ties_keep_the_order_of_the_hits() -> None:
    hits = [hit_of(f"No {word}.", document=word) for word in "cab"]
    candidates = group_candidates([make_read_hit(hit, hit.chunk.document_id, 0.5) for hit in hits])
    assert [candidate.text for candidate in candidates] == ["c", "a", "b"]


def test_a_heading_is_no_part_of_the_answer_below_it() -> None:
    builder = Builder()
    builder.add_heading("Pasal 11", 1)
    builder.add_paragraph("It costs 40 crowns. It is paid here.")
    hit = hit_with(builder)
    (candidate,) = group_candidates([make_read_hit(hit, "Pasal 11\n\nIt costs 40", 0.5)])
    assert (candidate.text, candidate.places[0].evidence.quote) == (
        "It costs 40",
        "It costs 40 crowns.",
    )
    assert group_candidates([make_read_hit(hit, "Pasal 11", 0.9)]) == []


def quote_supporting(*answers: str, score: float = 0.9) -> list[str]:
    """Return the quotes of sentences that give these answers with falling support."""
    hits = [hit_of(f"It is {text}.", document=f"d{at}") for at, text in enumerate(answers)]
    looks = [
        make_read_hit(hit, answer, 0.9 - at / 100)
        for at, (hit, answer) in enumerate(zip(hits, answers, strict=True))
    ]
    selected = select_supporting(
        Question("What is it?"), group_candidates(looks), 0.7, lambda pairs: [score] * len(pairs)
    )
    return [text.evidence.quote for text in selected]


def test_a_second_sentence_supports_the_first_or_is_left_out() -> None:
    assert quote_supporting("a tree", "an oak", score=0.1) == ["It is a tree."]
    assert quote_supporting("a tree", "an oak", score=0.9) == ["It is a tree.", "It is an oak."]


def test_the_same_answer_is_support_and_another_value_is_none() -> None:
    assert quote_supporting("a tree", "a Tree", score=0.0) == ["It is a tree.", "It is a Tree."]
    assert quote_supporting("40 crowns", "35 crowns", score=1.0) == ["It is 40 crowns."]
