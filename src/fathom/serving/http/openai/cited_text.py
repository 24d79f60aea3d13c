"""Answers as texts of a chat, with citation marks and a list of linked sources."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from fathom.serving.http.openai.escaping import escape_label, escape_line, escape_markdown
from fathom.serving.shapes import replace_invisible
from fathom.serving.wording import (
    LANGUAGES,
    Wording,
    choose_wording,
    list_readings,
    name_place,
    pick_short_answer,
)
from fathom.types import PARTIAL_LIST, Answer, Citation

LONGEST_NAME = 160
"""The number of characters of a source's name, at most."""
LONGEST_QUOTE = 300
"""The number of characters of a quote in the list, at most; an event for Open WebUI has all."""
QUOTED_WORDS = 8
"""The number of first words of a quote that locate it on a web page."""
_HEADS = "|".join(re.escape(head) for words in LANGUAGES for head in (words.sources, words.nearest))
_UNDERSTOOD = "|".join(re.escape(words.understood) for words in LANGUAGES)
_UNSURE = "|".join(re.escape(words.unsure) for words in LANGUAGES)
# `(?<!\n)` starts only at the first of several line breaks. A client can send any number of them,
# and starting at each one would take quadratic time.
_FRAME = re.compile(
    rf"\A(?:\*(?:{_UNDERSTOOD}): .*\*\n+)?(?:\*(?:{_UNSURE}):\*\n+)?"
    rf"|(?<!\n)\n+\*\*(?:{_HEADS})\*\*\n[\s\S]*\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of a text, with its link.

    Attributes:
        citation: The citation.
        name: The title, section and page in the words of the document; not Markdown.
        url: The absolute address of the quote on Fathom's page or on a web page; never empty.
        start: The offset of the first mark of the source in the text.
        end: The offset after that mark.
    """

    citation: Citation
    name: str
    url: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedText:
    """Markdown whose only links and marks are those of its sources, with the sources in order."""

    text: str
    sources: tuple[Source, ...]


def render_cited_text(answer: Answer, base_url: str) -> CitedText:
    """Render an answer, or an abstention, for a chat client.

    Args:
        answer: The answer or abstention.
        base_url: The address of the page, ending in a slash; links to quotes begin with it.
    """
    wording = choose_wording(answer.standalone_question or answer.question)
    text = "\n\n".join(_iterate_blocks(answer, wording, base_url))
    sources = (_build_source(citation, text, wording, base_url) for citation in answer.citations)
    return CitedText(text=text, sources=tuple(sources))


def strip_frame(text: str) -> str:
    """Return the sentences of the answer in a text that `render_cited_text` made.

    A client sends the text back as the history of the next question, which must not contain the
    list of sources.
    """
    return _FRAME.sub("", text)


def build_link(citation: Citation, base_url: str) -> str:
    """Return the link to the quote on Fathom's page, or on the web page that it comes from."""
    if citation.source == "web":
        return _build_web_link(citation) or base_url
    document = quote(citation.document, safe="")
    return f"{base_url}#/documents/{document}?start={citation.start}&end={citation.end}"


def _build_web_link(citation: Citation) -> str:
    """Return the web address with a text fragment of the quote; empty if it is no web address."""
    address = citation.document.removeprefix("web:")
    if urlsplit(address).scheme not in {"http", "https"}:
        return ""
    first_words = " ".join(citation.quote.split()[:QUOTED_WORDS])
    # A hyphen has a meaning of its own in a text fragment.
    text = quote(first_words, safe="").replace("-", "%2D")
    plain = quote(address, safe="/:?#@!$&'*+,;=%~")
    return f"{plain}{'' if '#' in plain else '#'}:~:text={text}"


def _iterate_blocks(answer: Answer, wording: Wording, base_url: str) -> Iterator[str]:
    if answer.standalone_question not in {None, answer.question}:
        understood = escape_line(str(answer.standalone_question), 2 * LONGEST_QUOTE)
        yield f"*{wording.understood}: {understood}*"
    yield from _iterate_answer_blocks(answer, wording)
    if answer.citations:
        head = wording.sources if answer.status == "answered" else wording.nearest
        lines = (_format_source_line(citation, wording, base_url) for citation in answer.citations)
        yield "\n".join([f"**{head}**", "", *lines])
    yield from (f"{wording.warning}: {escape_line(warning, 500)}" for warning in answer.warnings)


def _iterate_answer_blocks(answer: Answer, wording: Wording) -> Iterator[str]:
    if answer.status != "answered":
        reason = wording.reasons.get(answer.stop_reason, answer.stop_reason)
        yield f"{wording.unknown}: {reason}."
        return
    if answer.tentative:
        yield f"*{wording.unsure}:*"
    if short := pick_short_answer(answer):
        yield f"**{escape_line(short, LONGEST_QUOTE)}**"
    if alternatives := list_readings(answer):
        lines = (
            f"- {escape_line(reading.answer, LONGEST_QUOTE)} "
            + "".join(f"[{n}]" for n in reading.citations)
            + (f" ({wording.refuted})" if reading.refuted else "")
            for reading in alternatives
        )
        yield "\n".join([f"{wording.differing}:", "", *lines])
    marks = frozenset(citation.n for citation in answer.citations)
    # Two spaces before a line break keep it in Markdown.
    yield escape_markdown(answer.answer, marks).replace("\n", "  \n")
    if answer.stop_reason == PARTIAL_LIST:
        yield wording.partial


def _format_source_line(citation: Citation, wording: Wording, base_url: str) -> str:
    name = escape_label(_name_source(citation, wording), LONGEST_NAME)
    shown_quote = escape_line(citation.quote, LONGEST_QUOTE)
    return f"- [{citation.n}] [{name}]({build_link(citation, base_url)}): “{shown_quote}”"


def _build_source(citation: Citation, text: str, wording: Wording, base_url: str) -> Source:
    mark = f"[{citation.n}]"
    start = text.find(mark)
    return Source(
        citation=citation,
        name=" ".join(str(replace_invisible(_name_source(citation, wording))).split()),
        url=build_link(citation, base_url),
        start=start,
        end=start + len(mark),
    )


def _name_source(citation: Citation, wording: Wording) -> str:
    return name_place(citation, wording) or citation.path or citation.document
