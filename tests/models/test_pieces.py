import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.encoder import MARKS, build_tokenizer

from fathom.models.pieces import UNKNOWN, Pieces

VOCABULARY = [*MARKS, "▁", "▁the", "▁pump", "s", "p", "um", "▁p", "ump", "the", "▁a", "b", "ab"]
SCORES = [0.0] * 4 + [-3.0, -2.1, -4.3, -2.7, -5.2, -4.9, -4.1, -3.3, -6.2, -3.5, -4.7, -4.8]
PIECES = Pieces(VOCABULARY, SCORES)


def list_pieces(text: str) -> list[str]:
    return [VOCABULARY[number] for number in PIECES.tokenize(text)]


def test_a_word_is_split_into_its_likeliest_pieces() -> None:
    assert list_pieces("the pumps") == ["▁the", "▁pump", "s"]
    assert list_pieces("ab") == ["▁", "ab"]  # -7.8, where "▁a" and "b" have -8.2


def test_letters_are_normalized_by_nfkc_and_spaces_are_joined() -> None:
    assert list_pieces("  the\n\t pump\x00s ") == ["▁the", "▁pump", "▁", "s"]
    assert PIECES.tokenize("ﬁ") == PIECES.tokenize("fi")


def test_adjacent_unknown_letters_are_one_piece() -> None:
    assert PIECES.tokenize("the 冷却水 pump") == [5, 4, UNKNOWN, 6]


def test_a_special_mark_spelt_out_is_plain_text() -> None:
    assert not {0, 1, 2} & set(PIECES.tokenize("<s> </s> <pad>"))


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_limit_cuts_the_pieces(limit: int) -> None:
    assert (
        PIECES.tokenize("the pump the pumps", limit)
        == PIECES.tokenize("the pump the pumps")[:limit]
    )


@given(st.text(alphabet="thepumsab éx\n冷", max_size=30))
def test_the_pieces_are_those_of_the_package(text: str) -> None:
    text = text.strip()  # the package makes a piece of the space before and after a text
    package = build_tokenizer(VOCABULARY, SCORES).encode(text, add_special_tokens=False)

    assert PIECES.tokenize(text) == package.ids
