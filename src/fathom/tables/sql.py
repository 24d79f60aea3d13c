"""The execution of a language model's SQL SELECT over typed tables, with the cells that went in.

A statement may hold only words and signs of a small part of SELECT, names of these tables and their
columns, numbers and quoted texts. Its table is copied into a database in memory, in which SQLite
lets it read this table and nothing else, for a bounded number of steps. To find the rows that went
in, each SELECT of the statement is run again with the numbers of its rows as a further value.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count, pairwise
from typing import NamedTuple

from fathom.tables.computation import Operand, Result
from fathom.tables.conditions import NEGATING_WORDS
from fathom.tables.links import TableWords, split_words
from fathom.tables.table import Cell, Table
from fathom.tables.table_question import TableQuestion
from fathom.tables.values import fold_text, format_number
from fathom.text.language import load_stop_words, split_set
from fathom.text.numbers import parse_numbers

ROW = "row_no"
"""The name of the column with the number of the row, from 1."""
_KEYWORDS = split_set(
    "select distinct from where and or not in is null like between group by having order asc desc "
    "limit offset as case when then else end cast real integer text"
)
_FURTHER_KEYWORDS = split_set(
    "table index join on using union all values set update delete insert into create drop "
    "alter with exists pragma attach to if primary key default check column glob match escape "
    "collate natural left right inner outer cross full over window filter rows range returning"
)
"""Words of SQL that no statement may hold, and that are no name of a column or an alias."""
_AGGREGATES = split_set("count sum avg min max total")
_FUNCTIONS = _AGGREGATES | split_set(
    "abs round length lower upper substr coalesce ifnull nullif instr trim"
)
_CALLED = _FUNCTIONS | {"like", "group_concat"}
"""The functions that SQLite may call; `like` is called for LIKE, `group_concat` for the rows."""
_TOKEN = re.compile(
    r"\s+|(?P<text>'(?:[^']|'')*')|(?P<name>\"[^\"]+\"|`[^`]+`|[A-Za-z_]\w*)"
    r"|(?P<number>\d+(?:\.\d+)?)|(?P<sign><>|<=|>=|!=|==|\|\||[-+*/%(),.=<>])"
)
_DAY = re.compile(r"(\d{4})(?:-\d\d){1,2}")
_SPACES = re.compile(
    rf"(\() | (?=[,)])|(\b(?:{'|'.join(sorted(_FUNCTIONS))})) (?=\()", re.IGNORECASE
)
_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40
_LONGEST_STATEMENT = 600
_LONGEST_VALUE = 10_000
_MOST_VALUES = 20
_MOST_ROWS = 1000
"""The largest number of rows whose cells a result lists."""
_STEPS = 1_000
"""The number of steps of SQLite's virtual machine after which they are counted."""
_MOST_STEPS = 20_000
"""The largest number of such counts; together they take about half a second."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 2 * _LONGEST_STATEMENT,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 1,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
_SHOWN_CELL = 40
_SHOWN_ROWS = 3
_SHOWN_MATCHES = 4
_FREE_NUMBERS = frozenset({0.0, 1.0, 2.0, 100.0})
"""Numbers that a statement may hold although its question does not."""


class SelectRefused(Exception):
    """A statement that is not run, that failed, or whose value does not answer the question."""


class SelectedValue(NamedTuple):
    """The value of a statement.

    Attributes:
        table: The place of its table among the given ones, from 0.
        result: The value with its line and its operands.
        is_whole: Whether the statement uses every cell and number that the question names.
    """

    table: int
    result: Result
    is_whole: bool


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table with names and types for SQL statements.

    Attributes:
        name: The name of the table, such as `t1`.
        columns: The names of its columns.
        types: The SQL types of its columns: `REAL`, `INTEGER` for years, or `TEXT`.
        content: The typed table with its words.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    content: TableWords

    @classmethod
    def of(cls, content: TableWords, place: int) -> "SqlTable":
        """Give a table and its columns names for SQL.

        Args:
            content: The typed table with its words.
            place: The place of the table among the given ones, from 0.
        """
        names = _make_names([column.name for column in content.table.columns])
        types = tuple(_choose_type(content.table, at) for at in range(len(names)))
        return cls(f"t{place + 1}", names, types, content)

    def describe(self, reading: TableQuestion) -> str:
        """Describe the table for a model: names, first rows, and rows that the question names.

        Args:
            reading: The question, read over the table.
        """
        table = self.content.table
        named = [row for link in reading.conditions.every for row in sorted(link.rows)]
        rows = dict.fromkeys([*range(min(_SHOWN_ROWS, table.row_count)), *named[:_SHOWN_MATCHES]])
        names = ", ".join(
            f"{name} {kind}" for name, kind in zip(self.columns, self.types, strict=True)
        )
        lines = [f"{self.name}({ROW} INTEGER, {names}) has {table.row_count} rows, such as:"]
        for row in sorted(rows):
            values = (_shorten(value) for value in self._list_values(row))
            lines.append(" | ".join([str(row + 1), *values]))
        return "\n".join(lines)

    def fill(self, database: sqlite3.Connection) -> None:
        """Create the table in a database and copy its rows, without those that total others."""
        columns = ", ".join(
            f'"{name}" {kind}{" COLLATE NOCASE" * (kind == "TEXT")}'
            for name, kind in zip(self.columns, self.types, strict=True)
        )
        database.execute(f'CREATE TABLE "{self.name}" ({ROW} INTEGER PRIMARY KEY, {columns})')
        places = ", ".join("?" * (len(self.columns) + 1))
        database.execute("BEGIN")
        database.executemany(
            f'INSERT INTO "{self.name}" VALUES ({places})',  # noqa: S608 - our own names
            (
                (row + 1, *self._list_values(row))
                for row in TableQuestion("", (), self.content, ()).data_rows
            ),
        )
        database.execute("COMMIT")

    def _list_values(self, row: int) -> list[str | float | None]:
        """Return the values of a row in the SQL types of its columns; `None` for an empty cell."""
        table = self.content.table
        cells = table.list_cells(row, len(table.columns) - 1)
        return [
            _read_value(cell, table, at, kind)
            for at, (cell, kind) in enumerate(zip(cells, self.types, strict=True))
        ]


def _make_names(heads: Sequence[str]) -> tuple[str, ...]:
    """Return different plain names for the columns with these heads."""
    names: list[str] = []
    for at, head in enumerate(heads):
        name = _NO_NAME.sub("_", fold_text(head)).strip("_")[:_LONGEST_NAME].strip("_")
        name = name or f"column_{at + 1}"
        if name[0].isdigit() or name in _KEYWORDS | _FUNCTIONS | _FURTHER_KEYWORDS:
            name = f"c_{name}"
        taken = {*names, ROW}
        numbered = (f"{name}_{number}" for number in count(2))
        names.append(name if name not in taken else next(n for n in numbered if n not in taken))
    return tuple(names)


def _choose_type(table: Table, column: int) -> str:
    """Return the SQL type of a column."""
    kind = table.columns[column].kind
    if kind in {"number", "duration"}:
        return "REAL"
    periods = [cell.period for cell in table.contents[column].cells if not cell.is_blank]
    is_year = all(period and not period[0][1] for period in periods)
    return "INTEGER" if kind == "date" and is_year and periods else "TEXT"


def _read_value(cell: Cell, table: Table, column: int, kind: str) -> str | float | None:
    """Return the value of a cell for SQL; `None` if it has none.

    A date becomes a text such as "2024-03-05", as far as it is given, or in a column of years a
    whole number.

    Args:
        cell: The cell.
        table: The table.
        column: The column of the cell.
        kind: The SQL type of the column.
    """
    if cell.is_blank:
        return None
    if table.columns[column].kind == "date":
        if cell.period is None:
            return None
        year, month, day = (int(part) for part in cell.period[0])
        if kind == "INTEGER":
            return year
        return f"{year:04d}" + f"-{month:02d}" * bool(month) + f"-{day:02d}" * bool(day)
    if kind == "REAL":
        return cell.duration if table.columns[column].kind == "duration" else cell.number
    return cell.text


def _shorten(value: str | float | None) -> str:
    """Return a value as text in one short line."""
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    text = " ".join(str("NULL" if value is None else value).split())
    return text if len(text) <= _SHOWN_CELL else f"{text[:_SHOWN_CELL]}..."


class _Token(NamedTuple):
    """A token of a statement.

    Attributes:
        kind: `text`, `name`, `number`, `sign`, or `block` for an inner SELECT.
        text: The token; a text with its quotes, a name in lower case.
    """

    kind: str
    text: str

    def write(self) -> str:
        """Return the token as SQL, with quotes around names that are no words of SQL."""
        is_plain = self.kind != "name" or self.text in _KEYWORDS | _FUNCTIONS
        return self.text if is_plain else f'"{self.text}"'


def _split_statement(statement: str) -> list[_Token]:
    """Return the tokens of a statement.

    Raises:
        SelectRefused: If the statement is too long or holds a sign that is not allowed.
    """
    statement = statement.strip().removesuffix(";").strip()
    if len(statement) > _LONGEST_STATEMENT:
        raise SelectRefused("the statement is too long")
    tokens: list[_Token] = []
    at = 0
    while at < len(statement):
        match = _TOKEN.match(statement, at)
        # Two signs in a row may open a comment.
        if match is None or statement.startswith(("--", "/*"), at):
            raise SelectRefused(f"the statement holds {statement[at]!r}")
        at = match.end()
        kind = match.lastgroup
        if kind is not None:
            # A token in double quotes may be a text, so its case is kept.
            is_name = kind == "name" and not match[0].startswith('"')
            text = match[0].strip("`").lower() if is_name else match[0]
            tokens.append(_Token(kind, text))
    return tokens


@dataclass(frozen=True)
class _Block:
    """One SELECT of a statement.

    Attributes:
        tokens: Its tokens; an inner SELECT is one token of the kind `block`.
        inner: The inner SELECTs, in order.
    """

    tokens: tuple[_Token, ...]
    inner: tuple["_Block", ...]

    @property
    def source(self) -> int | None:
        """The place of FROM; `None` without one."""
        return next((at for at, token in enumerate(self.tokens) if token == FROM), None)

    @property
    def table(self) -> str:
        """The name of its table; empty if it reads an inner SELECT, or no table."""
        at = self.source
        token = self.tokens[at + 1] if at is not None and at + 1 < len(self.tokens) else None
        return token.text if token is not None and token.kind == "name" else ""

    @property
    def listed(self) -> tuple[_Token, ...]:
        """The tokens between SELECT and FROM."""
        return self.tokens[1 : self.source]

    @property
    def is_grouped(self) -> bool:
        """True if several rows may give one value."""
        words = {token.text for token in self.listed}
        return bool(words & _AGGREGATES) or _Token("name", "group") in self.tokens

    @property
    def is_extreme(self) -> bool:
        """True if its only aggregate is `min` or `max`, whose value comes from one row."""
        aggregates = [token.text for token in self.listed if token.text in _AGGREGATES]
        return len(aggregates) == 1 and aggregates[0] in {"min", "max"}

    def write(self, more: str = "") -> str:
        """Return the SELECT as SQL.

        Args:
            more: A further value to add to its list of values; empty for none.
        """
        inner = iter(self.inner)
        at = self.source
        words = []
        for place, token in enumerate(self.tokens):
            words += [f", {more}"] if more and place == at else []
            words.append(next(inner).write() if token.kind == "block" else token.write())
        return " ".join(words)

    def flatten(self) -> Iterator[_Token]:
        """Yield the tokens, with those of inner SELECTs in their places."""
        inner = iter(self.inner)
        for token in self.tokens:
            yield from next(inner).flatten() if token.kind == "block" else (token,)

    def show(self) -> str:
        """Return the SELECT as text for people, with the words of SQL in capitals."""
        words = (
            token.text.upper() if token.text in _KEYWORDS | _FUNCTIONS else token.text
            for token in self.flatten()
        )
        return _SPACES.sub(r"\1\2", " ".join(words))

    def walk(self) -> Iterator["_Block"]:
        """Yield this SELECT, then all inner ones."""
        yield self
        for block in self.inner:
            yield from block.walk()


SELECT, FROM = _Token("name", "select"), _Token("name", "from")
_OPEN, _CLOSE = _Token("sign", "("), _Token("sign", ")")


def _build_block(tokens: Sequence[_Token], start: int) -> tuple[_Block, int]:
    """Return the SELECT that begins at a token, and the place behind its last token."""
    outer: list[_Token] = []
    inner: list[_Block] = []
    depth, at = 0, start
    while at < len(tokens):
        token = tokens[at]
        if token == SELECT and at > start:
            block, at = _build_block(tokens, at)
            inner.append(block)
            outer.append(_Token("block", ""))
            continue
        depth += (token == _OPEN) - (token == _CLOSE)
        if depth < 0:
            break
        outer.append(token)
        at += 1
    return _Block(tuple(outer), tuple(inner)), at


@dataclass(frozen=True, slots=True)
class _Check:
    """The check of a statement against tables.

    Attributes:
        tables: The tables by name.
    """

    tables: dict[str, SqlTable]

    def parse(self, statement: str) -> _Block:
        """Return the checked statement as nested SELECTs.

        Raises:
            SelectRefused: If it is no plain SELECT over these tables.
        """
        tokens = [self._read_quoted(token) for token in _split_statement(statement)]
        if tokens[:1] != [SELECT]:
            raise SelectRefused("the statement is no SELECT")
        self._check_names(tokens)
        block, end = _build_block(tokens, 0)
        if end != len(tokens):
            raise SelectRefused("a bracket is closed that was not opened")
        for part in block.walk():
            self._check_source(part)
        if not any(part.table for part in block.walk()):
            raise SelectRefused("the statement reads no table")
        return block

    @property
    def names(self) -> frozenset[str]:
        """The names of the tables and of their columns, the row number's included."""
        names = {name for table in self.tables.values() for name in table.columns}
        return frozenset({ROW, *self.tables, *names})

    def _read_quoted(self, token: _Token) -> _Token:
        """Return a token; one in double quotes becomes a name if that exists, else a text."""
        if not token.text.startswith('"'):
            return token
        name = token.text.strip('"').lower()
        if name in self.names:
            return _Token("name", name)
        return _Token("text", "'" + token.text.strip('"').replace("'", "''") + "'")

    def _check_names(self, tokens: Sequence[_Token]) -> None:
        """Check that all names are words of SQL, names of the tables or aliases of the statement.

        Raises:
            SelectRefused: If there is another name.
        """
        aliases = {
            token.text for before, token in pairwise(tokens) if before == _Token("name", "as")
        }
        names = self.names | (aliases - _FURTHER_KEYWORDS)
        for token in tokens:
            if token.kind == "name" and token.text not in names | _KEYWORDS | _FUNCTIONS:
                raise SelectRefused(f"there is no {token.text!r}")

    def _check_source(self, block: _Block) -> None:
        """Check that a SELECT reads one table, one inner SELECT or none.

        Raises:
            SelectRefused: If it reads several, or anything else.
        """
        at = block.source
        if at is None:
            return
        rest = block.tokens[at + 1 :]
        is_inner = [token.kind for token in rest[:3]] == ["sign", "block", "sign"]
        if not is_inner and block.table not in self.tables:
            raise SelectRefused("FROM needs the name of one table")
        rest = rest[3 if is_inner else 1 :]
        rest = rest[2:] if rest[:1] == (_Token("name", "as"),) else rest
        if rest and rest[0].text not in {"where", "group", "order", "limit", "having", ")"}:
            raise SelectRefused("FROM needs the name of one table alone")


