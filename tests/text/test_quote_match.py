"""Copied quotes are found in the document's own words; contradicting words are not."""

import random
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.text.quote_match import find_quote, split_words

TEXT = (
    "Harbour rules\n"
    "1. A mooring permit costs 40 crowns a year, and the o\ufb03ce issues it.\n"
    "2. Dogs are not allowed in the park on Sundays \u2013 it\u2019s the council\u2019s \u201clast "
    "word\u201d.\n"
    "3. The Trea-\nsury keeps the fees[12] that visitors pay at the northern gate."
)
WORDS = ("dry", "boat", "harbour", "permit", "costs", "crowns", "keeper", "gate", "opens", "each")
PLAIN = st.lists(st.sampled_from(WORDS), min_size=3, max_size=30)


def find_shown(quote: str, text: str = TEXT) -> str | None:
    match = find_quote(quote, text)
    return match.span.cut(text) if match else None


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("a MOORING permit", "A mooring permit"),
        ("on Sundays - it's the council's \"last word\"",
         "on Sundays \u2013 it\u2019s the council\u2019s \u201clast word"),
        ("the office issues it", "the o\ufb03ce issues it"),
        ("The Treasury keeps the fees that visitors pay",
         "The Trea-\nsury keeps the fees[12] that visitors pay"),
        ("A mooring permit ... a year", "A mooring permit costs 40 crowns a year"),
        ("A mooring permit [\u2026] the office issues it\u2026",
         "A mooring permit costs 40 crowns a year, and the o\ufb03ce issues it"),
        ("3. The Treasury keeps the fees", "The Trea-\nsury keeps the fees"),
        ("7) Dogs are not allowed", "Dogs are not allowed"),
        ("the office issues it. Dogs are not allowed",
         "the o\ufb03ce issues it.\n2. Dogs are not allowed"),
        ("A  mooring\n\npermit", "A mooring permit"),
        ("A mooring permits cost 40 crowns a year", "A mooring permit costs 40 crowns a year"),
        ("Dogs are not allowed at the park on Sundays",
         "Dogs are not allowed in the park on Sundays"),
        ("the fees that visitors pay at the gate",
         "the fees[12] that visitors pay at the northern gate"),
    ],
)  # fmt: skip
def test_a_careless_copy_is_found_in_the_documents_own_words(quote: str, expected: str) -> None:
    assert find_shown(quote) == expected


@pytest.mark.parametrize(
    "quote",
    [
        "A mooring permit costs 50 crowns a year, and the office issues it",
        "A mooring permit costs -40 crowns a year, and the office issues it",
        "A mooring permit costs 40 % a year, and the office issues it",
        "A mooring permit costs forty crowns a year, and the office issues it",
        "A mooring permit costs only 40 crowns a year, and the office issues it",
        "A mooring permit may cost 40 crowns a year, and the office issues it",
        "A mooring permit costs 40 crowns a year, and the Library issues it",
        "Dogs are allowed in the park on Sundays, it's the council's last word",
        "allowed in the park on Sundays",  # cut out right behind the "not"
        "Dogs ... allowed in the park",
        "Dogs are not not allowed in the park on Sundays",
        "Visitors pay the fees at the southern gate",
        "on Sundays ... Dogs are not allowed",  # in another order
        "a year costs permit mooring A",
        "",
        " . \u2026 ",
        "3.",
        "[12]",
    ],
)
def test_words_missing_from_the_document_are_not_found(quote: str) -> None:
    assert find_shown(quote) is None


def test_the_first_place_counts_except_behind_a_negation() -> None:
    text = "No visitor moors free of charge. A member moors free of charge. A boat moors free."
    match = find_quote("moors free of charge", text)
    assert match is not None
    assert match.span.start == text.index("moors", text.index("member"))
    assert find_shown("visitor moors free", text) is None
    text = "It is not moored free. It is moored free."
    assert find_shown("moored free", text) == "moored free"
    assert find_quote("moored free", text).span.start == text.rindex("moored")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("first", "other"),
    [("employer", "employee"), ("useful", "useless"), ("possible", "impossible"),
     ("must", "may"), ("and", "or"), ("before", "after"), ("all", "some"), ("ten", "two")],
)  # fmt: skip
def test_similar_words_of_another_meaning_are_different(first: str, other: str) -> None:
    text = "The harbour keeper says that {} is what the rules of the town ask for."
    assert find_shown(text.format(first), text.format(first))
    assert find_shown(text.format(other), text.format(first)) is None


