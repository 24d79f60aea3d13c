"""Financial statements on a printed page: rows of amounts below heads that name periods."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from fathom.documents.formats.pdf.lines import PdfCell, PrintedLine
from fathom.text.dates import MONTH, YEAR

_LENGTH = re.compile(
    r"(?:for the )?(?:three|six|nine|twelve|tiga|enam|sembilan|dua belas|\d{1,2}) "
    r"(?:months?|bulan|weeks?)(?: periods?)?(?: ended| yang berakhir(?: pada)?| ending)?,?"
    r"|(?:for the )?(?:fiscal )?(?:quarters?|years?)(?: ended| ending),?"
    r"|(?:untuk )?tahun yang berakhir(?: pada)?(?: tanggal)?",
    re.IGNORECASE,
)
_DAY = re.compile(
    rf"(?:as of |as at |per )?(?:{MONTH} \d{{1,2}}|\d{{1,2}} {MONTH}),?", re.IGNORECASE
)
_DATE = re.compile(
    rf"(?:as of |as at |per )?(?:{MONTH} \d{{1,2}}, ?{YEAR}|\d{{1,2}} {MONTH} {YEAR})",
    re.IGNORECASE,
)
_YEAR = re.compile(rf"(?:fy ?)?{YEAR}", re.IGNORECASE)
_OTHER_LEAF = re.compile(
    r"%? ?(?:change|increase|decrease|perubahan)(?: ?\(?[%$]\)?)?", re.IGNORECASE
)
_REMARK = re.compile(
    r"\(?(?:un)?audited\)?|\(?tidak diaudit\)?|as (?:restated|adjusted)|\*", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"[$\u20ac\u00a3\u00a5]?\s?[-\u2212(]?[$\u20ac\u00a3\u00a5]?\s?\d[\d.,]*\)?\s?%?\)?|[\u2013\u2014-]|[$\u20ac\u00a3\u00a5]\s?[\u2013\u2014-]"
)
_SCALE = re.compile(r"\((?:in|dalam) [^()]{4,100}\)", re.IGNORECASE)
_HEAD_FORMS = (
    ("length", _LENGTH), ("date", _DATE), ("day", _DAY), ("year", _YEAR), ("other", _OTHER_LEAF),
    ("remark", _SCALE), ("remark", _REMARK),
)  # fmt: skip
"""The kinds of the parts of heads; a kind is tried before the kinds that are parts of it."""
_SIGN = re.compile(r"[$\u20ac\u00a3\u00a5]|Rp\.?|%\)?|\)")
_CURRENCY = re.compile(r"[$\u20ac\u00a3\u00a5]|Rp\.?")
_CAPTION = re.compile(
    r"\bstatements? of|balance sheets?|neraca|laporan (?:laba|arus|posisi|perubahan)"
    rf"|{_SCALE.pattern}",
    re.IGNORECASE,
)
_LONGEST_CAPTION = 130
_MOST_CAPTIONS = 4
_LONGEST_LABEL = 160
_FEWEST_ROWS = 2
_TOUCH = 8.0
"""The largest distance of an amount from its column, in points."""


class _Row(NamedTuple):
    """A row of a statement: a label with amounts, or a label alone.

    Attributes:
        label: The words before the amounts.
        amounts: The amounts, each with its currency and its other signs.
    """

    label: str
    amounts: tuple[PdfCell, ...]


@dataclass(frozen=True, slots=True)
class StatementHead:
    """The head of a statement; the statement may continue on the next page without a head.

    Attributes:
        names: The names of the columns; the first is the column of labels.
        places: The left and right ends of the columns of amounts, in points.
    """

    names: tuple[str, ...]
    places: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class PdfStatement:
    """A statement, or the part of one on a page.

    Attributes:
        lines: The number of its lines.
        head: Its head.
        rows: The cells of each row; a missing cell is empty.
        is_continued: Whether it continues the statement of the page before, whose head it has.
    """

    lines: int
    head: StatementHead
    rows: tuple[tuple[str, ...], ...]
    is_continued: bool = False


def find_statement(
    lines: Sequence[PrintedLine], before: str = "", last: StatementHead | None = None
) -> PdfStatement | None:
    """Return the statement that begins with the first of these lines, or `None`.

    A statement is a run of rows with amounts below heads that name the periods of all columns. Its
    caption and scale are above the heads, and become the name of the column of labels.

    Args:
        lines: The lines of a page, from one on.
        before: The text above the first of them, which may state the scale at its end.
        last: The head of the statement with which the page before ends, if the lines are those of a
            whole page.
    """
    caption = _take_caption(lines)
    heads = list(takewhile(_is_head, lines[len(caption) :]))
    first = len(caption) + len(heads)
    tokens = [
        token for line in heads for cell in _get_cells(line) for token in _read_head(cell) or ()
    ]
    leaves = _join_leaves(tokens)
    if not leaves:
        return _continue_statement(lines, last) if last and not caption else None
    rows, count = _take_rows(lines[first:], len(leaves))
    places = _find_places(rows, len(leaves))
    filled = [row for row in rows if row.amounts]
    # A lone column below a date may hold the numbers of pages.
    is_money = bool(caption) or len(leaves) > 1 or any(map(_has_currency, filled))
    if not places or len(filled) < _FEWEST_ROWS or not is_money:
        return None
    words = [line.text for line in caption] or _SCALE.findall(before)[-1:]
    words += [token.text for token in tokens if token.kind == "remark"]
    head = StatementHead((" ".join(dict.fromkeys(words)), *leaves), places)
    cells = [_fill_row(row, places) for row in rows]
    if any(row is None for row in cells):
        return None
    return PdfStatement(first + count, head, tuple(row for row in cells if row))


def _continue_statement(lines: Sequence[PrintedLine], last: StatementHead) -> PdfStatement | None:
    """Return the rows that continue the statement of the page before, or `None`."""
    rows, count = _take_rows(lines, len(last.places))
    cells = [_fill_row(row, last.places) for row in rows]
    is_whole = any(row.amounts for row in rows) and None not in cells
    filled = tuple(row for row in cells if row)
    return PdfStatement(count, last, filled, is_continued=True) if is_whole else None


def _get_cells(line: PrintedLine) -> tuple[PdfCell, ...]:
    return line.cells or (PdfCell(line.text, line.left, line.right),)


def _take_caption(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return the lines of the caption of a statement; none if the first line is no caption."""
    if not lines or not _is_caption(lines[0]) or not _CAPTION.search(lines[0].text):
        return []
    return list(takewhile(_is_caption, lines[:_MOST_CAPTIONS]))


