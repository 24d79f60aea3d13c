"""Text of documents stays text in the Markdown of a chat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.serving.http.payloads import PAYLOADS

from fathom.serving.http.openai.escaping import escape_label, escape_line, escape_markdown

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
"""Renders whatever it can, also HTML: clients that do less are safer still."""
ACTIVE = {"html_inline", "html_block", "image", "link_open", "fence", "code_inline", "code_block"}


def tokens(text: str) -> list[Token]:
    """All of them, also those inside of lines."""
    return [each for block in RENDERER.parse(text) for each in (block, *(block.children or ()))]


def shown(text: str) -> str:
    """The words that a reader sees."""
    seen = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(
        seen.get(each.type, each.content)
        for block in RENDERER.parse(text)
        for each in block.children or ()
    )


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_of_a_text_becomes_active(payload: str) -> None:
    for text in (
        escape_markdown(payload),
        escape_markdown(f"See {payload} there"),
        escape_line(payload, 1_000),
    ):
        assert not {each.type for each in tokens(text)} & ACTIVE
        assert "{{" not in text
        assert "<code_interpreter" not in text
        assert "<think" not in text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_words_of_a_link_lead_where_the_link_does(payload: str) -> None:
    found = tokens(f"- [1] [{escape_label(payload, 1_000)}](http://ours/#/documents/1)")
    assert [each.attrs for each in found if each.type == "link_open"] == [
        {"href": "http://ours/#/documents/1"}
    ]
    assert not {each.type for each in found} & (ACTIVE - {"link_open"})


@given(st.text(alphabet="ab1 \\`*_{}[]()<>#+-.!|&;:~\"'/=^@$", max_size=40))
def test_whatever_stands_in_a_text_nothing_is_active_and_it_reads_as_it_is(text: str) -> None:
    line = " ".join(text.split())
    found = escape_markdown(f"a {line} z")
    assert not {each.type for each in tokens(found)} & ACTIVE
    assert shown(found) == f"a {line} z"


def test_words_addresses_and_file_names_are_left_alone() -> None:
    text = "Set log_level = 5 in /etc/app.conf (see https://merrow.example/a_b, 10 % of 3 < 4)."
    assert escape_markdown(text) == text


def test_marks_of_citations_stay_and_what_only_looks_like_one_does_not() -> None:
    assert escape_markdown("Two [1] and [7].", frozenset({1})) == r"Two [1] and [7\]."


def test_what_nobody_sees_is_gone() -> None:
    assert "\x1b" not in escape_markdown("a\x1b[31mb")
    assert "\u202e" not in escape_markdown("a\u202eb")


def test_a_long_text_is_cut() -> None:
    assert escape_line("word " * 100, 9) == "word word…"


def test_brackets_do_not_end_the_words_of_a_link() -> None:
    assert escape_label("a] [b", 100) == "a) (b"
