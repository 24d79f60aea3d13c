import pytest

from fathom.documents.formats.pdf.lines import remove_doubling, split_lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("HHeelllloo wwoorrlldd", "Hello world"),
        ("Hello world", "Hello world"),
        ("aabb", "aabb"),
        ("1100 2200 3300", "10 20 30"),
        ("", ""),
    ],
)
def test_doubled_characters_are_read_once(line: str, expected: str) -> None:
    assert remove_doubling(line) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("infor\ufffemation", "information"),
        ("anak\ufffeanak", "anak-anak"),
        ("Jakarta\ufffeBandung", "Jakarta-Bandung"),
        ("soft\u00adware", "software"),
        ("end\ufffe", "end-"),
    ],
)
def test_words_broken_at_line_ends_are_joined(text: str, expected: str) -> None:
    assert [line.text for line in split_lines(text)] == [expected]


def test_only_white_space_gives_no_line() -> None:
    assert split_lines(" \n ") == ()
