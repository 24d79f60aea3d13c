"""Each word of a text maps to its own line of the file."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.base import ParsedDocument
from fathom.documents.parse import parse_bytes
from fathom.documents.source_lines import map_lines
from fathom.types import Document

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


def list_word_lines(data: bytes, name: str, *words: str) -> list[int]:
    """Return the lines of the first occurrences of some words."""
    (parsed,) = parse_bytes(data, name)
    assert isinstance(parsed, ParsedDocument)
    document = Document(id="d", text=parsed.text, path=name, title="", lines=parsed.lines)
    return [document.line_at(parsed.text.index(word)) for word in words]


def test_joined_lines_of_markdown_are_distinguished() -> None:
    numbers = list_word_lines(
        MARKDOWN, "fees.md", "Fees", "A permit", "costs", "40", "- pay", "the harbour"
    )
    assert numbers == [4, 6, 6, 7, 9, 10]


def test_numbers_written_by_the_parser_belong_to_the_line_of_their_item() -> None:
    listed = b"Do this:\n\n#. Fill it\n#. Open it\n"
    assert list_word_lines(listed, "a.rst", "Do", "1.", "Fill", "2.", "Open") == [1, 3, 3, 4, 4]


def test_words_of_a_page_are_not_searched_in_its_scripts() -> None:
    assert list_word_lines(HTML, "fees.html", "A permit", "costs", "40", "cro", "more") == [
        5,
        6,
        6,
        7,
        7,
    ]


def test_rows_with_headers_keep_their_lines() -> None:
    table = b"permit,fee\r\n\r\nmooring,40\r\nfishing,12\r\n"
    numbers = list_word_lines(
        table, "fees.csv", "permit", "permit: mooring", "40", "permit: fishing", "12"
    )
    assert numbers == [1, 3, 3, 4, 4]


@pytest.mark.parametrize("name", ["about-merrow.md", "tree-care.rst", "library-hours.html"])
def test_samples_map_word_for_word(name: str) -> None:
    data = (CORPUS / name).read_bytes()
    (parsed,) = parse_bytes(data, name)
    assert isinstance(parsed, ParsedDocument)
    file = data.decode().split("\n")
    assert len(parsed.lines) > 9
    for offset, line in parsed.lines:
        word = re.search(r"[^\W\d]{2,}", parsed.text[offset:])
        assert word is not None
        assert word[0] in file[line - 1]


@pytest.mark.parametrize("name", ["flood-plan.pdf", "street-lights.json", "winter-service.pptx"])
def test_other_formats_have_no_lines(name: str) -> None:
    (parsed,) = parse_bytes((CORPUS / name).read_bytes(), name)
    assert isinstance(parsed, ParsedDocument)
    assert parsed.lines == ()


@given(st.text(alphabet="ab c.\n\r"), st.text(alphabet="ab c.\n\r"))
def test_offsets_and_lines_always_grow(text: str, file: str) -> None:
    pairs = map_lines(text, file)
    assert all(pair < two for pair, two in pairwise(pairs))
    assert all(0 <= at < len(text) and 1 <= line <= len(file) + 1 for at, line in pairs)
    assert [line for _, line in pairs] == sorted({line for _, line in pairs})


def test_a_text_unlike_its_file_is_given_up() -> None:
    text, file = "a c " * 50 + "b", "a b\n" * 50
    assert map_lines(text, file)
    assert map_lines(text, file, patience=1000) == ()
