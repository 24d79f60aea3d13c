"""The view of a document at a place: the lines around it, with the place marked."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from fathom.errors import UsageError
from fathom.serving.cli.output import file_link, near
from fathom.serving.cli.terminal import linked, plain
from fathom.serving.wording import page_word
from fathom.types import Document, Span

AROUND = 10
"""The number of lines shown before and after the place."""
_PLACE = re.compile(r"(?P<start>\d{1,15})(?:-(?P<end>\d{1,15}))?", re.ASCII)
_MARKED = "\x1b[30;43m", "\x1b[0m"  # black on yellow, like a text marker


def place_of(document: Document, at: str) -> Span:
    """Parse a line (`12`), or the characters that a citation names (`530-561`).

    Raises:
        UsageError: If it is neither, or the document has no such place.
    """
    match = _PLACE.fullmatch(at)
    if match is None:
        raise UsageError(f"--at {at!r}: give a line such as 12, or characters such as 530-561")
    first = int(match["start"])
    if match["end"] is None:
        last = document.line_at(len(document.text))
        if not 1 <= first <= last:
            raise UsageError(f"--at {at}: {near(document.path)} has lines 1 to {last}")
        return document.line_span(first)
    # `--json` gives the end as one past the last character, so it must exceed the start.
    if not first < int(match["end"]) <= len(document.text):
        length = len(document.text)
        raise UsageError(f"--at {at}: {near(document.path)} has characters 0-{length}")
    return Span(first, int(match["end"]))


def opened_json(document: Document, span: Span) -> dict[str, Any]:
    """Return the place in the shape of `docs show --at --json`."""
    return {
        **asdict(document.place_at(span.start)),
        "start": span.start,
        "end": span.end,
        "text": span.cut(document.text),
    }


def opened_text(document: Document, span: Span, *, styled: bool) -> str:
    """Return the lines around a place with their numbers, and `>` before those of the place.

    Args:
        document: The document to show.
        span: The place.
        styled: Whether a terminal shows the text; then the place is coloured and the path can be
            clicked.
    """
    place = document.place_at(span.start)
    page = f", {page_word(place.path)} {place.page}" if place.page else ""
    section = f", {place.section}" if place.section else ""
    head = plain(f"{near(place.path)}{page}{section}")
    if styled:
        head = linked(head, {near(place.path): file_link(place.path, document.id)})
    lines = [plain(place.title), head, ""]
    width = len(str(document.line_at(len(document.text))))
    for line in _around(document.text, span):
        # An end at the beginning of a line does not mark that line; an empty place marks its own.
        inside = line.start <= max(span.end - 1, span.start) and span.start <= line.end
        # A blank line of the text need not be a line of the file, so it gets no number.
        number = document.line_at(line.start) if line.start < line.end else ""
        margin = f"{'>' if inside else ' '} {number:>{width}}  "
        lines.append(f"{margin}{_shown(document.text, line, span, styled=styled and inside)}")
    return "\n".join(line.rstrip() for line in lines)


def _around(text: str, span: Span) -> Iterator[Span]:
    """Yield the lines of the place, and as many as are shown on either side."""
    start = text.rfind("\n", 0, span.start) + 1
    end = _line_end(text, max(span.end - 1, span.start))
    for _ in range(AROUND):
        start = text.rfind("\n", 0, max(start - 1, 0)) + 1
        end = _line_end(text, end + 1)
    offset = start
    for line in text[start:end].split("\n"):
        yield Span(offset, offset + len(line))
        offset += len(line) + 1


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def _shown(text: str, line: Span, marked: Span, *, styled: bool) -> str:
    if not styled:
        return plain(line.cut(text))
    first, last = max(line.start, marked.start), min(line.end, marked.end)
    start, end = _MARKED
    before, inner, after = text[line.start : first], text[first:last], text[last : line.end]
    return f"{plain(before)}{start}{plain(inner)}{end}{plain(after)}"
