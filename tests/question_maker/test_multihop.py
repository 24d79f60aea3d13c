"""Multi-hop questions made of two facts of two documents."""

import pytest

from fathom.question_maker.facts import Fact
from fathom.question_maker.multihop import build_hops, describe_answer
from fathom.text.language import Language
from fathom.types import Chunk, Span


def make_fact(
    question: str,
    answer: str,
    document: str,
    *,
    subject: str = "",
    text: str = "",
    language: Language = "en",
) -> Fact:
    chunk = Chunk(
        id=f"{document}#0", document_id=document, text=text or answer, span=Span(0, 1), ordinal=0
    )
    return Fact(
        question=question,
        answer=answer,
        chunk=chunk,
        span=Span(0, len(answer)),
        rule="when",
        language=language,
        subject=subject,
    )


CAPITAL = make_fact("What is the capital of the Veldt district?", "Hallet", "a")
FOUNDED = make_fact("When was Hallet founded?", "1304", "b", subject="Hallet")


def test_a_name_that_another_question_answers_is_described() -> None:
    (hop,) = build_hops([CAPITAL, FOUNDED])
    assert hop.question == "When was the capital of the Veldt district founded?"
    assert (hop.answer, hop.rule) == ("1304", "chain")
    assert hop.facts == (CAPITAL, FOUNDED)


def test_facts_of_one_document_form_no_chain() -> None:
    same = make_fact("When was Hallet founded?", "1304", "a", subject="Hallet")
    leaking = make_fact(CAPITAL.question, "Hallet", "a", text="Hallet was founded in 1304.")
    assert not list(build_hops([CAPITAL, same]))
    assert not list(build_hops([leaking, FOUNDED]))


def test_a_name_inside_another_name_is_left_alone() -> None:
    assert not list(
        build_hops([CAPITAL, make_fact("When was the Hallet foundry opened?", "1850", "b")])
    )


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        (
            "Who designed the Mill Bridge?",
            "Clara Benning",
            "the person who designed the Mill Bridge",
        ),
        ("Who designed the Mill Bridge?", "BBC", ""),
        ("Where was Clara Benning born?", "Hallet", "the place where Clara Benning was born"),
        ("Apa ibu kota Provinsi Jawa Timur?", "Surabaya", "ibu kota Provinsi Jawa Timur"),
        ("When was Hallet founded?", "1304", ""),
    ],
)
def test_an_answer_is_described_by_its_question(question: str, answer: str, words: str) -> None:
    assert describe_answer(make_fact(question, answer, "a")) == words


@pytest.mark.parametrize(
    ("template", "first", "second", "expected", "right", "language"),
    [
        ("When was {} opened?", "1891", "8 May 1904", "Which was opened first, {}?", 0, "en"),
        (
            "How much does {} cost per day?",
            "5 crowns",
            "12 crowns",
            "Which costs more per day, {}?",
            1,
            "en",
        ),
        ("How many trees does {} have?", "6,840", "510", "Which has more trees, {}?", 0, "en"),
        ("How long is {}?", "118 metres", "64 metres", "Which is longer, {}?", 0, "en"),
        ("Kapan {} didirikan?", "1931", "1920", "Mana yang lebih dulu didirikan, {}?", 1, "id"),
    ],
)
def test_two_amounts_are_compared(
    template: str, first: str, second: str, expected: str, right: int, language: Language
) -> None:
    sides = ("the Mill Bridge", "Hallet Hall")
    pair = [
        make_fact(template.format(side), amount, side[-1], subject=side, language=language)
        for side, amount in zip(sides, (first, second), strict=True)
    ]
    (hop,) = build_hops(pair)
    joint = " atau " if language == "id" else " or "
    assert hop.question == expected.format(joint.join(sides))
    assert hop.answer == ("Mill Bridge", "Hallet Hall")[right]


def test_things_without_a_name_are_not_compared() -> None:
    pair = [
        make_fact(f"When was {side} opened?", year, side, subject=side)
        for side, year in (("the club", "1891"), ("the tunnel", "1904"))
    ]
    assert not list(build_hops(pair))