def test_a_word_that_a_soft_hyphen_breaks_at_the_end_of_a_line_is_whole() -> None:
    text = "Today the fer\u00ad\n  ry leaves at nine."
    assert find_shown("the ferry leaves", text) == "the fer\u00ad\n  ry leaves"


def test_a_match_is_marked_exact_or_not() -> None:
    exact, near = (
        find_quote("A mooring permit costs", TEXT),
        find_quote("The dogs are not allowed in park", TEXT),
    )
    assert exact is not None
    assert exact.exact
    assert near is not None
    assert not near.exact


def _change_case(text: str) -> str:
    return text.upper()


def _change_marks(text: str) -> str:
    return text.replace("'", "\u2019").replace('"', "\u201d").replace("-", "\u2013")


def _change_spaces(text: str) -> str:
    return re.sub(r" ", " \n\t", text)


def _use_ligatures(text: str) -> str:
    return text.replace("ffi", "\ufb03").replace("fi", "\ufb01").replace("fl", "\ufb02")


def _decompose_accents(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _insert_soft_hyphens(text: str) -> str:
    return re.sub(r"([a-z]{3})([a-z]{3})", "\\1\u00ad\\2", text)


@given(
    PLAIN,
    st.data(),
    st.sampled_from(
        [
            _change_case,
            _change_marks,
            _change_spaces,
            _use_ligatures,
            _decompose_accents,
            _insert_soft_hyphens,
        ]
    ),
)
def test_any_stretch_is_found_in_every_spelling(
    words: list[str], data: st.DataObject, written: Callable[[str], str]
) -> None:
    text = " ".join([*words, "caf\u00e9", "o'clock", "office", "flag"])
    tokens = text.split()
    start = data.draw(st.integers(0, len(tokens) - 1))
    end = data.draw(st.integers(start + 1, len(tokens)))
    quote = " ".join(tokens[start:end])
    match = find_quote(written(quote), text)
    assert match is not None
    assert match.exact
    assert match.span.cut(text) == quote
    assert match.span.start == f" {text} ".index(f" {quote} ")


@given(PLAIN, PLAIN)
def test_exact_places_match_the_oracle(words: list[str], quote: list[str]) -> None:
    """The oracle compares lists of words place by place; the code allows marks between the
    words.
    """
    places = [at for at in range(len(words)) if words[at : at + len(quote)] == quote]
    text = "; ".join(words)
    match = find_quote(" ".join(quote), text)
    assert (match is not None and match.exact) == bool(places)
    if places:
        assert match is not None
        assert match.span.cut(text).split("; ") == quote
        assert text[: match.span.start].count(";") == places[0]


@given(PLAIN, st.integers(0, 1000), st.sampled_from(["not", "never", "7", "-3", "tidak", "%"]))
def test_a_word_that_reverses_the_meaning_is_never_added_or_lost(
    words: list[str], seed: int, turn: str
) -> None:
    at = random.Random(seed).randrange(1, len(words))
    turned = " ".join([*words[:at], turn, *words[at:]])
    assert find_quote(turned, " ".join(words)) is None
    assert find_quote(" ".join(words), turned) is None


@given(st.text(max_size=200), st.text(max_size=300))
def test_a_match_has_the_words_of_the_quote(quote: str, text: str) -> None:
    match = find_quote(quote, text)
    if match is not None:
        assert 0 <= match.span.start < match.span.end <= len(text)
        keys = {word.key for word in split_words(match.span.cut(text))}
        assert keys & {word.key for word in split_words(quote)}


@given(st.text(min_size=1, max_size=200))
def test_a_text_with_words_is_found_in_itself(text: str) -> None:
    telling = any(not word.optional for word in split_words(text))
    assert (find_quote(text, text) is not None) or not telling or "..." in text or "\u2026" in text
