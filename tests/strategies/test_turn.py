from tests.making import hit_of

from fathom.strategies.mao import Turn, gather_hits
from fathom.types import Draft, Hit


def hits(*documents: str) -> tuple[Hit, ...]:
    return tuple(hit_of(document=name, rank=rank) for rank, name in enumerate(documents, start=1))


def test_what_was_kept_comes_before_what_was_only_seen() -> None:
    turn = Turn(number=1, question="?", look=hits("a", "b", "c"), hits=hits("c", "a"))
    assert [hit.chunk.document_id for hit in turn.all_hits] == ["c", "a", "b"]


def test_the_best_of_each_turn_come_first_and_what_several_found_before_them() -> None:
    turns = (
        Turn(number=0, question="?", look=hits("x", "a", "b")),
        Turn(number=1, question="?", look=hits("a", "c")),
        Turn(number=2, question="?", look=hits("d", "e")),
    )
    found = gather_hits(turns)
    assert [hit.chunk.document_id for hit in found] == ["a", "d", "x", "e", "c", "b"]
    assert [hit.rank for hit in found] == [1, 2, 3, 4, 5, 6]
    assert gather_hits(turns) == found


def test_a_turn_answers_with_its_draft_or_a_title() -> None:
    turn = Turn(number=1, question="Who?", hits=hits("a"))
    assert turn.answer == "Fees"
    assert Turn(number=1, question="Who?", draft=Draft(short_answer="Bo")).answer == "Bo"
    assert turn.next is None
    assert turn.name == "turn 1"