def _is_caption(line: PrintedLine) -> bool:
    """Return whether a line can be part of a caption: short, without gaps, and no head."""
    is_short = len(line.text) <= _LONGEST_CAPTION and not line.text.endswith((".", ":"))
    return is_short and len(line.cells) < 2 and not _is_head(line)


class _HeadToken(NamedTuple):
    """A part of a head.

    Attributes:
        kind: Its kind, as in `_HEAD_FORMS`.
        text: Its words.
        left: Its left end, in points.
    """

    kind: str
    text: str
    left: float


def _is_head(line: PrintedLine) -> bool:
    """Return whether a line has nothing but parts of heads."""
    return bool(line.text) and all(_read_head(cell) is not None for cell in _get_cells(line))


def _read_head(cell: PdfCell) -> list[_HeadToken] | None:
    """Return the parts of heads in a cell; `None` if it has anything else."""
    tokens: list[_HeadToken] = []
    width = (cell.right - cell.left) / max(len(cell.text), 1)
    at = 0
    while at < len(cell.text):
        match = next(
            ((kind, part) for kind, form in _HEAD_FORMS if (part := form.match(cell.text, at))),
            None,
        )
        if match is None or match[1].end() == at:
            return None
        kind, part = match
        tokens.append(_HeadToken(kind, part[0].strip(" ,"), cell.left + at * width))
        at = part.end() + len(cell.text[part.end() :]) - len(cell.text[part.end() :].lstrip(" ,"))
    return tokens


def _join_leaves(tokens: Sequence[_HeadToken]) -> list[str]:
    """Join the parts of heads to the names of the columns of amounts, from left to right.

    Returns:
        The names; none if the parts do not fit together.
    """
    by_kind: dict[str, list[_HeadToken]] = defaultdict(list)
    for token in sorted(tokens, key=lambda token: token.left):
        by_kind[token.kind].append(token)
    days, years = by_kind["day"], by_kind["year"]
    dates = [*by_kind["date"], *(_spread(days, years, ", ") if days else years)]
    if not dates:
        return []
    leaves = sorted([*dates, *by_kind["other"]], key=lambda token: token.left)
    lengths = by_kind["length"]
    named = _spread(lengths, leaves, " ") if lengths else leaves
    return [token.text for token in named]


