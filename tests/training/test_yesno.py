from dataclasses import replace

import pytest
from training.cross_reader.rows import YESNO, Row
from training.cross_reader.yesno import make_question, make_question_id, make_stated, make_yesno


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("The man is sleeping.", "Is the man sleeping?"),
        ("Ada Stone was born in Velden.", "Was Ada Stone born in Velden?"),
        ("I am here.", ""),
        ("They can swim.", "Can they swim?"),
        ("They have been to Rome.", ""),
        ("It has been sold.", "Has it been sold?"),
        ("It has rooms.", ""),
        ("What he said is true.", ""),
        ("The man who is old is asleep.", ""),
        ("The man runs.", ""),
        ("Yes, it is so.", ""),
        ("", ""),
    ],
)
def test_a_statement_becomes_a_question_where_that_is_safe(statement: str, question: str) -> None:
    assert make_question(statement) == question


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("Kota itu ramai.", "Apakah kota itu ramai?"),
        ("PBB ada di sana.", "Apakah PBB ada di sana?"),
        ("Dia pergi", "Apakah Dia pergi?"),
        ("A380 terbang.", "Apakah A380 terbang?"),
        ("", ""),
    ],
)
def test_apakah_asks_in_indonesian(statement: str, question: str) -> None:
    assert make_question_id(statement) == question


def make_claim(group: str, support: tuple[int, ...], statement: str = "The town is old.") -> Row:
    return Row(
        source="s", group=group, question=statement, title="T", text="Text.", support=support
    )


@pytest.mark.parametrize(
    ("support", "verdict", "relevant"),
    [((0,), "yes", True), ((1,), "no", True), ((2,), "none", None)],
)
def test_the_verdict_is_the_answer(
    support: tuple[int, ...], verdict: str, *, relevant: bool | None
) -> None:
    (row,) = make_yesno([make_claim("nli", support)])

    assert row.question == "Is the town old?"
    assert row.yesno is not None
    assert (YESNO[row.yesno], row.relevant, row.support) == (verdict, relevant, ())
    assert row.group == "yesno-made"


def test_indonesian_rows_have_their_group() -> None:
    (row,) = make_yesno([make_claim("indonesian-nli", (0,), "Kota itu tua.")])

    assert (row.group, row.question) == ("yesno-id", "Apakah kota itu tua?")


def test_undecided_or_irreversible_statements_are_not_asked() -> None:
    rows = [
        make_claim("nli", (1, 2)),
        make_claim("nli", ()),
        make_claim("squad", (0,)),
        make_claim("nli", (0,), "It rains."),
    ]

    assert list(make_yesno(rows)) == []


@pytest.mark.parametrize(("answer", "support"), [("yes", (0,)), ("no", (1,))])
def test_a_written_question_gives_its_statement_and_its_negation(
    answer: str, support: tuple[int, ...]
) -> None:
    row = Row(
        source="written-offices-en",
        group="written",
        question="Can the fee be paid in cash?",
        title="Fees",
        text="Cash is taken at the desk.",
        relevant=True,
        yesno=YESNO.index(answer),
    )

    rows_by_question = {row.question: row for row in make_stated([row])}

    assert rows_by_question["The fee can be paid in cash."].support == support
    assert rows_by_question["The fee can not be paid in cash."].support == (1 - support[0],)
    assert {row.yesno for row in rows_by_question.values()} == {None}


def test_other_written_questions_give_no_statement() -> None:
    rows = [
        make_claim("yesno", (0,), "Is it old?"),
        replace(make_claim("written", ()), question="Where is it?", yesno=0),
        replace(make_claim("written", ()), question="Is it so?", yesno=2),
    ]

    assert list(make_stated(rows)) == []
