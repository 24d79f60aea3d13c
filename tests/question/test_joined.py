"""Questions in several parts."""

import pytest

from fathom.question.joined import split_questions


@pytest.mark.parametrize(
    ("question", "questions"),
    [
        (
            "Who wrote Dune and when was it published?",
            ("Who wrote Dune?", "When was Dune published?"),
        ),
        (
            "In which year was the Merrow bridge built, and where does it stand?",
            ("In which year was the Merrow bridge built?", "Where does the Merrow bridge stand?"),
        ),
        (
            "What is the fee for a permit and who pays it?",
            ("What is the fee for a permit?", "Who pays the fee for a permit?"),
        ),
        (
            "When was Marie Curie born and where did she die?",
            ("When was Marie Curie born?", "Where did Marie Curie die?"),
        ),
        (
            "Is the mill open and how long may I stay?",
            ("Is the mill open?", "How long may I stay?"),
        ),
        (
            "Which port does the server use and is it configurable?",
            ("Which port does the server use?", "Is the server configurable?"),
        ),
        (
            "Siapa pendiri Budi Utomo dan kapan dia lahir?",
            ("Siapa pendiri Budi Utomo?", "Kapan Budi Utomo lahir?"),
        ),
        ("Who wrote Dune?", ("Who wrote Dune?",)),
        (
            "How do I install and configure the server?",
            ("How do I install and configure the server?",),
        ),
        ("What may dogs and cats do?", ("What may dogs and cats do?",)),
    ],
)
def test_questions_joined_by_and_are_asked_separately(
    question: str, questions: tuple[str, ...]
) -> None:
    assert split_questions(question, 4) == questions


def test_at_most_so_many_questions_are_asked() -> None:
    question = "Who wrote Dune, and when was it published, and where was it filmed?"
    assert split_questions(question, 2) == ("Who wrote Dune?", "When was Dune published?")