def run_select(
    statement: str, readings: Sequence[TableQuestion], tables: Sequence[SqlTable]
) -> SelectedValue:
    """Check and run a statement, and return its value.

    Args:
        statement: The statement of a model.
        readings: The question, read over each table.
        tables: The tables, in the same order.

    Raises:
        SelectRefused: If the statement may not run or fails, gives no value or too many, or holds a
            text or number that the question does not.
    """
    by_name = {table.name: table for table in tables}
    block = _Check(by_name).parse(statement)
    source = next(part.table for part in block.walk() if part.table)
    place = [table.name for table in tables].index(source)
    if any(part.table not in {"", source} for part in block.walk()):
        raise SelectRefused("the statement reads more than one table")
    is_whole = _check_values(block, readings[place])
    with closing(open_database(by_name[source])) as database:
        try:
            result = _Execution(database, by_name[source], block).run()
        except (sqlite3.Error, OverflowError) as error:
            raise SelectRefused(f"SQLite: {error}") from None
    return SelectedValue(place, result, is_whole)


def open_database(table: SqlTable) -> sqlite3.Connection:
    """Return a database in memory in which statements may read one table and do nothing else.

    All its statements together may run for a bounded number of steps.
    """
    database = sqlite3.connect(":memory:", isolation_level=None)
    table.fill(database)
    for limit, value in _LIMITS.items():
        database.setlimit(limit, value)
    steps = count()

    def authorize(
        action: int, first: str | None, second: str | None, _: str | None, __: str | None
    ) -> int:
        is_read = action == sqlite3.SQLITE_READ and first in {table.name, ""}
        is_call = action == sqlite3.SQLITE_FUNCTION and second in _CALLED
        is_legal = action == sqlite3.SQLITE_SELECT or is_read or is_call
        return sqlite3.SQLITE_OK if is_legal else sqlite3.SQLITE_DENY

    database.set_authorizer(authorize)
    database.set_progress_handler(lambda: next(steps) >= _MOST_STEPS, _STEPS)
    return database


