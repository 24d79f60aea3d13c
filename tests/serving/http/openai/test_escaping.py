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


def parse_tokens(text: str) -> list[Token]:
    """Return all tokens, including those inside lines."""
    return [token for block in RENDERER.parse(text) for token in (block, *(block.children or ()))]


def read_visible(text: str) -> str:
    """Return the words that a reader sees."""
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(
        breaks.get(token.type, token.content)
        for block in RENDERER.parse(text)
        for token in block.children or ()
    )


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_becomes_active(payload: str) -> None:
    for text in (
        escape_markdown(payload),
        escape_markdown(f"See {payload} there"),
        escape_line(payload, 1_000),
    ):
        assert not {token.type for token in parse_tokens(text)} & ACTIVE
        assert "{{" not in text
        assert "<code_interpreter" not in text
        assert "<think" not in text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_words_of_a_link_link_to_its_address(payload: str) -> None:
    parsed = parse_tokens(f"- [1] [{escape_label(payload, 1_000)}](http://ours/#/documents/1)")
    assert [token.attrs for token in parsed if token.type == "link_open"] == [
        {"href": "http://ours/#/documents/1"}
    ]
    assert not {token.type for token in parsed} & (ACTIVE - {"link_open"})


@given(st.text(alphabet="ab1 \\`*_{}[]()<>#+-.!|&;:~\"'/=^@$", max_size=40))
def test_any_text_is_inactive_and_reads_unchanged(text: str) -> None:
    line = " ".join(text.split())
    escaped = escape_markdown(f"a {line} z")
    assert not {token.type for token in parse_tokens(escaped)} & ACTIVE
    assert read_visible(escaped) == f"a {line} z"


def test_words_addresses_and_file_names_are_left_alone() -> None:
    text = "Set log_level = 5 in /etc/app.conf (see https://merrow.example/a_b, 10 % of 3 < 4)."
    assert escape_markdown(text) == text


def test_citation_marks_stay_and_look_alikes_are_escaped() -> None:
    assert escape_markdown("Two [1] and [7].", frozenset({1})) == r"Two [1] and [7\]."


def test_invisible_characters_are_removed() -> None:
    assert "\x1b" not in escape_markdown("a\x1b[31mb")
    assert "\u202e" not in escape_markdown("a\u202eb")


def test_a_long_text_is_cut() -> None:
    assert escape_line("word " * 100, 9) == "word word…"


def test_brackets_do_not_end_the_words_of_a_link() -> None:
    assert escape_label("a] [b", 100) == "a) (b"
