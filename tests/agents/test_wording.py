import pytest

from fathom.agents.wording import folded, same


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("The  Harbour-Office,", "harbouroffice"),
        ("1,020 crowns", "1020 crowns"),
        ("A", "A"),
        ("?!", "?!"),
        ("", ""),
        ("Sang Wali Kota", "wali kota"),
    ],
)
def test_capitals_punctuation_and_articles_do_not_count(answer: str, plain: str) -> None:
    assert folded(answer) == plain


def test_an_answer_within_another_is_the_same() -> None:
    assert same("40 crowns", "about 40 crowns a year")
    assert same("The Baltic", "baltic")
    assert not same("40 crowns", "140 crowns")
    assert not same("40 crowns", "55 crowns")