@dataclass(frozen=True, slots=True)
class _Execution:
    """The execution of a statement that passed the check."""

    database: sqlite3.Connection
    table: SqlTable
    block: _Block

    def run(self) -> Result:
        """Return the value with the cells that went in.

        Raises:
            SelectRefused: If there is no value, too many, or one that is too long.
            sqlite3.Error: If SQLite refuses or stops the statement.
        """
        records = self._fetch(self.block.write())
        values = [record[0] for record in records if record[0] is not None]
        rows = list(
            dict.fromkeys(row for part in self.block.walk() for row in self._list_rows(part))
        )
        if not values or not rows:
            raise SelectRefused("no row answers")
        columns = self._list_columns()
        texts = self._write_values(values)
        operands = tuple(
            Operand(row, column, self.table.content.table.get_cell(row, column))
            for row in rows[:_MOST_ROWS]
            for column in columns
        )
        unit = self._find_unit()
        number = values[0] if len(values) == 1 and not isinstance(values[0], str) else None
        return Result(
            values=texts,
            number=number,
            unit=unit,
            line=f"{', '.join(texts)} {unit}".strip() + f", by {self.block.show()}",
            operands=operands,
            row_count=len(rows),
        )

    def _fetch(self, statement: str) -> list[tuple[str | float | None, ...]]:
        """Return the records of a statement.

        Raises:
            SelectRefused: If there are more than `_MOST_VALUES`.
        """
        records = self.database.execute(statement).fetchmany(_MOST_VALUES + 1)
        if len(records) > _MOST_VALUES:
            raise SelectRefused("there are too many values")
        return records

    def _list_rows(self, part: _Block) -> list[int]:
        """Return the rows, from 0, that went into a SELECT of the statement."""
        if not part.table:
            return []
        gathers = part.is_grouped and not part.is_extreme
        more = f"group_concat({ROW})" if gathers else ROW
        records = self.database.execute(part.write(more))
        numbers = ",".join(str(record[-1]) for record in records if record[-1] is not None)
        return [int(row) - 1 for row in numbers.split(",") if row]

    def _write_values(self, values: Sequence[str | float | None]) -> tuple[str, ...]:
        """Return the values as texts in the form of the table, each once.

        If the value is a plain column, they are the texts of its cells.
        """
        plain = self._find_plain_column()
        if plain is None:
            return tuple(dict.fromkeys(self._write_value(value) for value in values))
        content = self.table.content.table.contents[plain]
        cells = [content[row] for row in self._list_rows(self.block)]
        return tuple(dict.fromkeys(cell.text for cell in cells if not cell.is_blank))

    def _list_columns(self) -> list[int]:
        """Return the columns that the statement names; the key column if it names none."""
        names = dict.fromkeys(token.text for part in self.block.walk() for token in part.tokens)
        columns = [at for at, name in enumerate(self.table.columns) if name in names]
        return columns or [self.table.content.table.key]

    def _find_plain_column(self) -> int | None:
        """Return the column whose cells are the value; `None` if the value is computed."""
        listed = [token for token in self.block.listed if token.text != "distinct"]
        first = listed[0].text if listed else ""
        is_alone = len(listed) == 1 or (len(listed) > 1 and listed[1].text in {",", "as"})
        is_plain = is_alone and not self.block.is_grouped and bool(self.block.table)
        return self.table.columns.index(first) if is_plain and first in self.table.columns else None

    def _find_unit(self) -> str:
        """Return the unit of the columns of numbers from which the value is computed.

        It is empty if they have several units, or the value is a count, a ratio or a plain column.
        """
        listed = {token.text for part in self.block.walk() for token in part.listed}
        if "count" in listed or "/" in listed:
            return ""
        units = {
            column.unit
            for name, column in zip(
                self.table.columns, self.table.content.table.columns, strict=True
            )
            if name in listed and column.kind == "number"
        }
        return units.pop() if len(units) == 1 and self._find_plain_column() is None else ""

    @property
    def _is_dated(self) -> bool:
        """True if the value is the least or largest year, which has no marks between digits."""
        listed = {token.text for token in self.block.listed}
        columns = zip(self.table.columns, self.table.content.table.columns, strict=True)
        return self.block.is_extreme and any(
            name in listed and column.kind == "date" for name, column in columns
        )

    def _write_value(self, value: str | float | None) -> str:
        """Return a value as text, a number with the table's decimal mark.

        Raises:
            SelectRefused: If it is a text that is too long.
        """
        if isinstance(value, str):
            if len(value) > _LONGEST_VALUE:
                raise SelectRefused("a value is too long")
            return value
        if self._is_dated:
            return f"{value or 0:.0f}"
        decimal_comma = self.table.content.table.decimal_comma
        return format_number(round(float(value or 0), 6), decimal_comma=decimal_comma)


