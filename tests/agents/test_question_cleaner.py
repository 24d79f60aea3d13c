import asyncio
from collections.abc import Sequence

import pytest

from fathom.agents.question_cleaner import QuestionCleaner, add_question_mark, adds_no_words
from fathom.question.question import Question
from fathom.question.spelling import Speller
from fathom.testing.doubles import run_context


def clean(question: str, vocabulary: Sequence[str] = ("harbour", "office")) -> str:
    speller = Speller(
        lambda words: [int(word.lower() in vocabulary) for word in words],
        lambda word: 1 if word.lower() in vocabulary else 2,
        lambda _: True,
    )
    with run_context() as context:
        return asyncio.run(QuestionCleaner(speller).clean(Question(question), context)).text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Where is the harbour office?", "Where is the harbour office?"),
        ("where is the harbour office", "Where is the harbour office?"),
        ("Hi! Can you tell me, where is the harbuor office", "Where is the harbour office?"),
        ("Tolong beri tahu, di mana kantor itu", "Di mana kantor itu?"),
        ("harbour office", "Harbour office"),
        ("List the ferries.", "List the ferries."),
    ],
)
def test_a_question_is_corrected_as_meant(typed: str, meant: str) -> None:
    assert clean(typed) == meant


def test_a_query_that_asks_ends_as_a_question() -> None:
    assert add_question_mark("When does it open.") == "When does it open?"
    assert add_question_mark("Is it open") == "Is it open?"
    assert add_question_mark("Opening hours.") == "Opening hours."


def test_corrections_without_new_words_are_not_reported() -> None:
    assert adds_no_words("Hi, who wrote Dune", "Who wrote Dune?")
    assert not adds_no_words("Who wrote Dnue", "Who wrote Dune")
