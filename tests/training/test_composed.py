from collections.abc import Sequence
from dataclasses import replace

import pytest
from training.cross_reader.composed import compose_rows, describe_answer
from training.cross_reader.rows import Row


def make_row(question: str, answer: str, title: str, text: str) -> Row:
    start = text.index(answer)
    return Row(
        source="squad-dev",
        group="squad",
        question=question,
        title=title,
        text=text,
        spans=((start, start + len(answer)),),
        answerable=True,
        relevant=True,
        yesno=2,
    )


FIRST = make_row(
    "Who designed the Old Bridge?",
    "Ada Stone",
    "Old Bridge",
    "The Old Bridge is of granite. It was designed by Ada Stone.",
)
SECOND = make_row(
    "Where was Ada Stone born?",
    "Velden",
    "Ada Stone",
    "The engineer Ada Stone was born in Velden.",
)
QUESTION = "Where was the person who designed the Old Bridge born?"
FILLERS = [
    make_row("What is grey?", "Granite", "Old Bridge", "Granite is grey and hard."),
    make_row("When is it open?", "noon", "Ada Stone", "The museum is open from noon."),
]


def compose_chains(rows: Sequence[Row], seeds: int = 40) -> list[Row]:
    return [row for seed in range(seeds) for row in compose_rows(rows, seed)]


@pytest.mark.parametrize(
    ("question", "description"),
    [
        ("What is the capital of France?", "the capital of France"),
        ("Who wrote Emma?", "the person who wrote Emma"),
        ("Which town hosted the games?", "the town that hosted the games"),
        ("In what city was Ada born?", "the city in which Ada was born"),
        ("Where was the treaty signed?", "the place where the treaty was signed"),
        ("By whom was Emma written by?", "the one by whom Emma was written"),
        ("What is the name of the king's dog?", "the name of the king's dog"),
        ("What kind is it?", ""),
        ("Who are you?", ""),
        ("How many were there?", ""),
    ],
)
def test_a_question_describes_its_answer(question: str, description: str) -> None:
    assert describe_answer(question) == description


def test_a_name_is_replaced_by_what_the_other_question_says_of_it() -> None:
    (row,) = compose_rows([FIRST, SECOND])

    assert row.question == QUESTION
    assert row.answerable
    assert [row.text[a:b] for a, b in row.spans] == ["Velden"]
    assert (row.group, row.relevant, row.yesno) == ("composed", None, 2)


def test_both_texts_are_included_and_the_answer_rests_on_them() -> None:
    for row in compose_chains([FIRST, SECOND]):
        pieces = [row.text[a:b] for a, b in row.parts]
        first = pieces.index(FIRST.text) if FIRST.text in pieces else 1
        assert pieces[first].endswith(FIRST.text)
        assert pieces[1 - first].endswith(SECOND.text)
        # The first text's title is the row's, the second's stands before it.
        assert row.title == (FIRST if first == 0 else SECOND).title
        assert " : " in pieces[1]
        assert row.rests == row.parts
        assert row.text == "\n".join(pieces)
    assert {row.title for row in compose_chains([FIRST, SECOND])} == {FIRST.title, SECOND.title}


def test_broken_chains_lack_a_text_and_have_no_answer() -> None:
    rows = [row for row in compose_chains([FIRST, SECOND, *FILLERS]) if row.question == QUESTION]
    broken = [row for row in rows if not row.answerable]

    assert 0.15 < len(broken) / len(rows) < 0.45
    for row in broken:
        assert (FIRST.text in row.text) != (SECOND.text in row.text)
        assert (row.spans, row.rests, row.yesno) == ((), (), None)
        assert len(row.parts) == 2


def test_a_wrong_text_beside_a_complete_chain_is_no_evidence() -> None:
    rows = [row for row in compose_chains([FIRST, SECOND, *FILLERS]) if row.question == QUESTION]
    beside = [row for row in rows if len(row.parts) == 3]

    assert beside
    for row in beside:
        (wrong,) = set(row.parts) - set(row.rests)
        assert any(row.text[slice(*wrong)].endswith(filler.text) for filler in FILLERS)
        assert [row.text[a:b] for a, b in row.spans] == ["Velden"]


def test_a_first_text_that_suffices_alone_makes_no_chain() -> None:
    telling = replace(FIRST, text=f"{FIRST.text} She was of Velden.")

    assert list(compose_rows([telling, SECOND])) == []


def test_part_of_a_longer_name_is_not_replaced() -> None:
    longer = replace(SECOND, question="Where was Ada Stone Miller born?")

    assert list(compose_rows([FIRST, longer])) == []


def test_unanswerable_and_other_groups_are_not_composed() -> None:
    assert list(compose_rows([replace(FIRST, answerable=False), SECOND])) == []
    assert list(compose_rows([replace(FIRST, group="informal"), SECOND])) == []


def test_two_dates_are_compared() -> None:
    dated = [
        make_row(f"When was {name} founded?", year, name, f"{name} was founded in {year} by few.")
        for name, year in (("Arland", "1804"), ("Borland", "1790"))
    ]
    composed = [
        row for row in compose_chains(dated) if row.question.startswith("Which was founded")
    ]

    assert {row.question for row in composed} == {
        f"Which was founded {when}, {names}?"
        for when in ("first", "last")
        for names in ("Arland or Borland", "Borland or Arland")
    }
    for row in composed:
        right = "Borland" if " first," in row.question else "Arland"
        assert [row.text[a:b] for a, b in row.spans] == [right]
        assert row.rests == row.parts


def test_equal_years_are_not_compared() -> None:
    dated = [
        make_row(f"When was {name} founded?", "1804", name, f"{name} was founded in 1804 by few.")
        for name in ("Arland", "Borland")
    ]

    assert list(compose_rows(dated)) == []


def test_names_of_one_length_come_in_the_order_of_their_letters() -> None:
    # A set has another order in every process.
    third = replace(SECOND, question="Where did Ada Stone meet Bob Stone and Ned Stone?")
    others = [
        replace(FIRST, question=f"Who designed the {place}?", text=f"{place} is by {name} now.")
        for place, name in (("New Bridge", "Bob Stone"), ("Far Bridge", "Ned Stone"))
    ]
    spans = [
        ((other.text.index(name), other.text.index(" now")),)
        for other, name in zip(others, ("Bob Stone", "Ned Stone"), strict=True)
    ]
    rows = [
        FIRST,
        *(replace(other, spans=spans) for other, spans in zip(others, spans, strict=True)),
    ]

    questions = [row.question for row in compose_rows([*rows, third])]

    assert ["the person who designed the" in question for question in questions] == [True] * 3
    places = ["Old Bridge", "New Bridge", "Far Bridge"]
    assert [place for question in questions for place in places if place in question] == places
