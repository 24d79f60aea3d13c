"""What questions ask for, in English and Indonesian."""

import pytest

from fathom.agents.expectation import expected_kind, holds


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many branches does the library have?", "number"),
        ("Berapa biaya izin usaha?", "number"),
        ("When does the office open?", "time"),
        ("What year was the bridge built?", "time"),
        ("Tahun berapa jembatan itu dibangun?", "time"),
        ("Who signs the permit?", "name"),
        ("Di mana kantor itu?", "name"),
        ("What is a permit?", "any"),
    ],
)
def test_question_words_tell_the_kind(question: str, kind: str) -> None:
    assert expected_kind(question) == kind


def test_a_number_may_be_a_word() -> None:
    assert holds("number", "The library has three branches.", "How many branches?")
    assert holds("number", "Biayanya Rp 50.000.", "Berapa biayanya?")
    assert not holds("number", "The library has branches.", "How many branches?")


def test_a_name_must_be_news() -> None:
    asked = "Who leads the Harbour Office?"
    assert holds("name", "It is led by Mira Tan.", asked)
    assert not holds("name", "The Harbour Office is led well.", "Who leads the harbour office, the")


def test_anything_is_held_by_anything() -> None:
    assert holds("any", "", "What is it?")
