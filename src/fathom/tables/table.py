"""Typed tables: columns with a kind, a unit and a scale, and cells with their values."""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Self

from fathom.tables.rows import RawTable
from fathom.tables.units import find_factors, parse_measure
from fathom.tables.values import (
    is_empty,
    parse_duration,
    parse_number,
    parse_period,
    prefers_day_first,
    prefers_decimal_comma,
)
from fathom.text.dates import Date
from fathom.text.language import detect_language
from fathom.text.numbers import parse_quantities

ColumnKind = Literal["number", "date", "duration", "text"]

_LEAST_SHARE = 0.6
"""The least share of a column's filled cells that must be of a kind."""
_YEAR_NAME = re.compile(r"year|season|tahun|date|edition|established|founded|built", re.IGNORECASE)
_ORDER_NAME = re.compile(
    r"#|no\.?|nr\.?|rank|ranking|pos\.?|position|place|pick|draw|game|week|ep#"
)
_CODE_NAME = re.compile(r"id|sku|[\w ]{1,30} (?:no\.?|nr\.?|number|id|code)")
"""The name of a column of codes, whose digits are no amounts and no dates."""
_SCALE = re.compile(
    r"\b(?:thousand|million|billion|trillion|ribu|juta|mili?ar|triliun)s?\b|\b[x\u00d7] ?1000\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\(([^()]*)\)\s*$|([%$\u20ac\u00a3\u00a5])|\bin ([\w\u00b2]{1,6})$")
