import pytest

from fathom.agents.comparison import comparison, joined

COMPARED = (
    (
        "Who was born first, Ana Silva or Nora Berg?",
        "least",
        ("When was Ana Silva born?", "When was Nora Berg born?"),
    ),
    (
        "Which band formed later, Swervers or The Incubi?",
        "most",
        ("When was Swervers formed?", "When was The Incubi formed?"),
    ),
    (
        "Are Ana Silva and Nora Berg of the same nationality?",
        "same",
        ("What is the nationality of Ana Silva?", "What is the nationality of Nora Berg?"),
    ),
    (
        "Are both Ana Silva and Nora Berg painters?",
        "every",
        ("Are Ana Silva painters?", "Are Nora Berg painters?"),
    ),
    (
        "Between Oslo and Bergen, which city has more people?",
        "most",
        ("Which city has more people, Oslo?", "Which city has more people, Bergen?"),
    ),
    (
        "What profession is shared by both Ana Silva and Nora Berg?",
        "each",
        ("What profession is shared by Ana Silva?", "What profession is shared by Nora Berg?"),
    ),
    (
        "Which is older, Oslo, Bergen, or Tromso?",
        "least",
        ("When was Oslo founded?",) * 0
        + ("When was Oslo born?", "When was Bergen born?", "When was Tromso born?"),
    ),
    (
        "Siapa yang lahir lebih dulu, Chairil Anwar atau Amir Hamzah?",
        "least",
        ("Kapan Chairil Anwar lahir?", "Kapan Amir Hamzah lahir?"),
    ),
    (
        "Mana yang didirikan lebih awal, Universitas Indonesia atau Universitas Gadjah Mada?",
        "least",
        (
            "Kapan Universitas Indonesia didirikan?",
            "Kapan Universitas Gadjah Mada didirikan?",
        ),
    ),
)
NOT_COMPARED = (
    "Who won a prize with Ana Silva and Nora Berg?",
    "Who wrote Dune?",
    "Where do I pay the fee and the tax?",
    "🙂",
)


@pytest.mark.parametrize(("question", "want", "questions"), COMPARED)
def test_what_is_asked_of_each(question: str, want: str, questions: tuple[str, ...]) -> None:
    found = comparison(question, 4)
    assert found is not None
    assert (found.want, found.questions) == (want, questions)
    assert all(option in question for option in found.options)


@pytest.mark.parametrize("question", NOT_COMPARED)
def test_other_questions_compare_nothing(question: str) -> None:
    assert comparison(question, 4) is None


def test_no_more_than_so_many_are_compared() -> None:
    found = comparison("Which is older, Oslo, Bergen, or Tromso?", 2)
    assert found is not None
    assert found.options == ("Oslo", "Bergen")


@pytest.mark.parametrize(
    ("question", "questions"),
    [
        (
            "Who wrote Dune and when was it published?",
            ("Who wrote Dune?", "When was Dune published?"),
        ),
        (
            "Siapa pendiri Budi Utomo dan kapan dia lahir?",
            ("Siapa pendiri Budi Utomo?", "Kapan Budi Utomo lahir?"),
        ),
        ("Who wrote Dune?", ("Who wrote Dune?",)),
    ],
)
def test_questions_joined_by_and_are_asked_for_themselves(
    question: str, questions: tuple[str, ...]
) -> None:
    assert joined(question, 4) == questions
