"""The view of a place in a document: the lines around it, with the place marked."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from fathom.errors import UsageError
from fathom.serving.cli.output import make_file_link, shorten_path
from fathom.serving.cli.terminal import add_links, replace_breaks
from fathom.serving.invisible import replace_controls
from fathom.serving.wording import choose_page_word
from fathom.text.lines import widen_to_lines
from fathom.types import Document, Span

_PLACE = re.compile(r"(?P<start>\d{1,15})(?:-(?P<end>\d{1,15}))?", re.ASCII)
_MARKER_CODES = "\x1b[30;43m", "\x1b[0m"  # black on yellow, like a text marker


def parse_place(document: Document, at: str) -> Span:
    """Parse a line number (`12`), or the offsets of characters in a citation (`530-561`).

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
            raise UsageError(f"--at {at}: {shorten_path(document.path)} has lines 1 to {last}")
        return document.line_span(first)
    # `--json` gives the end as one past the last character, so it must exceed the start.
    if not first < int(match["end"]) <= len(document.text):
        length = len(document.text)
        raise UsageError(f"--at {at}: {shorten_path(document.path)} has characters 0-{length}")
    return Span(first, int(match["end"]))


def serialize_place(document: Document, span: Span) -> dict[str, Any]:
    """Return a place in the shape of `docs show --at --json`."""
    return {
        **asdict(document.place_at(span.start)),
        "start": span.start,
        "end": span.end,
        "text": span.cut(document.text),
    }


def format_place_view(document: Document, span: Span, *, context: int, styled: bool) -> str:
    """Return the numbered lines around a place, with `>` before the lines of the place.

    Args:
        document: The document.
        span: The place.
        context: The number of lines before and after the place.
        styled: Whether a terminal shows the text; then the place is coloured, and the path is a
            link.
    """
    place = document.place_at(span.start)
    page = f", {choose_page_word(place.path)} {place.page}" if place.page else ""
    section = f", {place.section}" if place.section else ""
    head = replace_breaks(f"{shorten_path(place.path)}{page}{section}")
    if styled:
        head = add_links(head, {shorten_path(place.path): make_file_link(place.path, document.id)})
    lines = [replace_breaks(place.title), head, ""]
    width = len(str(document.line_at(len(document.text))))
    for line in _iterate_lines_around(document.text, span, context):
        # An end at the beginning of a line does not mark that line; an empty span marks its line.
        inside = line.start <= max(span.end - 1, span.start) and span.start <= line.end
        # A blank line of the text may not be a line of the file, so it gets no number.
        number = document.line_at(line.start) if line.start < line.end else ""
        margin = f"{'>' if inside else ' '} {number:>{width}}  "
        lines.append(f"{margin}{_format_line(document.text, line, span, styled=styled and inside)}")
    return "\n".join(line.rstrip() for line in lines)


def _iterate_lines_around(text: str, span: Span, context: int) -> Iterator[Span]:
    """Yield the lines of a place, and `context` lines before and after it."""
    # An end at the beginning of a line does not belong to that line.
    start, end = widen_to_lines(text, span.start, max(span.end - 1, span.start), context)
    offset = start
    for line in text[start:end].split("\n"):
        yield Span(offset, offset + len(line))
        offset += len(line) + 1


def _format_line(text: str, line: Span, marked: Span, *, styled: bool) -> str:
    if not styled:
        return replace_controls(line.cut(text))
    first, last = max(line.start, marked.start), min(line.end, marked.end)
    start, end = _MARKER_CODES
    before, inner, after = text[line.start : first], text[first:last], text[last : line.end]
    return (
        f"{replace_controls(before)}{start}{replace_controls(inner)}{end}{replace_controls(after)}"
    )
