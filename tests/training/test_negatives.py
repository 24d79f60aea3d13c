from dataclasses import replace

import pytest
from tests.training.rivers import PLACES, ROWS, make_row
from training.cross_reader.negatives import swap_questions


def test_a_swapped_name_is_from_another_question() -> None:
    # "City" has an opposite as well; those rows are not looked at here.
    changed = [row for row in swap_questions(ROWS) if "the city of" in row.question]

    assert len(changed) == len(ROWS)
    for row, twisted in zip(ROWS, changed, strict=True):
        (old,) = [place for place in PLACES if place in row.question]
        (new,) = [place for place in PLACES if place in twisted.question]
        assert old != new
        assert twisted.text == row.text
        assert (twisted.answerable, twisted.relevant, twisted.spans) == (False, None, ())
        assert twisted.group == "swapped"


def test_a_swapped_number_keeps_its_shape() -> None:
    (row,) = swap_questions([make_row("Oslo", "x", "Which river ran in 1,904 here?")])

    assert row.question != "Which river ran in 1,904 here?"
    number = row.question.split()[4]
    assert len(number) == 5
    assert number[1] == ","


@pytest.mark.parametrize(
    ("question", "twisted"),
    [
        ("who came first here?", "who came last here?"),
        ("siapa yang tertua di sini?", "siapa yang termuda di sini?"),
        ("how many miles, roughly?", "how many kilometers, roughly?"),
    ],
)
def test_a_word_is_turned_into_its_opposite(question: str, twisted: str) -> None:
    assert twisted in [row.question for row in swap_questions([make_row("Oslo", "x", question)])]


def test_some_questions_are_negated() -> None:
    rows = [
        make_row("Oslo", "x", f"what is thing {word}?") for word in "abcdefghijklmnopqrstuvwxyz"
    ]

    questions = [row.question for row in swap_questions(rows)]

    assert 0 < len(questions) < len(rows) / 2
    assert all(question.startswith("what is not thing ") for question in questions)


def test_indonesian_questions_have_their_group() -> None:
    row = replace(make_row("Oslo", "x", "kota terbesar?"), group="indonesian")

    assert [twisted.group for twisted in swap_questions([row])] == ["swapped-id"]


def test_no_question_is_twisted_more_than_three_times() -> None:
    rows = [make_row(place, "x", f"who was first in 1900 of {place}?") for place in PLACES]

    texts = [row.text for row in swap_questions(rows)]

    assert {texts.count(row.text) for row in rows} == {3}


def test_rows_without_answer_and_of_other_groups_are_left_alone() -> None:
    row = make_row("Oslo", "x", "who was first?")

    assert (
        list(swap_questions([replace(row, answerable=False), replace(row, group="ranked")])) == []
    )


def test_a_name_of_the_text_is_inserted_but_never_the_answer() -> None:
    text = "On that day Anna Berg met Carl Dahl and they praised Eva Falk for it."
    start = text.index("Carl Dahl")
    row = replace(
        make_row("Oslo", "x", "Whom did the brave Anna Berg meet?"),
        text=text,
        spans=((start, start + 9),),
    )

    questions = {twisted.question for twisted in swap_questions([row])}

    assert "Whom did the brave Eva Falk meet?" in questions
    assert not any("Carl Dahl" in question for question in questions)
