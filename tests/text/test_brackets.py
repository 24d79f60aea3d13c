"""Spans with whole pairs of brackets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.text.brackets import balance_brackets
from fathom.types import Span


@pytest.mark.parametrize(
    ("text", "given_span", "balanced"),
    [
        ("It waits 2 hours (7200 seconds).", "2 hours (7200", "2 hours (7200 seconds)"),
        ("He was born (21 June 1977).", "(21 June 1977", "21 June 1977"),
        ("She died (4 January 1578) in Rome.", "4 January 1578)", "4 January 1578"),
        (
            "the kukang (Nycticebus coucang) lives",
            "kukang (Nycticebus",
            "kukang (Nycticebus coucang)",
        ),
        ("a list (see [3]) of names", "list (see [3", "list (see [3])"),
        ("a permit (40 crowns", "permit (40", "permit"),
        ("the pier (which " + "very " * 12 + "old men know) is shut", "pier (which", "pier"),
        ("the first (one) and (two)", "first (one", "first (one)"),
        ("f(x) and g(x)", "f(x) and g(x)", "f(x) and g(x)"),
        ("do (a) or b) then c", "b) then c", "b) then c"),
        ("the value (<1) is low", "<1)", "<1"),
        ("no brackets here", "brackets", "brackets"),
    ],
)
def test_half_pairs_are_completed_or_left_out(text: str, given_span: str, balanced: str) -> None:
    start = text.index(given_span)
    span = Span(start, start + len(given_span))
    assert balance_brackets(text, span).cut(text) == balanced


@given(st.text(alphabet="ab (1)[]", max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_a_balanced_span_lies_in_the_text_and_keeps_a_word(text: str, one: int, other: int) -> None:
    start, end = sorted(min(place, len(text)) for place in (one, other))
    span = balance_brackets(text, Span(start, end))
    assert span.start >= start
    assert span.end <= len(text)
    if any(map(str.isalnum, text[start:end])):
        assert any(map(str.isalnum, span.cut(text)))
