"""An answer as the text of a chat: marks, a list of sources, and where each of them leads."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from fathom.serving.http.openai.markdown import inert, inert_line, label
from fathom.serving.shapes import harmless
from fathom.serving.wording import (
    LANGUAGES,
    Wording,
    place_name,
    readings,
    short_answer,
    wording_for,
)
from fathom.types import PARTIAL_LIST, Answer, Citation

LONGEST_NAME = 160
"""So many characters of the name of a source are shown."""
LONGEST_QUOTE = 300
"""So many characters of a quote are shown in the list; the whole is given beside it."""
QUOTED_WORDS = 8
"""So many words of a quote find it on a page of the web."""
_HEADS = "|".join(re.escape(head) for words in LANGUAGES for head in (words.sources, words.nearest))
_UNDERSTOOD = "|".join(re.escape(words.understood) for words in LANGUAGES)
# From the first of several line breaks on alone: a client can send any number of them.
_OURS = re.compile(rf"\A\*(?:{_UNDERSTOOD}): .*\*\n+|(?<!\n)\n+\*\*(?:{_HEADS})\*\*\n[\s\S]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a citation of a text leads.

    Attributes:
        name: Title, section and page, as it stands in the document; no Markdown.
        url: The page at the quote, or the page of the web; absolute, never empty.
        start: Where its mark stands in the text for the first time.
        end: The end of the mark, half-open.
    """

    citation: Citation
    name: str
    url: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedText:
    """Markdown whose only links and marks are its own, with its sources in the order of marks."""

    text: str
    sources: tuple[Source, ...]


def cited_text(answer: Answer, base_url: str) -> CitedText:
    """What a chat client shows of an answer, or of an abstention.

    Args:
        answer: Answered or abstained.
        base_url: Where the page is, ending in a slash; the links lead there.
    """
    words = wording_for(answer.standalone_question or answer.question)
    text = "\n\n".join(_parts(answer, words, base_url))
    sources = (_source(each, text, words, base_url) for each in answer.citations)
    return CitedText(text=text, sources=tuple(sources))


def said(text: str) -> str:
    """What an answer said, of a text that `cited_text` made: without its frame.

    A client sends it back as the history of the next question; a list of sources is no part of
    what was said.
    """
    return _OURS.sub("", text)


def link_to(citation: Citation, base_url: str) -> str:
    """The page at the quote; of the web the page that was read, at its first words."""
    if citation.source == "web":
        return _web_link(citation) or base_url
    document = quote(citation.document, safe="")
    return f"{base_url}#/documents/{document}?start={citation.start}&end={citation.end}"


def _web_link(citation: Citation) -> str:
    """The address with a text fragment, as browsers know it; empty where it is no address."""
    address = citation.document.removeprefix("web:")
    if urlsplit(address).scheme not in {"http", "https"}:
        return ""
    words = " ".join(citation.quote.split()[:QUOTED_WORDS])
    text = quote(words, safe="").replace("-", "%2D")
    plain = quote(address, safe="/:?#@!$&'*+,;=%~")
    return f"{plain}{'' if '#' in plain else '#'}:~:text={text}"


def _parts(answer: Answer, words: Wording, base_url: str) -> Iterator[str]:
    if answer.standalone_question not in {None, answer.question}:
        understood = inert_line(str(answer.standalone_question), 2 * LONGEST_QUOTE)
        yield f"*{words.understood}: {understood}*"
    yield from _said(answer, words)
    if answer.citations:
        head = words.sources if answer.status == "answered" else words.nearest
        listed = (_listed(each, words, base_url) for each in answer.citations)
        yield "\n".join([f"**{head}**", "", *listed])
    yield from (f"{words.warning}: {inert_line(each, 500)}" for each in answer.warnings)


def _said(answer: Answer, words: Wording) -> Iterator[str]:
    if answer.status != "answered":
        reason = words.reasons.get(answer.stop_reason, answer.stop_reason)
        yield f"{words.unknown}: {reason}."
        return
    if short := short_answer(answer):
        yield f"**{inert_line(short, LONGEST_QUOTE)}**"
    if differing := readings(answer):
        lines = (
            f"- {inert_line(each.text, LONGEST_QUOTE)} {''.join(f'[{n}]' for n in each.citations)}"
            + (f" ({words.refuted})" if each.refuted else "")
            for each in differing
        )
        yield "\n".join([f"{words.differing}:", "", *lines])
    marks = frozenset(each.n for each in answer.citations)
    # Lines stay lines: two spaces before the break say so.
    yield inert(answer.answer, marks).replace("\n", "  \n")
    if answer.stop_reason == PARTIAL_LIST:
        yield words.partial


def _listed(citation: Citation, words: Wording, base_url: str) -> str:
    name = label(_name(citation, words), LONGEST_NAME)
    shown = inert_line(citation.quote, LONGEST_QUOTE)
    return f"- [{citation.n}] [{name}]({link_to(citation, base_url)}): “{shown}”"


def _source(citation: Citation, text: str, words: Wording, base_url: str) -> Source:
    mark = f"[{citation.n}]"
    start = text.find(mark)
    return Source(
        citation=citation,
        name=" ".join(str(harmless(_name(citation, words))).split()),
        url=link_to(citation, base_url),
        start=start,
        end=start + len(mark),
    )


def _name(citation: Citation, words: Wording) -> str:
    return place_name(citation, words) or citation.path or citation.document
