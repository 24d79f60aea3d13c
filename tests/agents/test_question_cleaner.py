import asyncio
from collections.abc import Sequence

import pytest

from fathom.agents.question_cleaner import QuestionCleaner, add_question_mark, adds_no_words
from fathom.question.spelling import Speller
from fathom.testing.doubles import run_context


def cleaned(question: str, known: Sequence[str] = ("harbour", "office")) -> str:
    speller = Speller(
        lambda words: [int(word.lower() in known) for word in words],
        lambda word: 1 if word.lower() in known else 2,
        lambda _: True,
    )
    with run_context() as context:
        return asyncio.run(QuestionCleaner(speller).clean(question, context))


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
def test_a_question_is_read_as_it_was_meant(typed: str, meant: str) -> None:
    assert cleaned(typed) == meant


def test_what_asks_ends_as_a_question() -> None:
    assert add_question_mark("When does it open.") == "When does it open?"
    assert add_question_mark("Is it open") == "Is it open?"
    assert add_question_mark("Opening hours.") == "Opening hours."


def test_no_new_word_says_the_same() -> None:
    assert adds_no_words("Hi, who wrote Dune", "Who wrote Dune?")
    assert not adds_no_words("Who wrote Dnue", "Who wrote Dune")
