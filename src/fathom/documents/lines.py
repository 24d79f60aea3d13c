"""The headings of a document, and its lines that match a pattern, with their places.

Both come from the text as it was read, so PDF and Office files have them as well as plain text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fathom.types import Document, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of a document.

    Attributes:
        depth: The number of headings above it.
    """

    text: str
    depth: int
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingLine:
    """A line of a document's text that matches a pattern.

    Attributes:
        document: The id of the document.
        text: The line, without white space at its ends.
        start: The offset of the line in the document's text.
    """

    document: str
    text: str
    start: int
    place: Place


def list_headings(document: Document) -> list[Heading]:
    """Return the headings of a document, in the order of its text."""
    return [
        Heading(
            text=" ".join(block.span.cut(document.text).split()),
            depth=max(len(block.headings) - 1, 0),
            place=document.place_at(block.span.start),
        )
        for block in document.blocks
        if block.kind == "heading"
    ]


def find_lines(document: Document, pattern: re.Pattern[str]) -> Iterator[MatchingLine]:
    """Yield the lines of a document that contain a match of a pattern, in order."""
    start = 0
    for line in document.text.split("\n"):
        if pattern.search(line):
            place = document.place_at(start)
            yield MatchingLine(document=document.id, text=line.strip(), start=start, place=place)
        start += len(line) + 1
