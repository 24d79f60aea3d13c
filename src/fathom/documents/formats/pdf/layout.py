"""Headings, list items, tables and paragraphs from the printed lines of pages."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise, takewhile
from statistics import median

from fathom.documents.base import Builder
from fathom.documents.formats.pdf.lines import PageLines, PrintedLine, average_sureness
from fathom.documents.formats.pdf.statements import PdfStatement, StatementHead, find_statement
from fathom.documents.formats.pdf.tables import PdfTable, find_table, join_columns
from fathom.documents.formats.running_heads import select_body_lines
from fathom.documents.formats.text import ITEM, add_piece, find_heading_level

_WIDE_GAP = 1.45
_FULL = 0.85
_SMALL_SHARE = 0.2  # least share in prose, where about half of the lines start with a small letter
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "\u201d", '"')
_CHAPTER_ALONE = re.compile(r"(?:BAB|CHAPTER|PART|BAGIAN)\s+[\dIVXLC]+\.?")
_TORN = re.compile(r"\w[-\u2013/]$|//$")
_HEADING_CHARS = 120
_MOST_CARRIED = 12  # lines; a longer rest is probably another text
_HEADING_LINES = 3
_LARGE = 1.15  # times the size of most text
_MOST_LARGE = 0.3  # most of the lines; with more large lines, size marks no heading
_LEVELS = 4
_INDENT = 9.0  # points
_TITLE_LINES = 12
_TITLE_WITHIN = 40  # lines: above the company's name a form may have a dozen of its own
_TITLE_LARGE = 1.25  # times the median size of its page
_CONTENTS = re.compile(r"(?i)(table of )?contents|daftar isi|index|abstract|appendix")
_CAPITALS = re.compile(r"[A-Z][A-Z &/'\u2019-]{3,59}")
# Phrases above or below the title of every Indonesian law.
_FORMULA = re.compile(r"DENGAN RAHMAT|PRES ?I ?DEN|REPUBLIK INDONESIA$|SALINAN$|MENIMBANG")
_TITLE_CHARS = 200
_ABOVE = 3  # lines above a table that may tell its scale


def add_pages(builder: Builder, pages: Sequence[PageLines]) -> None:
    """Add the text of all pages, without running heads and feet."""
    sizes = _rank_sizes(pages)
    places = select_body_lines([[line.text for line in page.lines] for page in pages])
    bodies = [
        join_columns([page.lines[at] for at in page_places])
        for page, page_places in zip(pages, places, strict=True)
    ]
    for above, below in pairwise(bodies):
        _carry_over(above, below)
    last: StatementHead | None = None
    for page, lines in zip(pages, bodies, strict=True):
        builder.set_page(page.number)
        last = PageLayout(builder, page, lines, sizes).add_blocks(last)


def find_opening_title(page: PageLines) -> str:
    """Return the title on a first page, or `""`: its largest lines, else its first in capitals."""
    return _find_largest(page.lines[:_TITLE_WITHIN]) or _find_capitals(page)


def _find_largest(lines: Sequence[PrintedLine]) -> str:
    """Return the first lines of the largest size if they can be a title, else `""`.

    The size must be clearly larger than that of most lines.
    """
    candidates = [line for line in lines if line.text and not _FORMULA.match(line.text)]
    if not candidates:
        return ""
    size = max(line.size for line in candidates)
    if size < _TITLE_LARGE * median(line.size for line in candidates):
        return ""
    first = next(at for at, line in enumerate(candidates) if line.size == size)
    run = takewhile(lambda line: line.size == size, candidates[first : first + _HEADING_LINES])
    title = " ".join(line.text for line in run)
    fits = len(title) <= _TITLE_CHARS and any(c.isalpha() for c in title)
    return title if fits and not title[0].islower() and not _CONTENTS.fullmatch(title) else ""


def _rank_sizes(pages: Sequence[PageLines]) -> dict[float, int]:
    """Return the levels of headings by the size of their letters; empty if size marks none."""
    printed: Counter[float] = Counter()
    lines: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            printed[line.size] += len(line.text)
            lines[line.size] += 1
    if not printed:
        return {}
    body = max(printed, key=lambda size: printed[size])
    large = sorted((size for size in printed if size >= _LARGE * body > 0), reverse=True)
    if sum(lines[size] for size in large) > _MOST_LARGE * lines.total():
        return {}
    return {size: min(at, _LEVELS) for at, size in enumerate(large, start=1)}


def _find_capitals(page: PageLines) -> str:
    """Return the first lines in capitals near the top of a page, as in official papers, or `""`."""
    title: list[str] = []
    for line in page.lines[:_TITLE_LINES]:
        formula = _FORMULA.match(line.text) is not None
        if line.text.isupper() and not formula and not find_heading_level(line.text):
            title.append(line.text)
        elif title:
            break
    text = " ".join(title)
    return text if " " in text and len(text) <= _TITLE_CHARS else ""


def _carry_over(before: list[PrintedLine], after: list[PrintedLine]) -> None:
    """Move the end of a sentence that runs over the end of a page to the page where it begins.

    Args:
        before: The lines of a page, to which the end is added.
        after: The lines of the next page, from which it is removed.
    """
    if not before or not after or not _continues_sentence(before[-1], after[0]):
        return
    ends = (at for at, line in enumerate(after, start=1) if line.text.endswith(_SENTENCE_ENDS))
    count = next(ends, 0)
    if count <= _MOST_CARRIED:
        before += after[:count]
        del after[:count]


def _continues_sentence(above: PrintedLine, below: PrintedLine) -> bool:
    """Return whether a line continues the sentence of the line above it."""
    is_complete = not above.text or above.text.endswith(_SENTENCE_ENDS) or above.cells
    return not is_complete and below.text[:1].islower() and ITEM.match(below.text) is None


class PageLayout:
    """The layout of a page: its lines are grouped to blocks by their gaps, widths and labels."""

    def __init__(
        self,
        builder: Builder,
        page: PageLines,
        lines: list[PrintedLine],
        sizes: Mapping[float, int],
    ) -> None:
        self._builder = builder
        self._lines = lines
        self._sizes = sizes
        self._margin = min((line.left for line in lines), default=0.0)
        self._titles = {_normalize_title(title): level for level, title in page.titles}
        pitches = [a.baseline - b.baseline for a, b in pairwise(lines) if a.baseline > b.baseline]
        self._pitch = median(pitches) if pitches else 0.0
        widths = sorted(line.right - line.left for line in lines)
        # The 90th percentile: a few lines that stick out must not make all others look short.
        self._width = widths[-1 - len(widths) // 10] if widths else 0.0
        small = sum(1 for line in lines if line.text[:1].islower())
        self._is_prose = small >= _SMALL_SHARE * len(lines)

    def add_blocks(self, last: StatementHead | None = None) -> StatementHead | None:
        """Add the blocks of the page to the builder.

        Args:
            last: The head of the statement with which the page before ends; `None` without one.

        Returns:
            The head of the statement with which this page ends; `None` if it ends otherwise.
        """
        group: list[PrintedLine] = []
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            before = " ".join(line.text for line in self._lines[max(at - _ABOVE, 0) : at])
            statement = find_statement(self._lines[at:], before, last if at == 0 else None)
            table = find_table(self._lines[at:]) if len(line.cells) > 1 else None
            if statement or table:
                self._add_group(group)
                if statement:
                    at += self._add_statement(at, statement)
                    if at == len(self._lines):
                        return statement.head
                elif table:
                    at += self._add_table(at, table)
                continue
            level = self._find_level(at)
            if level:
                self._add_group(group)
                at += self._add_heading(at, level)
                continue
            if group and self._starts_paragraph(group[-1], line):
                self._add_group(group)
            group.append(line)
            at += 1
        self._add_group(group)
        return None

    def _add_table(self, at: int, table: PdfTable) -> int:
        """Add a table and return the number of its lines."""
        self._builder.set_sureness(average_sureness(self._lines[at : at + table.lines]))
        for row in table.rows:
            self._builder.add_row(list(row))
        return table.lines

    def _add_statement(self, at: int, statement: PdfStatement) -> int:
        """Add a statement and return the number of its lines."""
        self._builder.set_sureness(average_sureness(self._lines[at : at + statement.lines]))
        if not statement.is_continued:
            self._builder.add_row(list(statement.head.names), head=True)
        for row in statement.rows:
            self._builder.add_row(list(row))
        return statement.lines

    def _find_level(self, at: int) -> int | None:
        """Return the level of the line at an index if it is a heading, else `None`.

        The level comes from a bookmark, the words, the size of the letters or the margin.
        """
        text = self._lines[at].text
        if len(text) > _HEADING_CHARS:
            return None
        if level := self._titles.get(_normalize_title(text)):
            return level
        level = find_heading_level(text)
        # A number alone proves little, so such a line needs gaps around it.
        if level and not (text[0].isdigit() and not self._has_gaps_around(at)):
            return level
        return self._find_size_level(at) or self._find_margin_level(at)

    def _find_size_level(self, at: int) -> int | None:
        """Return the level by the size of the letters; `None` in a long run of large lines."""
        line = self._lines[at]
        level = self._sizes.get(line.size)
        if level is None or not self._may_be_heading(line):
            return None
        before = self._lines[at - 1] if at else None
        has_gap = before is None or before.size in self._sizes or self._has_gap(before, line)
        return level if has_gap and len(self._collect_run(at)) <= _HEADING_LINES else None

    def _may_be_heading(self, line: PrintedLine) -> bool:
        """Return whether a line may be a heading: no part of a sentence, and no phrase of laws."""
        text = line.text
        ends = text.endswith((*_SENTENCE_ENDS, ","))
        words = any(c.isalpha() for c in text) and text[0].isalnum() and not text[0].islower()
        flows = self._is_prose and self._is_full(line)
        return words and not ends and not flows and not _FORMULA.match(text)

    def _collect_run(self, at: int) -> list[PrintedLine]:
        """Return the lines of one size around a line, at most a few more than a heading has."""
        size = self._lines[at].size
        before = takewhile(lambda line: line.size == size, reversed(self._lines[:at]))
        after = takewhile(lambda line: line.size == size, self._lines[at:])
        return [*islice(before, _HEADING_LINES), *islice(after, _HEADING_LINES + 1)]

    def _find_margin_level(self, at: int) -> int | None:
        """Return the level of capitals at the margin above indented text, as in manual pages."""
        line = self._lines[at]
        after = self._lines[at + 1] if at + 1 < len(self._lines) else None
        if after is None or not _CAPITALS.fullmatch(line.text) or _FORMULA.match(line.text):
            return None
        below = after.baseline < line.baseline and after.left >= line.left + _INDENT
        return 1 if below and line.left < self._margin + _INDENT / 3 else None

    def _add_heading(self, at: int, level: int) -> int:
        """Add a heading and return the number of its lines.

        A heading may have several lines, such as `BAB I` above the title of the chapter.
        """
        lines = [self._lines[at]]
        for line in self._lines[at + 1 : at + 1 + _HEADING_LINES]:
            if not self._continues_heading(lines, line):
                break
            lines.append(line)
        self._builder.set_sureness(average_sureness(lines))
        self._builder.add_heading(" ".join(line.text for line in lines), level)
        return len(lines)

    def _continues_heading(self, heading: list[PrintedLine], line: PrintedLine) -> bool:
        """Return whether a line is still part of a heading."""
        if find_heading_level(line.text):
            return False
        if _CHAPTER_ALONE.fullmatch(heading[0].text):
            return line.text.isupper()
        same = line.size == heading[-1].size and line.size in self._sizes
        return same and not self._has_gap(heading[-1], line)

    def _has_gaps_around(self, at: int) -> bool:
        """Return whether there are wide gaps, or the ends of the page, around a line."""
        line = self._lines[at]
        before = self._lines[at - 1] if at else None
        after = self._lines[at + 1] if at + 1 < len(self._lines) else None
        return (before is None or self._has_gap(before, line)) and (
            after is None or self._has_gap(line, after)
        )

    def _has_gap(self, above: PrintedLine, below: PrintedLine) -> bool:
        """Return whether two lines are far apart or in different columns."""
        pitch = above.baseline - below.baseline
        return pitch < 0 or pitch > _WIDE_GAP * self._pitch or not (above.text and below.text)

    def _starts_paragraph(self, above: PrintedLine, below: PrintedLine) -> bool:
        """Return whether a new paragraph starts at a line, given the line above it."""
        if not below.text or not above.text or ITEM.match(below.text):
            return True
        pitch = above.baseline - below.baseline
        if pitch > _WIDE_GAP * self._pitch:
            return True
        is_complete = above.text.endswith(_SENTENCE_ENDS)
        if pitch < 0:  # the next column, in which the sentence may continue
            return is_complete or not below.text[0].islower()
        return is_complete and not self._is_full(above)

    def _is_full(self, line: PrintedLine) -> bool:
        """Return whether a line is nearly as wide as the text of the page."""
        return line.right - line.left >= _FULL * self._width

    def _add_group(self, group: list[PrintedLine]) -> None:
        """Add the lines of a group as one block, and empty the group."""
        if group:
            self._builder.set_sureness(average_sureness(group))
            add_piece(self._builder, self._join_lines(group))
            group.clear()

    def _join_lines(self, group: list[PrintedLine]) -> str:
        """Join wrapped lines; lines that end early, as in an address, stay lines."""
        pieces = [group[0].text]
        for above, below in pairwise(group):
            flows = (self._is_prose and self._is_full(above)) or below.text[:1].islower()
            glue = "" if _TORN.search(above.text) else " "
            pieces += [glue if flows else "\n", below.text]
        return "".join(pieces)


def _normalize_title(text: str) -> str:
    """Return a title without number, case and spacing, so that bookmark and printed line agree."""
    return re.sub(r"^[\d.\s]+|\W+", "", text).lower()
