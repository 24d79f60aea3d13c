from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear_growth import assert_linear

from fathom.text.entities import find_names, list_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("nothing here has a capital", []),
        ("Who is the father of Edward Baring?", ["Edward Baring"]),
        (
            "The Bank of England moved to Threadneedle Street.",
            ["Bank of England", "Threadneedle Street"],
        ),
        (
            "J. R. R. Tolkien wrote The Lord of the Rings.",
            ["J. R. R. Tolkien", "The Lord of the Rings"],
        ),
        ("Pride and Prejudice is older.", ["Pride and Prejudice"]),
        ("Is Laleli Mosque near Esma Mansion?", ["Laleli Mosque", "Esma Mansion"]),
        (
            "Are Laleli Mosque and Esma Sultan Mansion old?",
            ["Laleli Mosque", "Esma Sultan Mansion"],
        ),
        ("Apollo 11 flew in 1969.", ["Apollo 11"]),
        ("What team was Anna Benson's husband on?", ["Anna Benson"]),
        ("Where did O'Brien live?", ["O'Brien"]),
        ("Is AT&T in Coca-Cola's board?", ["AT&T", "Coca-Cola"]),
        ("Siapa Menteri Kelautan dan Perikanan?", ["Menteri Kelautan dan Perikanan"]),
        ("Dimana Raja Ataulf meninggal?", ["Raja Ataulf"]),
        ("Apakah Leonardo di Caprio hadir?", ["Leonardo di Caprio"]),
        ("Menurut Bank Indonesia, berapa inflasi?", ["Bank Indonesia"]),
        ("Kapan Universitas Gadjah Mada berdiri?", ["Universitas Gadjah Mada"]),
    ],
)
def test_names_of_sentences_are_found(text: str, expected: list[str]) -> None:
    assert list(list_names(text)) == expected


@given(st.text(max_size=80))
def test_names_are_in_order_and_do_not_overlap(text: str) -> None:
    names = find_names(text)
    assert all(name.end <= other.start for name, other in pairwise(names))
    assert all(span.cut(text)[0].isupper() for span in names)


@pytest.mark.parametrize(
    "unit", ["A. ", "A & ", "A and ", "Ministry and A ", "A ", "a ", "(", " ", "A (", "A-", "A\n"]
)
def test_four_times_the_words_take_four_times_the_work(unit: str) -> None:
    assert_linear(find_names, unit)
    assert_linear(lambda text: find_names(f"{'A ' * 2_000}Ministry {text}"), unit)


@pytest.mark.parametrize(
    ("before", "opens"),
    [
        ("", True), ("  ", True), ("(\u201c", True), ("x. ", True), ("x: *\u00ab'", True),
        ("x\n", True), ("x \n ", True), ("x ", False), ("x, ", False),
        ("x. - ", False), ("x) ", False),
    ],
)  # fmt: skip
def test_a_common_word_at_the_start_of_a_sentence_is_no_name(before: str, opens: bool) -> None:
    assert ([*list_names(f"{before}The y")] == []) is opens
