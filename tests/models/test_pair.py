from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.models.pair import QUESTION_LIMIT, TITLE_LIMIT, PairTokens
from fathom.models.tokens import WordPiece

RESOURCES = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources"
WORDS = WordPiece.read(RESOURCES / "vocab.txt")
TOKENS = PairTokens(WORDS)
CLS, SEP, COLON = 101, 102, 1024


def test_every_token_knows_its_word() -> None:
    placed = TOKENS.locate_tokens("The embedder, 1990!")

    words = ["The embedder, 1990!"[a:b] for a, b in zip(placed.starts, placed.ends, strict=True)]

    # "embedder" is three tokens: em, ##bed, ##der.
    assert words == ["The", "embedder", "embedder", "embedder", ",", "1990", "!"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\t ",
        "US$5.20 (2021)—naïve café",
        "中文字 と 한국어",
        "عربى نص",
        "👩‍👩‍👧 🇩🇪 emoji",
        "x" * 500,
        "e\u0301te\u0301",
        "ﷺ ﷺ",
        "5°C ±3 €7 ½",
        "\ud800 lone",
        "𠀀 丽",
    ],
)
def test_the_tokens_are_those_of_the_encoder(text: str) -> None:
    assert list(TOKENS.locate_tokens(text).ids) == WORDS.encode(text, 100_000)[1:-1]


@given(st.text(max_size=60))
def test_any_text_has_the_encoders_tokens_in_order_and_in_bounds(text: str) -> None:
    placed = TOKENS.locate_tokens(text)

    assert list(placed.ids) == WORDS.encode(text, 100_000)[1:-1]
    assert list(placed.starts) == sorted(placed.starts)
    assert all(0 <= a < b <= len(text) for a, b in zip(placed.starts, placed.ends, strict=True))


def test_a_row_is_question_title_and_chunk_between_marks() -> None:
    row = TOKENS.build_row(TOKENS.build_head("Who?", "A town"), TOKENS.locate_tokens("It is Ann."))

    assert list(row.ids) == [
        CLS,
        *WORDS.encode("Who?", 9)[1:-1],
        SEP,
        *WORDS.encode("A town", 9)[1:-1],
        COLON,
        *WORDS.encode("It is Ann.", 9)[1:-1],
        SEP,
    ]
    assert list(row.kinds) == [0] * 4 + [1] * 8
    assert row.first == 7


def test_a_chunk_without_title_follows_the_question() -> None:
    row = TOKENS.build_row(TOKENS.build_head("Who?", ""), TOKENS.locate_tokens("Ann"))

    assert list(row.ids) == [CLS, *WORDS.encode("Who?", 9)[1:-1], SEP, 5754, SEP]


def test_question_and_title_are_cut() -> None:
    head = TOKENS.build_head("why " * 10_000, "name " * 10_000)

    assert len(head) == 1 + QUESTION_LIMIT + 1 + TITLE_LIMIT + 1


def test_a_window_keeps_the_places_in_the_whole_text() -> None:
    part = TOKENS.locate_tokens("one two three").slice_tokens(1, 3)

    assert list(part.starts) == [4, 8]
    assert list(part.ends) == [7, 13]
