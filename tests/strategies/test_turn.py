from tests.factories import hit_of

from fathom.question.question import Question
from fathom.strategies.mao import Turn, gather_hits
from fathom.types import Draft, Hit


def make_hits(*documents: str) -> tuple[Hit, ...]:
    return tuple(hit_of(document=name, rank=rank) for rank, name in enumerate(documents, start=1))


def test_kept_hits_precede_hits_that_were_only_seen() -> None:
    turn = Turn(
        number=1, question=Question("?"), look=make_hits("a", "b", "c"), hits=make_hits("c", "a")
    )
    assert [hit.chunk.document_id for hit in turn.all_hits] == ["c", "a", "b"]


def test_the_best_hits_of_each_turn_lead_and_shared_hits_precede_them() -> None:
    turns = (
        Turn(number=0, question=Question("?"), look=make_hits("x", "a", "b")),
        Turn(number=1, question=Question("?"), look=make_hits("a", "c")),
        Turn(number=2, question=Question("?"), look=make_hits("d", "e")),
    )
    gathered = gather_hits(turns)
    assert [hit.chunk.document_id for hit in gathered] == ["a", "d", "x", "e", "c", "b"]
    assert [hit.rank for hit in gathered] == [1, 2, 3, 4, 5, 6]
    assert gather_hits(turns) == gathered


def test_a_turn_answers_with_its_draft_or_a_title() -> None:
    turn = Turn(number=1, question=Question("Who?"), hits=make_hits("a"))
    assert turn.answer == "Fees"
    assert Turn(number=1, question=Question("Who?"), draft=Draft(short_answer="Bo")).answer == "Bo"
    assert turn.next is None
    assert turn.name == "turn 1"
