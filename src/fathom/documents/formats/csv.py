"""Tables as text; each row repeats the headers, so that it can be understood alone."""

import csv
import io
import re
from itertools import takewhile

from fathom.documents.base import Builder, ParsedDocument
from fathom.documents.decode import decode_text
from fathom.documents.formats.periods import name_columns

_DELIMITERS = "\t;,|"
"""The delimiters; of two that split all rows evenly, the first one counts."""
_STATED_DELIMITER = re.compile(
    r"[\"']?sep=(?P<mark>[^\w\s\"']|\t)[\"']?[ \t]*(?:\r\n?|\n)", re.IGNORECASE
)
"""The first line with which a file tells Excel its delimiter."""
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d{1,3}(?:\.?\d{3})*,\d+\s*[%\u20ac$]?\s*")
"""A line with nothing but a number with a decimal comma."""
_LOOK_AHEAD = 3
_END = "\x1e"
"""The last row, which shows whether all quotations before it were closed."""
_SAMPLE_ROWS = 50
_MOST_TITLES = 10
"""The number of rows above the names of the columns in which a title may stand."""
_LONGEST_NAME = 500
"""The most characters of a name that stands before each value of its column: a whole question of a
survey. A longer one would fill the memory of the reader."""
_FIELD_BYTES = 10_000_000
"""The longest accepted field, in characters."""


def parse(data: bytes) -> ParsedDocument:
    """Parse CSV, TSV and similar files; the first row names the columns if it holds no numbers.

    Raises:
        ParseRefusal: For binary data, unknown encodings and tables without text.
    """
    # The library's own limit, 131,072 characters, refuses long texts.
    csv.field_size_limit(_FIELD_BYTES)
    builder = Builder()
    rows = _read_rows(decode_text(data))
    titles = _count_titles(rows)
    for title in rows[:titles]:
        builder.add_row(title[:1])
    headers: list[str] | None = None
    for at, cells in enumerate(rows[titles:], start=titles + 1):
        if headers is None:
            headers = [cell.strip() for cell in cells]
            below = rows[at : at + _LOOK_AHEAD]
            has_names = _names_columns(headers) or _names_periods(headers, below)
            builder.add_row(cells, head=has_names)
            names = headers if has_names else []
            headers = [name if len(name) <= _LONGEST_NAME else "" for name in names]
        else:
            builder.add_row(label_cells(cells, headers))
    return builder.build()


def label_cells(cells: list[str], headers: list[str]) -> list[str]:
    """Return the filled cells of a row as `header: cell`; cells without a header stay alone."""
    names = headers + [""] * (len(cells) - len(headers))
    return [
        f"{name}: {cell.strip()}" if name else cell
        for name, cell in zip(names, cells, strict=False)
        if cell.strip()
    ]


def is_csv(text: str) -> bool:
    """Return whether the first lines agree on a delimiter and on at least three columns."""
    lines = [line for line in text[:100_000].splitlines()[:_SAMPLE_ROWS] if line.strip()]
    if len(lines) < 3:
        return False
    counts = [{line.count(mark) for line in lines} for mark in _DELIMITERS]
    return any(len(widths) == 1 and min(widths) >= 2 for widths in counts)


def _read_rows(text: str) -> list[list[str]]:
    """Return the rows that are not empty, split by the stated or the likeliest delimiter."""
    stated = _STATED_DELIMITER.match(text)
    text = text[stated.end() :] if stated else text
    delimiter = stated["mark"] if stated else _detect_delimiter(text)
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        # A mark of quotation that opens a cell and is never closed would swallow all rows below it.
        stream = io.StringIO(f"{text}\n{_END}", newline="")
        *rows, last = csv.reader(stream, delimiter=delimiter, quoting=quoting)
        if last == [_END]:
            break
    return [row for row in rows if any(cell.strip() for cell in row)]


def _detect_delimiter(text: str) -> str:
    """Return the mark that splits the first rows most evenly into the most columns.

    A mark that splits the first row like most others is preferred, because it surely stands between
    cells and not only in their texts.
    """
    sample = text[:200_000].splitlines()[:_SAMPLE_ROWS]
    name, *values = list(filter(str.strip, sample)) or [""]
    if values and "," not in name and all(map(_DECIMAL_COMMA.fullmatch, values)):
        return ";"  # one column of numbers
    best, best_score = ",", (False, 0.0)
    for mark in _DELIMITERS:
        widths = [len(row) for row in csv.reader(sample, delimiter=mark) if row]
        if not widths:
            continue
        usual = max(set(widths), key=widths.count)
        score = (usual - 1) * widths.count(usual) / len(widths)
        is_even = usual > 1 and widths[0] == usual
        if (is_even, score) > best_score:
            best, best_score = mark, (is_even, score)
    return best


def _count_titles(rows: list[list[str]]) -> int:
    """Return the number of rows above the names of the columns that have only their first cell.

    Rows that are not surely above names, because the next rows are no table, are no titles.
    """
    count = sum(1 for _ in takewhile(_is_title, rows[:_MOST_TITLES]))
    names, *below = rows[count : count + 3] or [[]]
    is_table = bool(below) and all(len(row) == len(names) for row in below)
    names = [name.strip() for name in names]
    has_names = all(names) and (_names_columns(names) or _names_periods(names, below))
    return count if is_table and has_names else 0


def _is_title(row: list[str]) -> bool:
    return bool(row[0].strip()) and not any(cell.strip() for cell in row[1:])


def _names_columns(cells: list[str]) -> bool:
    """Return whether a first row names columns: several cells, none of them a number."""
    return len(cells) > 1 and not any(map(_is_number, cells))


def _names_periods(cells: list[str], below: list[list[str]]) -> bool:
    """Return whether the numbers of a first row are years or days that name their columns."""
    periods = {at: cell for at, cell in enumerate(cells) if _is_number(cell)}
    values = (cell.strip() for row in below for at, cell in enumerate(row) if at in periods)
    return len(periods) < len(cells) and name_columns(list(periods.values()), values)


def _is_number(cell: str) -> bool:
    return cell.replace(".", "").replace(",", "").replace("-", "").isdigit()