def _check_values(block: _Block, reading: TableQuestion) -> bool:
    """Check the texts and numbers of a statement against the question.

    Returns:
        True if the statement uses every cell and number that the question names.

    Raises:
        SelectRefused: If the statement has a text or a number that the question does not have, or
            the question a name that the table does not have.
    """
    if reading.unknown_names:
        raise SelectRefused(f"no table has {reading.unknown_names[0]}")
    stems = {word.stem for word in (*reading.words, *split_words(reading.text))}
    numbers = {*parse_numbers(reading.text), *_FREE_NUMBERS}
    used: set[str] = set()
    for token in (token for part in block.walk() for token in part.tokens):
        if token.kind == "text":
            used |= _check_text(token.text[1:-1], stems, reading.text)
        elif token.kind == "number":
            if float(token.text) not in numbers:
                raise SelectRefused(f"the question names no {token.text}")
            used.add(token.text)
    if any(token.kind == "text" for token in block.listed):
        raise SelectRefused("the value would be a text of the statement")
    conditions = reading.conditions
    phrases = (*conditions.single, *conditions.exclusions)
    named = {
        reading.words[at].stem
        for condition in conditions.every
        for at in condition.words
        # In a statement, signs stand for words such as "before", "more than" and "except".
        if (condition in phrases and reading.words[at].text not in NEGATING_WORDS)
        or reading.words[at].text.isdigit()
    }
    return named - load_stop_words("en") <= used


def _check_text(text: str, stems: set[str], question: str) -> set[str]:
    """Return the stems of the question that a quoted text uses.

    Args:
        text: The text, without its quotes.
        stems: The stems of the question.
        question: The question, folded.

    Raises:
        SelectRefused: If the question lacks one of the stems.
    """
    dated = _DAY.fullmatch(text)
    if dated and (dated[1] in question or re.search(rf"\b\d\d?/\d\d?/{dated[1][2:]}\b", question)):
        return {dated[1]} & stems
    text = text.replace("%", " ").strip()
    words = {word.stem for word in split_words(text)} - load_stop_words("en")
    # A single letter may mark how a game ended, such as "W" for "won".
    is_mark = len(text) == 1 and f" {text.lower()}" in question
    unknown = words - stems
    if unknown and not is_mark:
        raise SelectRefused(f"the question names no {min(unknown)}")
    return stems if is_mark else words
