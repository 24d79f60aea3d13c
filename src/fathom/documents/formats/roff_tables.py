"""Tables in the source of manual pages, which `tbl` sets (`.TS` to `.TE`)."""

import re
from collections.abc import Iterator, Sequence

from fathom.documents.base import Builder

_TAB = re.compile(r"tab[ \t]*\((.)\)")
_RULES = frozenset({"_", "="})
_FORMAT_END = "."
_TEXT, _TEXT_END = "T{", "T}"
"""The marks around a text of several lines in a cell."""


def group_tables(lines: Sequence[str]) -> Iterator[str | list[str]]:
    """Yield the lines of a page; those of a table together, without its first and last line."""
    table: list[str] | None = None
    for line in lines:
        if table is None and line.startswith(".TS"):
            table = []
        elif table is None:
            yield line
        elif line.startswith(".TE"):
            yield table
            table = None
        else:
            table.append(line)
    yield from table or ()


def add_table(builder: Builder, lines: Sequence[str]) -> None:
    """Add a table; a row above a rule is its head."""
    lines = list(lines)
    tab = "\t"
    if lines and lines[0].rstrip().endswith(";"):
        stated = _TAB.search(lines.pop(0))
        tab = stated[1] if stated else tab
    rows = [row for row in _join_lines(_drop_formats(lines)) if row.strip()]
    for at, row in enumerate(rows):
        if row in _RULES:
            continue
        is_head = at == 0 and len(rows) > 1 and rows[1] in _RULES
        builder.add_row([" ".join(cell.split()) for cell in row.split(tab)], head=is_head)


def _drop_formats(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table without those that describe its columns, and without requests."""
    in_format = True
    for line in lines:
        if in_format:
            in_format = not line.rstrip().endswith(_FORMAT_END)
        elif line.startswith(".T&"):
            in_format = True
        elif not re.match(r"\.[A-Za-z]", line):
            yield line


def _join_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield the rows of a table, each on one line."""
    row = ""
    in_text = False
    for line in lines:
        if in_text and line.startswith(_TEXT_END):
            row += line.removeprefix(_TEXT_END)
            in_text = False
        else:
            row += f" {line}" if in_text else line
        if not in_text and row.rstrip().endswith(_TEXT):
            row = row.rstrip().removesuffix(_TEXT)
            in_text = True
        elif not in_text:
            yield row.strip() if row.strip() in _RULES else row
            row = ""
