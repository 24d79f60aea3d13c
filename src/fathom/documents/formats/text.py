"""Plain text: paragraphs between blank lines, list items, and lines that surely are headings."""

import re

from fathom.documents.base import Builder, ParsedDocument
from fathom.documents.decode import decode_text
from fathom.documents.formats.running_heads import remove_running_heads

_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_SYMBOLS = "\uf0a7\uf0b7\uf0d8\uf0fc"
"""The bullets of symbol fonts, in whose place only these fonts show a sign."""
_LABEL = (
    rf"[-*\u2022\u00b7\u25aa\u25cf\u25e6\u2023\u2043\u25a0\u25ba\u27a2\u2756{_SYMBOLS}]"
    r"|\(?\d{1,3}[.)]|\(?[a-z][.)]|\(?[ivx]{2,5}[.)]"
)
ITEM_LABEL = re.compile(rf"{_LABEL}|o")
"""The label of a list item; a lone `o` counts only with wide white space after it."""
ITEM = re.compile(rf"(?P<label>{_LABEL}|o(?=[ \t]{{2}}))[ \t]+(?P<text>\S.*)", re.DOTALL)
_ITEM_START = re.compile(rf"\n(?=[ \t]*(?:{_LABEL}|o(?=[ \t]{{2}}))[ \t]+\S)")
_CHAPTER = re.compile(
    r"(?P<part>BAB|CHAPTER|PART|BAGIAN|LAMPIRAN|APPENDIX)[ \t]+[\dIVXLC]{1,6}\b"
    r"[ \t.:\u2013\u2014-]*(?P<title>[^\n]{0,80})"
    r"|(?:Pasal|Article|Section|Item|ITEM)[ \t]+\d{1,4}[A-Z]?"
    r"(?:[ \t]*[.:\u2013\u2014-][ \t]*[A-Z][^\n]{0,110}(?<!\d))?"
    r"|(?P<roman>[IVX]{1,5})\.[ \t]+[A-Z][^\n]{2,70}"
)
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?[ \t]+[A-Z][^\n]{2,70}")
_PROMPT = re.compile(r"\s*\$[ \t]+\S")
_CARDS = re.compile(r"\s*BEGIN:(?:VCALENDAR|VCARD)[ \t]*\n", re.IGNORECASE)
"""The beginning of a calendar or an address book (iCalendar, vCard)."""
_FOLD = re.compile(r"\n[ \t]")
_ENTRY = re.compile(r"\n(?=BEGIN:)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([nN,;\\])")
_SHORT = 50  # characters; a wrapped line is longer
_SENTENCE_END = (".", ",", ";", ":", "?", "!")


def parse(data: bytes) -> ParsedDocument:
    """Parse plain text in any detectable encoding.

    Raises:
        ParseRefusal: `no_document` for binary data, `unsupported` for an unknown encoding, `empty`
            for mere white space.
    """
    builder = Builder()
    text = decode_text(data).replace("\r\n", "\n")
    text = _unfold_cards(text) if _CARDS.match(text) else remove_running_heads(text)
    add_text(builder, text)
    return builder.build(opening=False)


def _unfold_cards(text: str) -> str:
    """Return a calendar or address book with whole lines, plain signs and an entry a paragraph."""
    entries = _ENTRY.sub("\n\n", _FOLD.sub("", text))
    return _ESCAPED.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], entries)


def add_text(builder: Builder, text: str) -> None:
    """Add the paragraphs, list items, typed commands and sure headings of a text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for paragraph in _PARAGRAPHS.split(text):
        _add_paragraph(builder, paragraph.strip("\n"))


def add_piece(builder: Builder, text: str) -> None:
    """Add a text as a list item if it begins with a printed label, else as a paragraph."""
    item = ITEM.fullmatch(text)
    if item is None:
        builder.add_labelled(text)
        return
    builder.add_labelled(item["text"], "\u2022" if item["label"] in _SYMBOLS else item["label"])


def find_heading_level(line: str) -> int | None:
    """Return the level of a line that surely is a heading (`BAB I`, `Pasal 3`), else `None`."""
    line = line.strip()
    chapter = _CHAPTER.fullmatch(line)
    if chapter:
        title = chapter["title"] or ""
        if title and (title.endswith(_SENTENCE_END) or not title[0].isupper()):
            return None
        return 1 if chapter["part"] or chapter["roman"] else 2
    numbered = _NUMBERED.fullmatch(line)
    if numbered and "," not in line and not line.endswith(_SENTENCE_END):
        return numbered["number"].count(".") + 1
    return None


def _is_run_in_heading(first: str, rest: str) -> bool:
    """Return whether a numbered line is the title of the text right below it, and no part of it."""
    is_deep = re.match(r"\s*\d{1,2}\.\d", first) is not None
    return is_deep and len(first.strip()) <= _SHORT and rest.lstrip()[:1].isupper()


def _add_paragraph(builder: Builder, paragraph: str) -> None:
    """Add a paragraph: its heading if it begins with one, then its list items."""
    if _PROMPT.match(paragraph):
        builder.add_code(paragraph)
        return
    first, _, rest = paragraph.partition("\n")
    # A numbered line may be a list item, unless its number has several levels (`1.2`).
    level = find_heading_level(first)
    if level and (
        not rest.strip() or _CHAPTER.fullmatch(first.strip()) or _is_run_in_heading(first, rest)
    ):
        builder.add_heading(first, level)
        paragraph = rest
    for piece in _ITEM_START.split(paragraph):
        add_piece(builder, piece.strip())
