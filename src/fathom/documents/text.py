"""Plain text: paragraphs between blank lines, and the few headings that are certain."""

import re

from fathom.documents.base import Builder, Parsed
from fathom.documents.decode import decode

_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
ITEM = re.compile(r"(?P<label>[-*•]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?P<text>\S.*)", re.DOTALL)
_STARTSITEM = re.compile(r"\n(?=[ \t]*(?:[-*•]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+\S)")
_CHAPTER = re.compile(
    r"(?P<part>BAB|CHAPTER|PART|BAGIAN|LAMPIRAN|APPENDIX)[ \t]+[\dIVXLC]{1,6}\b[ \t.:\u2013-]*"
    r"(?P<title>[^\n]{0,80})"
    r"|(?:Pasal|Article|Section)[ \t]+\d{1,4}[A-Z]?(?:[ \t]*[.:\u2013-][ \t]*[A-Z][^\n]{0,80})?"
)
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?[ \t]+[A-Z][^\n]{2,70}")
_SENTENCE_END = (".", ",", ";", ":", "?", "!")


def parse(data: bytes) -> Parsed:
    """Plain text in any encoding that can be told.

    Raises:
        Refused: For binary data, unknown encodings and mere white space.
    """
    builder = Builder()
    add_text(builder, decode(data))
    return builder.build()


def add_text(builder: Builder, text: str) -> None:
    """Add the paragraphs, list items and certain headings of `text`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for paragraph in _PARAGRAPHS.split(text):
        _add_paragraph(builder, paragraph.strip("\n"))


def heading_level(line: str) -> int | None:
    """The level of a line that is certainly a heading (`BAB I`, `Pasal 3`, `1.2 Title`)."""
    line = line.strip()
    chapter = _CHAPTER.fullmatch(line)
    if chapter:
        title = chapter["title"] or ""
        if title and (title.endswith(_SENTENCE_END) or not title[0].isupper()):
            return None
        return 1 if chapter["part"] else 2
    numbered = _NUMBERED.fullmatch(line)
    if numbered and "," not in line and not line.endswith(_SENTENCE_END):
        return numbered["number"].count(".") + 1
    return None


def _add_paragraph(builder: Builder, paragraph: str) -> None:
    first, _, rest = paragraph.partition("\n")
    # A numbered line alone may be a list item, unless it is longer numbered (`1.2`).
    level = heading_level(first)
    if level and (not rest.strip() or _CHAPTER.fullmatch(first.strip())):
        builder.heading(first, level)
        paragraph = rest
    for piece in _STARTSITEM.split(paragraph):
        item = ITEM.fullmatch(piece.strip())
        if item:
            builder.item(item["text"], item["label"])
        else:
            builder.paragraph(piece)
