"""Each word of a text is known to come from its own line of the file."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.base import Parsed
from fathom.documents.lines import lines_of
from fathom.documents.parse import parse_bytes

CORPUS = Path(__file__).parents[2] / "samples" / "corpus"
MARKDOWN = b"""---
title: Fees
---
# Fees

A permit **costs**
40 crowns.

- pay at
  the [harbour](x.html)
"""
HTML = b"""<!doctype html>
<title>T</title><script>
var permit = 'permit costs';
</script>
<p>A permit
costs <b>40</b>
cro&shy;wns &amp; more.</p>"""


def lines(data: bytes, name: str) -> dict[str, int]:
    """The line of the first occurrence of some words."""
    (parsed,) = parse_bytes(data, name)
    assert isinstance(parsed, Parsed)
    found = {}
    for offset, line in parsed.lines:
        found[parsed.text[offset:].split()[0]] = line
    return found


def test_joined_lines_of_markdown_are_told_apart() -> None:
    assert lines(MARKDOWN, "fees.md") == {"Fees": 4, "A": 6, "40": 7, "pay": 9, "the": 10}


def test_the_words_of_a_page_are_not_looked_for_in_its_scripts() -> None:
    assert lines(HTML, "fees.html") == {"A": 5, "costs": 6, "cro\xadwns": 7}


def test_rows_that_say_their_headers_keep_their_lines() -> None:
    table = b"permit,fee\r\n\r\nmooring,40\r\nfishing,12\r\n"
    assert lines(table, "fees.csv") == {"permit": 1, "mooring": 3, "fishing": 4}


@pytest.mark.parametrize("name", ["about-merrow.md", "tree-care.rst", "library-hours.html"])
def test_samples_word_for_word(name: str) -> None:
    data = (CORPUS / name).read_bytes()
    (parsed,) = parse_bytes(data, name)
    assert isinstance(parsed, Parsed)
    file = data.decode().split("\n")
    assert len(parsed.lines) > 9
    for offset, line in parsed.lines:
        assert parsed.text[offset:].split()[0].strip('".,:;()') in file[line - 1]


@pytest.mark.parametrize("name", ["flood-plan.pdf", "street-lights.json", "winter-service.pptx"])
def test_other_formats_have_no_lines(name: str) -> None:
    (parsed,) = parse_bytes((CORPUS / name).read_bytes(), name)
    assert isinstance(parsed, Parsed)
    assert parsed.lines == ()


@given(st.text(alphabet="ab c.\n\r"), st.text(alphabet="ab c.\n\r"))
def test_offsets_and_lines_always_grow(text: str, file: str) -> None:
    found = lines_of(text, file)
    assert all(one < two for one, two in pairwise(found))
    assert all(0 <= at < len(text) and 1 <= line <= len(file) + 1 for at, line in found)
    assert [line for _, line in found] == sorted({line for _, line in found})