def _spread(
    above: Sequence[_HeadToken], below: Sequence[_HeadToken], glue: str
) -> list[_HeadToken]:
    """Join each lower part of a head with the upper part above it; none if they do not fit.

    Args:
        above: The upper parts, each of which spans the same number of lower ones.
        below: The lower parts, from left to right.
        glue: The text between an upper and a lower part.
    """
    if not below or len(below) % len(above):
        return []
    share = len(below) // len(above)
    return [
        _HeadToken(token.kind, f"{above[at // share].text}{glue}{token.text}", token.left)
        for at, token in enumerate(below)
    ]


def _take_rows(lines: Sequence[PrintedLine], columns: int) -> tuple[list[_Row], int]:
    """Return the rows of amounts from the first line on, and the number of their lines.

    Args:
        lines: The lines.
        columns: The number of columns of amounts.
    """
    rows: list[_Row] = []
    taken = 0
    pending: list[str] = []
    for at, line in enumerate(lines):
        row = _read_row(line, columns)
        if row is None or (at and line.baseline > lines[at - 1].baseline):
            break
        if not row.amounts:
            pending.append(row.label)
            continue
        label = row.label
        # A label that begins with a small letter or a number continues the line above it.
        if pending and (label[:1].islower() or label[:1].isdigit()):
            label = f"{pending.pop()} {label}"
        rows += [_Row(words, ()) for words in pending]
        rows.append(_Row(label, row.amounts))
        pending.clear()
        taken = at + 1
    return rows, taken


def _read_row(line: PrintedLine, columns: int) -> _Row | None:
    """Return a line as a row; `None` if it cannot be one."""
    cells = list(_get_cells(line))
    parts: list[PdfCell] = []
    while cells and (split := _split_amounts(cells[-1])):
        parts = [*split, *parts]
        cells.pop()
    label = " ".join(cell.text for cell in cells)
    amounts = _join_signs(parts)
    is_label = bool(label) and len(label) <= _LONGEST_LABEL
    if not amounts:
        return _Row(label, ()) if is_label and not label.endswith(".") and not parts else None
    return (
        _Row(label, tuple(amounts))
        if len(amounts) <= columns and len(label) <= _LONGEST_LABEL
        else None
    )


def _split_amounts(cell: PdfCell) -> list[PdfCell]:
    """Return the amounts and signs of a cell with their places; none if it has other words."""
    width = (cell.right - cell.left) / max(len(cell.text), 1)
    parts = [
        PdfCell(match[0], cell.left + match.start() * width, cell.left + match.end() * width)
        for match in re.finditer(r"\S+", cell.text)
    ]
    is_all = all(_AMOUNT.fullmatch(part.text) or _SIGN.fullmatch(part.text) for part in parts)
    return parts if is_all else []


def _join_signs(parts: Sequence[PdfCell]) -> list[PdfCell]:
    """Return the amounts, each with the signs around it."""
    amounts: list[PdfCell] = []
    currency: PdfCell | None = None
    for part in parts:
        if _CURRENCY.fullmatch(part.text):
            currency = part
        elif _SIGN.fullmatch(part.text):
            # A percent sign or a bracket comes after its number.
            if amounts:
                amounts[-1] = amounts[-1]._replace(text=f"{amounts[-1].text}{part.text}")
        else:
            text = f"{currency.text} {part.text}" if currency else part.text
            amounts.append(PdfCell(text, part.left, part.right))
            currency = None
    return amounts


def _has_currency(row: _Row) -> bool:
    return any(_CURRENCY.match(amount.text) for amount in row.amounts)


def _find_places(rows: Sequence[_Row], columns: int) -> tuple[tuple[float, float], ...]:
    """Return the left and right ends of the columns, from full rows; none without a full row."""
    full = [row.amounts for row in rows if len(row.amounts) == columns]
    return tuple(
        (min(amount.left for amount in column), max(amount.right for amount in column))
        for column in zip(*full, strict=True)
    )


def _fill_row(row: _Row, places: Sequence[tuple[float, float]]) -> tuple[str, ...] | None:
    """Return the cells of a row; `None` if an amount is in no column, or two are in one."""
    if not row.amounts:
        return (row.label,)
    cells = [""] * len(places)
    for amount in row.amounts:
        overlaps = [min(right, amount.right) - max(left, amount.left) for left, right in places]
        at = overlaps.index(max(overlaps))
        if cells[at] or overlaps[at] < -_TOUCH:
            return None
        cells[at] = amount.text
    return (row.label, *cells)
