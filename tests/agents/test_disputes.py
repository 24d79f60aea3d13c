"""Readings that nothing decides between stand side by side."""

from dataclasses import replace

import pytest
from tests.answers import make_answer, make_citation

from fathom.agents.disputes import state_dispute
from fathom.question.question import Question
from fathom.types import Answer, Conflict

ENGLISH = Question("How long may a book be lent?")
INDONESIAN = Question("Berapa lama buku boleh dipinjam?")
CITATIONS = tuple(make_citation(n=number, document=f"d{number}") for number in (1, 2, 3))
TORN = replace(
    make_answer(),
    citations=CITATIONS,
    conflicts=(
        Conflict(answer="14 days", citations=(2,)),
        Conflict(answer="9 days", citations=(3,)),
    ),
)


def list_sides(answer: Answer) -> list[tuple[str, tuple[int, ...]]]:
    """Return the readings of an answer with their citations."""
    return [(conflict.answer, conflict.citations) for conflict in answer.conflicts]


def test_all_readings_are_named_in_the_order_of_the_alphabet() -> None:
    stated = state_dispute(ENGLISH, TORN)
    assert stated.short_answer == "14 days, 28 days or 9 days"
    assert list_sides(stated) == [("14 days", (2,)), ("28 days", (1,)), ("9 days", (3,))]
    assert (stated.tentative, stated.disputed, stated.answer) == (True, True, TORN.answer)


def test_the_order_does_not_tell_which_reading_came_first() -> None:
    turned = replace(
        TORN,
        short_answer="9 days",
        conflicts=(
            Conflict(answer="28 days", citations=(1,)),
            Conflict(answer="14 days", citations=(2,)),
        ),
    )
    assert state_dispute(ENGLISH, turned) == state_dispute(ENGLISH, TORN)


def test_the_words_are_of_the_language_of_the_question() -> None:
    torn = replace(
        TORN, short_answer="28 hari", conflicts=(Conflict(answer="14 hari", citations=(2,)),)
    )
    assert state_dispute(INDONESIAN, torn).short_answer == "14 hari atau 28 hari"


def test_a_reading_that_a_debate_refuted_is_named_too_and_stays_marked() -> None:
    refuted = Conflict(answer="14 days", citations=(2,), refuted=True)
    stated = state_dispute(ENGLISH, replace(TORN, conflicts=(refuted,)))
    assert stated.short_answer == "14 days or 28 days"
    assert [conflict.refuted for conflict in stated.conflicts] == [True, False]


def test_two_readings_of_one_document_are_no_dispute() -> None:
    alone = tuple(replace(citation, document="d1") for citation in CITATIONS)
    assert state_dispute(ENGLISH, replace(TORN, citations=alone)).disputed is False
    two = (*alone[:2], CITATIONS[2])
    assert state_dispute(ENGLISH, replace(TORN, citations=two)).disputed is True


@pytest.mark.parametrize(
    "changes",
    [
        {"conflicts": ()},
        {"short_answer": ""},
        {"conflicts": (Conflict(answer="28 days", citations=(2,)),)},
    ],
)
def test_an_answer_without_a_second_reading_stays_as_it_is(changes: dict[str, object]) -> None:
    answer = replace(TORN, **changes)  # type: ignore[arg-type]
    assert state_dispute(ENGLISH, answer) == answer