_LONGEST_UNIT = 20
_MOST_VOTES = 1000
"""The largest number of rows whose numbers are examined for the decimal mark."""
_MOST_OTHER_LETTERS = 12
"""The largest number of letters besides a month's name in a cell of a column of dates."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a typed table, with every value that its text may stand for.

    Attributes:
        text: The content; empty if the row has no such cell.
        number: The number that it begins with; `None` without one.
        unit: The unit behind or before the number; empty without one.
        period: The first and the last date that it names; `None` without one.
        duration: The seconds of the duration that it states; `None` without one.
    """

    text: str = ""
    number: float | None = None
    unit: str = ""
    period: tuple[Date, Date] | None = None
    duration: float | None = None

    @property
    def is_blank(self) -> bool:
        """True if the cell holds no value."""
        return is_empty(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a typed table.

    Attributes:
        name: The name in the head; empty without a head.
        kind: The kind of most of its values.
        unit: The unit of most cells, else the one that the head names; empty unless the column is
            of the kind `number`.
        scale: The factor that the head names, such as 1,000,000 for "in millions"; else 1.
        is_order: Whether the column only numbers or ranks the rows.
    """

    name: str
    kind: ColumnKind
    unit: str = ""
    scale: float = 1.0
    is_order: bool = False


@dataclass(frozen=True, slots=True)
class CellColumn:
    """The cells of a column, of which equal ones are stored once.

    Attributes:
        cells: The distinct cells.
        codes: For each row, the code of its cell, which is its place among the distinct cells.
        numbers: For each distinct cell, its number; `None` without one.
    """

    cells: Sequence[Cell]
    codes: Sequence[int]
    numbers: Sequence[float | None]

    @classmethod
    def of(cls, texts: Iterable[str], read: Callable[[str], Cell]) -> Self:
        """Build a column from the texts of its cells.

        Args:
            texts: The text of the cell of each row.
            read: A function that returns the cell for a text.
        """
        places: dict[str, int] = {}
        codes = array("I", (places.setdefault(text, len(places)) for text in texts))
        cells = tuple(map(read, places))
        return cls(cells, codes, tuple(cell.number for cell in cells))

    def __getitem__(self, row: int) -> Cell:
        return self.cells[self.codes[row]]

    def __iter__(self) -> Iterator[Cell]:
        cells = self.cells
        return (cells[code] for code in self.codes)

    def list_rows(self, codes: Collection[int]) -> frozenset[int]:
        """Return the rows whose cells have one of some codes."""
        return frozenset(row for row, code in enumerate(self.codes) if code in codes)

    def select_rows(self, test: Callable[[Cell], object]) -> frozenset[int]:
        """Return the rows whose cell passes a test; equal cells are tested once."""
        return self.list_rows({code for code, cell in enumerate(self.cells) if test(cell)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with typed columns.

    Attributes:
        title: The nearest heading above it, else the document's title.
        columns: The columns.
        contents: The cells of each column.
        row_count: The number of rows below the head.
        key: The column whose values name the rows, from 0.
        decimal_comma: Whether its numbers are written with a decimal comma, as in Indonesian.
    """

    title: str
    columns: tuple[Column, ...]
    contents: Sequence[CellColumn]
    row_count: int
    key: int
    decimal_comma: bool = False

    @property
    def day_first(self) -> bool:
        """True if the day is before the month in its dates in figures."""
        texts = (cell.text for content in self.contents for cell in content.cells if cell.period)
        by_cells = prefers_day_first(texts)
        return self.decimal_comma if by_cells is None else by_cells

    def list_cells(self, row: int, last: int) -> list[Cell]:
        """Return the cells of a row from the first column up to `last`, which is included."""
        return [self.contents[column][row] for column in range(last + 1)]

    def get_cell(self, row: int, column: int) -> Cell:
        """Return the cell of a row and a column, both from 0."""
        return self.contents[column][row]

    def get_value(self, row: int, column: int) -> float | Date | None:
        """Return the value of a cell by the kind of its column, as `read_value` does."""
        return self.read_value(self.contents[column][row], column)

    def list_values(self, rows: Sequence[int], column: int) -> Sequence[float | Date | None]:
        """Return the values of some rows in a column, as `read_value` does."""
        content = self.contents[column]
        if self.columns[column].kind in {"number", "text"}:
            numbers, codes = content.numbers, content.codes
            return [numbers[codes[row]] for row in rows]
        return [self.read_value(content[row], column) for row in rows]

    def read_value(self, cell: Cell, column: int) -> float | Date | None:
        """Return the value by which a cell is compared with others of its column.

        It is the first date in a column of dates, the seconds in a column of durations, else the
        number; `None` if the cell has no such value.
        """
        kind = self.columns[column].kind
        if kind == "date":
            return cell.period[0] if cell.period else None
        if kind == "duration":
            return cell.duration
        return cell.number


def build_table(raw: RawTable, title: str = "") -> Table:
    """Return the typed table of a table of texts.

    Args:
        raw: The table of texts, with at least one row.
        title: The title of the document, for a table without a heading.
    """
    names, texts = _read_columns(raw)
    decimal_comma = _has_decimal_comma(raw, title)
    by_cells = prefers_day_first(text for column in texts for text in dict.fromkeys(column))
    # Languages with a decimal comma put the day first.
    day_first = decimal_comma if by_cells is None else by_cells
    reader = _CellReader(decimal_comma=decimal_comma, day_first=day_first)
    contents = tuple(_align_units(CellColumn.of(column, reader.read)) for column in texts)
    columns = tuple(
        _type_column(name, contents[at], is_first=at == 0) for at, name in enumerate(names)
    )
    return Table(
        title=(raw.headings[-1] if raw.headings else "") or title,
        columns=columns,
        contents=contents,
        row_count=len(raw.rows),
        key=_find_key(columns, contents),
        decimal_comma=decimal_comma,
    )


def _align_units(content: CellColumn) -> CellColumn:
    """Return a column with all numbers in the unit of most rows, if their units can be compared.

    Otherwise, and if all units have one size, the column stays as it is.
    """
    counts = Counter(content.codes)
    rows: Counter[str] = Counter()
    for code, cell in enumerate(content.cells):
        if cell.number is not None:
            rows[cell.unit] += counts[code]
    factors = find_factors(rows)
    if not factors:
        return content
    # Numbers with scales, such as "1.5 million" beside "840 thousand", are multiplied out.
    measure = parse_measure(next(iter(rows)))
    unit = rows.most_common(1)[0][0] if measure and measure.kind else ""
    base = factors.get(unit, 1.0)
    cells = tuple(
        cell
        if cell.number is None
        else replace(cell, number=round(cell.number * factors[cell.unit] / base, 9), unit=unit)
        for cell in content.cells
    )
    return CellColumn(cells, content.codes, tuple(cell.number for cell in cells))


def _has_decimal_comma(raw: RawTable, title: str) -> bool:
    """Return whether numbers have a decimal comma: by the cells, else if the text is Indonesian."""
    by_cells = prefers_decimal_comma(cell.text for row in raw.rows[:_MOST_VOTES] for cell in row)
    if by_cells is not None:
        return by_cells
    words = [title, *raw.headings, *raw.names, *(cell.text for cell in raw.rows[0])]
    return detect_language(" ".join(words)) == "id"


def _read_columns(raw: RawTable) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and for each column the text of each row.

    The text is empty if a row has no such cell. Without a head, labels in the rows give the names.
    """
    count = len(raw.rows)
    names = list(raw.names)
    columns = [[""] * count for _ in names]
    for at, row in enumerate(raw.rows):
        for cell in row:
            while cell.column >= len(names):
                names.append("")
                columns.append([""] * count)
            columns[cell.column][at] = cell.text
            if not names[cell.column]:
                names[cell.column] = cell.name
    return names, columns


@dataclass(frozen=True, slots=True)
class _CellReader:
    """A reader of cells that reads equal texts once, because long tables repeat them.

    Attributes:
        decimal_comma: Whether numbers have a decimal comma.
        day_first: Whether dates in figures begin with the day.
    """

    decimal_comma: bool
    day_first: bool
    _cells: dict[str, Cell] = field(default_factory=dict)

    def read(self, text: str) -> Cell:
        """Return the cell for a text, with all values that the text may stand for."""
        cell = self._cells.get(text)
        if cell is None:
            number = parse_number(text, decimal_comma=self.decimal_comma)
            value, unit = number or (None, "")
            period = parse_period(text, day_first=self.day_first)
            cell = Cell(text, value, unit, period, parse_duration(text))
            self._cells[text] = cell
        return cell


class _CountedCell(NamedTuple):
    """A distinct cell of a column.

    Attributes:
        cell: The cell, which holds a value.
        frequency: The number of rows that have it.
    """

    cell: Cell
    frequency: int


def _type_column(name: str, content: CellColumn, *, is_first: bool) -> Column:
    """Return the description of a column.

    Args:
        name: The name of the column.
        content: The cells of the column.
        is_first: Whether it is the first column, which may only number the rows.
    """
    counts = Counter(content.codes)
    filled = [
        _CountedCell(cell, counts[code])
        for code, cell in enumerate(content.cells)
        if not cell.is_blank
    ]
    bare_name = re.sub(r"[^\w#.]", " ", name.lower()).strip()
    is_code = _CODE_NAME.fullmatch(bare_name) and len(counts) > 1 == max(counts.values())
    kind = "text" if is_code else _find_kind(name, filled)
    numbers = [cell.number for cell, count in filled if count == 1]
    is_counter = numbers == [float(at + 1) for at in range(len(filled))]
    return Column(
        name=name,
        kind=kind,
        unit=_find_unit(name, filled) if kind == "number" else "",
        scale=_read_scale(name),
        is_order=bool(_ORDER_NAME.fullmatch(bare_name))
        or (is_first and is_counter and len(filled) > 2 and kind != "date"),
    )


def _find_unit(name: str, filled: Sequence[_CountedCell]) -> str:
    """Return the unit of more than half of the cells, else the one in the name; empty without one.

    Args:
        name: The name of the column.
        filled: The distinct cells that hold a value.
    """
    units: Counter[str] = Counter()
    for cell, count in filled:
        units[cell.unit] += count
    common = units.most_common(1)[0][0] if units else ""
    if common and 2 * units[common] > units.total() and len(common) <= _LONGEST_UNIT:
        return common
    match = _UNIT.search(name)
    unit = next(filter(None, match.groups()), "") if match else ""
    return unit if len(unit) <= _LONGEST_UNIT and not any(map(str.isdigit, unit)) else ""


def _find_kind(name: str, filled: Sequence[_CountedCell]) -> ColumnKind:
    """Return the kind that enough cells have; `text` if no other kind has enough.

    Args:
        name: The name of the column.
        filled: The distinct cells that hold a value.
    """

    def count_cells(test: Callable[[Cell], object]) -> int:
        return sum(count for cell, count in filled if test(cell))

    def is_mostly(count: int) -> bool:
        return bool(filled) and count >= _LEAST_SHARE * total

    total = sum(count for _, count in filled)
    years = count_cells(lambda cell: cell.period and _is_short(cell.text))
    # A text such as "(1998)" is a number below zero in accounts, and a year beside other dates.
    bare_years = count_cells(
        lambda cell: (cell.number or -1) >= 0 and cell.period is not None and len(cell.text) <= 6
    )
    if is_mostly(years) and (_YEAR_NAME.search(name) or not is_mostly(bare_years)):
        return "date"
    # Amounts from a thousand on may look like years, so all cells must be years here.
    if is_mostly(bare_years) and bare_years == total and not _UNIT.search(name):
        return "date"
    if is_mostly(count_cells(lambda cell: cell.duration is not None)):
        return "duration"
    return "number" if is_mostly(count_cells(lambda cell: cell.number is not None)) else "text"


def _is_short(text: str) -> bool:
    """Return whether a cell with a date holds few letters besides the date."""
    return sum(map(str.isalpha, text)) <= _MOST_OTHER_LETTERS + len("September")


def _read_scale(name: str) -> float:
    """Return the factor that the name of a column states, such as 1000 for "thousands"; else 1."""
    match = _SCALE.search(name)
    if match is None:
        return 1.0
    quantities = parse_quantities("1 " + match[0].lower().rstrip("s"))
    return quantities[0].value if quantities and match[0][-1].isalpha() else 1000.0


def _find_key(columns: Sequence[Column], contents: Sequence[CellColumn]) -> int:
    """Return the column whose values name the rows.

    It is a column of texts with a large share of different values, preferably an early one; without
    such a column, the first one.
    """
    best, best_share = 0, 0.0
    for at, column in enumerate(columns):
        texts = [cell.text for cell in contents[at].cells if not cell.is_blank]
        share = len(texts) / len(contents[at].codes)
        # An earlier column wins unless a later one distinguishes the rows much better.
        if column.kind == "text" and not column.is_order and share > best_share + 0.35:
            best, best_share = at, share
    return best
