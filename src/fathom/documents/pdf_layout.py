"""From printed lines to headings, list items and paragraphs."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from fathom.documents.base import Builder
from fathom.documents.pdf_lines import Line, PageLines
from fathom.documents.text import ITEM, heading_level

_EDGE_LINES = 2
_EDGE_SHARE = 0.6
_EDGE_PAGES = 3
_WIDE_GAP = 1.45
_FULL = 0.85
_SMALL_SHARE = 0.2  # of the lines of prose about half start with a small letter
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?i)\W*(?:page|halaman|hal\.?|seite|p\.)?\W*#(?:\W*(?:/|of|dari|von)\W*#)?\W*"
)
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "\u201d", '"')
_CHAPTER_ALONE = re.compile(r"(?:BAB|CHAPTER|PART|BAGIAN)\s+[\dIVXLC]+\.?")
_TORN = re.compile(r"\w[-\u2013/]$|//$")
_HEADING_CHARS = 120
_TITLE_LINES = 12
# Words that stand above or below the title of every Indonesian law.
_FORMULA = re.compile(r"DENGAN RAHMAT|PRES ?I ?DEN|REPUBLIK INDONESIA$|SALINAN$|MENIMBANG")
_TITLE_CHARS = 200


def add_pages(builder: Builder, pages: Sequence[PageLines]) -> None:
    """Add all pages; repeated page heads and feet are left out."""
    repeated = _repeated(pages)
    for page in pages:
        builder.page(page.number)
        _Layout(builder, page, _body(page.lines, repeated)).add()


def opening_title(page: PageLines) -> str:
    """The first run of lines in capitals near the top of a page, as official papers have it."""
    title: list[str] = []
    for line in page.lines[:_TITLE_LINES]:
        formula = _FORMULA.match(line.text) is not None
        if line.text.isupper() and not formula and not heading_level(line.text):
            title.append(line.text)
        elif title:
            break
    joined = " ".join(title)
    return joined if " " in joined and len(joined) <= _TITLE_CHARS else ""


def _repeated(pages: Sequence[PageLines]) -> frozenset[str]:
    """Lines that stand at the edge of most pages, numbers aside, and page numbers."""
    seen: Counter[str] = Counter()
    filled = [page for page in pages if page.lines]
    for page in filled:
        depth = _edge(page.lines)
        edge = (*page.lines[:depth], *page.lines[len(page.lines) - depth :])
        seen.update({_shape(line) for line in edge})
    if len(filled) < _EDGE_PAGES:
        return frozenset()
    return frozenset(shape for shape, n in seen.items() if n >= _EDGE_SHARE * len(filled))


def _body(lines: tuple[Line, ...], repeated: frozenset[str]) -> list[Line]:
    depth = _edge(lines)
    last = len(lines) - depth
    return [
        line for at, line in enumerate(lines) if depth <= at < last or _shape(line) not in repeated
    ]


def _edge(lines: tuple[Line, ...]) -> int:
    """How many lines at either end may be head and foot: never a page's whole content."""
    return min(_EDGE_LINES, len(lines) // 3)


def _shape(line: Line) -> str:
    shape = " ".join(_DIGITS.sub("#", line.text).split())
    return "#" if _PAGE_NUMBER.fullmatch(shape) else shape


class _Layout:
    """One page; lines are grouped by gap, width and label."""

    def __init__(self, builder: Builder, page: PageLines, lines: list[Line]) -> None:
        self._builder = builder
        self._lines = lines
        self._titles = {_key(title): level for level, title in page.titles}
        pitches = [a.baseline - b.baseline for a, b in pairwise(lines) if a.baseline > b.baseline]
        self._pitch = median(pitches) if pitches else 0.0
        widths = sorted(line.right - line.left for line in lines)
        self._width = widths[-1 - len(widths) // 10] if widths else 0.0
        small = sum(1 for line in lines if line.text[:1].islower())
        self._is_prose = small >= _SMALL_SHARE * len(lines)

    def add(self) -> None:
        group: list[Line] = []
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            level = self._heading(at)
            if level:
                self._close(group)
                at += self._add_heading(at, level)
                continue
            if group and self._parts(group[-1], line):
                self._close(group)
            group.append(line)
            at += 1
        self._close(group)

    def _heading(self, at: int) -> int | None:
        text = self._lines[at].text
        if len(text) > _HEADING_CHARS:
            return None
        if level := self._titles.get(_key(text)):
            return level
        level = heading_level(text)
        # A number alone proves little: only a line that stands apart is taken for a heading.
        if level and text[0].isdigit() and not self._stands_apart(at):
            return None
        return level

    def _add_heading(self, at: int, level: int) -> int:
        """Returns how many lines it took: `BAB I` stands above its own title."""
        text = self._lines[at].text
        taken = 1
        if _CHAPTER_ALONE.fullmatch(text):
            for line in self._lines[at + 1 : at + 4]:
                if not line.text.isupper() or heading_level(line.text):
                    break
                text = f"{text} {line.text}"
                taken += 1
        self._builder.heading(text, level)
        return taken

    def _stands_apart(self, at: int) -> bool:
        line = self._lines[at]
        before = self._lines[at - 1] if at else None
        after = self._lines[at + 1] if at + 1 < len(self._lines) else None
        return (before is None or self._gap(before, line)) and (
            after is None or self._gap(line, after)
        )

    def _gap(self, above: Line, below: Line) -> bool:
        pitch = above.baseline - below.baseline
        return pitch < 0 or pitch > _WIDE_GAP * self._pitch or not (above.text and below.text)

    def _parts(self, above: Line, below: Line) -> bool:
        """Whether a new paragraph starts at `below`."""
        if not below.text or not above.text or ITEM.match(below.text):
            return True
        pitch = above.baseline - below.baseline
        if pitch > _WIDE_GAP * self._pitch:
            return True
        ended = above.text.endswith(_SENTENCE_ENDS)
        if pitch < 0:  # the next column: a sentence may go on there
            return ended or not below.text[0].islower()
        return ended and not self._full(above)

    def _full(self, line: Line) -> bool:
        return line.right - line.left >= _FULL * self._width

    def _close(self, group: list[Line]) -> None:
        if group:
            text = self._joined(group)
            item = ITEM.fullmatch(text)
            if item:
                self._builder.item(item["text"], item["label"])
            else:
                self._builder.paragraph(text)
            group.clear()

    def _joined(self, group: list[Line]) -> str:
        """Wrapped lines become one; lines that end early (tables, addresses) stay lines."""
        pieces = [group[0].text]
        for above, below in pairwise(group):
            flows = (self._is_prose and self._full(above)) or below.text[:1].islower()
            glue = "" if _TORN.search(above.text) else " "
            pieces += [glue if flows else "\n", below.text]
        return "".join(pieces)


def _key(text: str) -> str:
    """A title without its number, case and spacing, so that bookmark and print agree."""
    return re.sub(r"^[\d.\s]+|\W+", "", text).lower()
