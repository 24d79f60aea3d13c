"""Computations over a table, and their results with the cells that went in."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from fathom.tables.table import Cell, Table
from fathom.tables.values import format_number, strip_footnotes
from fathom.text.dates import Date

Operation = Literal[
    "lookup", "count", "distinct", "sum", "mean", "maximum", "minimum", "highest", "lowest",
    "first", "last", "neighbour", "most frequent", "least frequent", "difference", "ratio", "share",
    "growth", "span", "more", "less", "decision",
]  # fmt: skip
"""The operations. `maximum` gives the largest value, and `highest` the target's cell in its row.
`first` and `last` are the ends of an order of rows. `neighbour` is a row at a distance from a named
one. `span` is the time between the two ends of a period. `more` and `less` choose one of two groups
of rows. `decision` is yes or no."""

_AWAY = re.compile(r"(?:@|at|vs\.?|v)\s+")
_MOST_TERMS = 40
"""The largest number of terms for which the line of a sum shows them all."""
_MOST_ROWS = 1000
"""The largest number of rows whose cells a result lists, and the largest number of different values
of a lookup."""
_SECONDS_A_YEAR = 31_557_600.0


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on rows.

    Attributes:
        column: The column on whose cells it depends, from 0.
        rows: The rows that meet it, from 0.
        text: The condition in words, such as "Country: Spain".
        words: The places in the question of the words that state it.
    """

    column: int
    rows: frozenset[int]
    text: str
    words: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """A computation over a table.

    Attributes:
        operation: The operation.
        rows: The rows that it takes, in the order of the table.
        target: The column of the values that it gives, or with which it calculates.
        order: The column by whose values rows are ordered or compared; `None` for the order of the
            table, or to compare numbers of rows.
        conditions: The conditions that selected the rows.
        groups: The rows of the two sides of a comparison; empty without one.
        columns: For the difference of two columns, the column of each side; else empty.
        shift: For `neighbour`, the number of rows from the named row to the wanted one, below zero
            for a row before it; for an end of an order, the place in the order, from 0.
        wants: The part of a cell that the question asks for, or for `more` and `less` the word.
        negated: Whether a decision is yes if no row meets the conditions.
        score: The sureness of the rule that made it, lowered for each content word of the question
            that it does not explain, in [0, 1].
    """

    operation: Operation
    rows: tuple[int, ...]
    target: int
    order: int | None = None
    conditions: tuple[Condition, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    columns: tuple[int, ...] = ()
    shift: int = 0
    wants: Literal["cell", "year", "word"] = "cell"
    negated: bool = False
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Operand:
    """A cell that went into a computation.

    Attributes:
        row: Its row, from 0.
        column: Its column, from 0.
        cell: The cell.
    """

    row: int
    column: int
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The value of a computation.

    Attributes:
        values: The values as text; several if rows are equal in rank or several are asked for.
        number: The only value as a number; `None` if it is none.
        unit: The unit of the value; empty without one.
        line: The computation in one line.
        operands: The cells that went in, those of at most the first `_MOST_ROWS` rows or, of a
            comparison, of the first `_MOST_ROWS` rows of each side.
        row_count: The number of rows that went in; 0 if these are the rows of the operands.
    """

    values: tuple[str, ...]
    number: float | None = None
    unit: str = ""
    line: str = ""
    operands: tuple[Operand, ...] = ()
    row_count: int = 0


def compute(table: Table, computation: Computation) -> Result | None:
    """Return the result of a computation; `None` if it has none, as when a needed cell is empty."""
    return _Runner(table, computation).run()


def explain_gap(table: Table, computation: Computation) -> str:
    """Return the reason why a computation has no result; empty if it merely fits no rows."""
    if _lacks_cell(table, computation):
        return "a cell that is needed is empty"
    return _Runner(table, computation).explain_base()


def _lacks_cell(table: Table, computation: Computation) -> bool:
    """Return whether a cell that a computation needs is empty.

    If the question names rows, each of them is needed; otherwise only one row of each group is.
    """
    order = computation.order if computation.order is not None else computation.target
    groups = computation.groups or (computation.rows,)
    is_named = any(condition.column == table.key for condition in computation.conditions)
    are_needed = any if is_named and not computation.groups else all
    columns = computation.columns or (order,) * len(groups)
    return all(groups) and any(
        are_needed(table.get_cell(row, column).is_blank for row in group)
        for group, column in zip(groups, columns, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Runner:
    """The execution of one computation over its table."""

    table: Table
    plan: Computation

    def run(self) -> Result | None:
        """Return the result; `None` if there is none."""
        operation = self.plan.operation
        if operation in {"sum", "mean", "maximum", "minimum"}:
            return self._aggregate()
        if operation in {"highest", "lowest", "first", "last"}:
            return self._select_extreme()
        if operation in {"most frequent", "least frequent"}:
            return self._count_values()
        if operation in {"difference", "ratio", "share", "growth"}:
            return self._relate()
        if operation in {"more", "less"}:
            return self._compare()
        return {
            "lookup": self._look_up,
            "count": self._count,
            "distinct": self._count_distinct,
            "neighbour": self._step,
            "span": self._measure_span,
            "decision": self._decide,
        }[operation]()

    @property
    def _unit(self) -> str:
        return self.table.columns[self.plan.target].unit

    def _get_cell(self, row: int, column: int) -> Operand:
        return Operand(row, column, self.table.get_cell(row, column))

    def _list_condition_cells(self, rows: Sequence[int]) -> list[Operand]:
        """Return the cells of rows in the columns of the conditions."""
        columns = dict.fromkeys(condition.column for condition in self.plan.conditions)
        return [self._get_cell(row, column) for row in rows[:_MOST_ROWS] for column in columns]

    def _describe_rows(self) -> str:
        """Return the conditions in words."""
        return "; ".join(condition.text for condition in self.plan.conditions)

    def _show(self, cell: Cell) -> str:
        """Return the part of a cell that the question asks for: its year, or all of it."""
        if self.plan.wants == "year" and cell.period and cell.period[0][0]:
            return f"{cell.period[0][0]:.0f}"
        return cell.text

    def _show_bare(self, cell: Cell) -> str:
        """Return a cell without footnote marks and without the mark of a game away from home."""
        return _AWAY.sub("", strip_footnotes(self._show(cell)))

    def _show_rows(
        self, rows: Sequence[int], line: str, more: Sequence[Operand] = ()
    ) -> Result | None:
        """Return the target's cells in some rows as the result; `None` if they are too many.

        Args:
            rows: The rows, at least one.
            line: The computation in one line.
            more: Further cells that went in.
        """
        codes = self.table.contents[self.plan.target].codes
        # No reader wants more than a thousand values.
        if len({codes[row] for row in rows}) > _MOST_ROWS:
            return None
        cells = [self._get_cell(row, self.plan.target) for row in rows]
        texts = tuple(dict.fromkeys(self._show(operand.cell) for operand in cells))
        number = cells[0].cell.number if len(texts) == 1 else None
        listed = [*cells[:_MOST_ROWS], *more, *self._list_condition_cells(rows)]
        return Result(
            values=texts,
            number=number,
            line=line,
            operands=tuple(dict.fromkeys(listed)),
            row_count=_count_unlisted(rows),
        )

    def _look_up(self) -> Result | None:
        """Return the target's filled cells in the rows."""
        rows = [
            row for row in self.plan.rows if not self.table.get_cell(row, self.plan.target).is_blank
        ]
        if not rows:
            return None
        name = self.table.columns[self.plan.target].name
        where = self._describe_rows()
        return self._show_rows(rows, f"{name}, {where}" if where else name)

    def _count(self) -> Result:
        """Return the number of the rows."""
        rows = self.plan.rows
        where = self._describe_rows() or "all rows"
        operands = self._list_condition_cells(rows) or [
            self._get_cell(row, self.plan.target) for row in rows[:_MOST_ROWS]
        ]
        line = f"{len(rows)} of {self.table.row_count} rows: {where}"
        return Result(
            values=(str(len(rows)),),
            number=float(len(rows)),
            line=line,
            operands=tuple(operands),
            row_count=len(rows),
        )

    def _count_distinct(self) -> Result | None:
        """Return the number of different values of the target in the rows."""
        cells = [self._get_cell(row, self.plan.target) for row in self.plan.rows]
        distinct = {
            operand.cell.text: operand for operand in reversed(cells) if not operand.cell.is_blank
        }
        if not distinct:
            return None
        name = self.table.columns[self.plan.target].name
        texts = list(distinct)[::-1]
        more = [f"... ({len(texts) - _MOST_TERMS} more)"] if len(texts) > _MOST_TERMS else []
        line = f"{len(texts)} values of {name}: {', '.join([*texts[:_MOST_TERMS], *more])}"
        return Result(
            values=(str(len(texts)),),
            number=float(len(texts)),
            line=line,
            operands=tuple(distinct.values())[::-1][:_MOST_ROWS],
            row_count=_count_unlisted(texts),
        )

    def _list_numbers(self, rows: Sequence[int]) -> list[tuple[int, float]]:
        """Return the rows whose cell of the target holds a number, with the numbers."""
        values = self.table.list_values(rows, self.plan.target)
        pairs = zip(rows, values, strict=True)
        return [(row, value) for row, value in pairs if isinstance(value, float)]

    def _aggregate(self) -> Result | None:
        """Return the sum, mean, maximum or minimum of the target in the rows.

        A sum or mean of named rows has no result if one of them has no number.
        """
        pairs = self._list_numbers(self.plan.rows)
        if not pairs:
            return None
        numbers = [number for _, number in pairs]
        operation = self.plan.operation
        if operation in {"maximum", "minimum"}:
            distinct = sorted(set(numbers), reverse=operation == "maximum")
            if len(distinct) <= self.plan.shift:
                return None
            best = distinct[self.plan.shift]
            rows = [row for row, number in pairs if number == best]
            place = f"place {self.plan.shift + 1}, " if self.plan.shift else ""
            line = f"{place}{operation} of {len(pairs)} cells: {self._text_of(rows)}"
            return self._show_rows(rows, line)
        total = round(fsum(numbers), 6)
        shown = self._join_terms(numbers, self._format)
        missing = len(self.plan.rows) - len(pairs)
        names_rows = any(condition.column == self.table.key for condition in self.plan.conditions)
        if missing and names_rows:
            return None
        note = f" ({missing} of {len(self.plan.rows)} rows without a value)" if missing else ""
        rows = [row for row, _ in pairs]
        if operation == "sum":
            return self._give(total, f"{shown} = {self._format(total)}", rows, note)
        mean = round(total / len(numbers), 6)
        return self._give(mean, f"({shown}) / {len(numbers)} = {self._format(mean)}", rows, note)

    def _text_of(self, rows: Sequence[int]) -> str:
        return self.table.get_cell(rows[0], self.plan.target).text

    def _give(self, value: float, line: str, rows: Sequence[int], note: str) -> Result:
        """Return a number that was computed from the target's cells as the result.

        Args:
            value: The number.
            line: The computation in one line, without the unit.
            rows: The rows that went in.
            note: A note to put at the end of the line.
        """
        cells = [self._get_cell(row, self.plan.target) for row in rows[:_MOST_ROWS]]
        return Result(
            values=(self._format(value),),
            number=value,
            unit=self._unit,
            line=f"{line} {self._unit}".strip() + note,
            operands=tuple(dict.fromkeys([*cells, *self._list_condition_cells(rows)])),
            row_count=len(rows),
        )

    def _format(self, value: float) -> str:
        """Return a number of the target as text, in the form in which the column writes values."""
        if self.table.columns[self.plan.target].kind == "duration":
            return _format_duration(value)
        return self._write_number(value)

    def _write_number(self, value: float) -> str:
        """Return a number as text, with the table's decimal mark."""
        return format_number(value, decimal_comma=self.table.decimal_comma)

    def _list_ordered(self, rows: Sequence[int]) -> list[tuple[float | Date, int]]:
        """Return the rows that have a value in the order column, each after its value.

        Without an order column, the value is the row's place in `rows`.
        """
        order = self.plan.order
        if order is None:
            return [(float(at), row) for at, row in enumerate(rows)]
        values = zip(self.table.list_values(rows, order), rows, strict=True)
        return [(value, row) for value, row in values if value is not None]

    def _select_extreme(self) -> Result | None:
        """Return the target's cells in the rows at an end of the order, or `shift` values from it.

        Rows with equal values in the order column share a place.
        """
        ranked = self._list_ordered(self.plan.rows)
        distinct = _sort_values({value for value, _ in ranked})
        if len(distinct) <= self.plan.shift:
            return None
        falling = self.plan.operation in {"highest", "last"}
        best = distinct[-1 - self.plan.shift] if falling else distinct[self.plan.shift]
        rows = [row for value, row in ranked if value == best]
        order = self.plan.order
        if order is None:
            return self._show_rows(rows, f"{self.plan.operation} of {len(ranked)} rows")
        name, cell = self.table.columns[order].name, self.table.get_cell(rows[0], order)
        line = f"{self.plan.operation} {name} of {len(ranked)} rows: {cell.text}"
        ends = [self._get_cell(row, order) for row in rows[:_MOST_ROWS]]
        return self._show_rows(rows, line, ends)

    def _count_values(self) -> Result | None:
        """Return the target's most or least frequent values in the rows."""
        cells = [self._get_cell(row, self.plan.target) for row in self.plan.rows]
        filled = [operand for operand in cells if not operand.cell.is_blank]
        counts = Counter(self._show_bare(operand.cell) for operand in filled)
        # If all values occur equally often, none is the most frequent one.
        if len(set(counts.values())) < 2:
            return None
        best = (max if self.plan.operation == "most frequent" else min)(counts.values())
        counted = {text for text, count in counts.items() if count == best}
        values = tuple(text for text in counts if text in counted)
        # No reader wants more than a thousand values.
        if len(values) > _MOST_ROWS:
            return None
        operands = tuple(operand for operand in filled if self._show_bare(operand.cell) in counted)
        return Result(
            values=values,
            line=f"{', '.join(values)}: {best} rows each",
            operands=operands[:_MOST_ROWS],
            row_count=_count_unlisted(operands),
        )

    def _total_side(self, side: int) -> tuple[list[Operand], float] | None:
        """Return the cells of a side of a comparison, 0 or 1, and its total.

        The total is the sum of the side's column, else of the order column, or for dates the year
        of the first row. Without an order column it is the number of rows. `None` if no row has a
        value.
        """
        rows = self.plan.groups[side]
        column = self.plan.columns[side] if self.plan.columns else self.plan.order
        if column is not None:
            values = [(row, self.table.get_value(row, column)) for row in rows]
            cells = [self._get_cell(row, column) for row, value in values if value is not None]
            years = [value[0] for _, value in values if isinstance(value, tuple)]
            numbers = [value for _, value in values if isinstance(value, float)]
            if not years and not numbers:
                return None
            return cells or [self._get_cell(rows[0], column)], fsum(numbers or years[:1])
        cells = [self._get_cell(row, self.plan.target) for row in rows]
        return cells, float(len(rows))

    def _relate(self) -> Result | None:
        """Return the difference, ratio, share or growth between the totals of the two groups."""
        totals = [self._total_side(side) for side in range(len(self.plan.groups))]
        if len(totals) != 2 or totals[0] is None or totals[1] is None:
            return None
        (first_cells, first), (second_cells, second) = totals[0], totals[1]
        if self.explain_base():
            return None
        terms = [
            self._write_terms(cells, total)
            for cells, total in ((first_cells, first), (second_cells, second))
        ]
        value, line, unit = self._reckon(first, second, terms)
        return Result(
            values=(self._write_number(value),),
            number=value,
            unit=unit,
            line=f"{line} = {self._write_number(value)} {unit}".strip(),
            operands=_join_sides(first_cells, second_cells),
            row_count=_count_unlisted([*first_cells, *second_cells]),
        )

    def explain_base(self) -> str:
        """Return the reason why the second side cannot be a base; empty if it can or is none."""
        base = self._total_side(1) if len(self.plan.groups) == 2 else None
        if base is None:
            return ""
        amount, operation = base[1], self.plan.operation
        if operation in {"growth", "share"} and amount <= 0:
            name = "growth from" if operation == "growth" else "a share of"
            return f"{name} {self._write(amount)} is not defined"
        return "a ratio to 0 is not defined" if operation == "ratio" and not amount else ""

    def _write_terms(self, cells: Sequence[Operand], total: float) -> str:
        """Return the total of a group as the sum of its cells, with each cell as a term."""
        is_counted = self.plan.order is None
        values = [] if is_counted else [self.table.get_value(o.row, o.column) for o in cells]
        numbers = [value for value in values if isinstance(value, float)]
        if len(numbers) < 2:
            return self._write(total)
        return f"({self._join_terms(numbers, self._write)})"

    def _join_terms(self, numbers: Sequence[float], write: Callable[[float], str]) -> str:
        """Return the terms of a sum with their signs; of a long sum, the middle is left out."""
        terms = [write(numbers[0]), *(_sign_term(number, write) for number in numbers[1:])]
        if len(terms) <= _MOST_TERMS:
            return " ".join(terms)
        more = f"+ ... ({len(terms) - 4} more)"
        return " ".join([*terms[:3], more, terms[-1]])

    def _reckon(self, first: float, second: float, terms: Sequence[str]) -> tuple[float, str, str]:
        """Return the value of the operation on two numbers, its formula, and its unit.

        Args:
            first: The total of the first group.
            second: The total of the second group; not 0 except for a difference.
            terms: The two totals as text.
        """
        one, other = terms
        if self.plan.operation == "difference":
            line = (
                _write_difference(one, other) if first >= second else _write_difference(other, one)
            )
            return round(abs(first - second), 6), line, self._difference_unit
        if self.plan.operation == "growth":
            return round(100 * (first - second) / second, 4), f"({one} - {other}) / {other}", "%"
        if self.plan.operation == "share":
            return round(100 * first / second, 4), f"{one} / {other}", "%"
        return round(first / second, 4), f"{one} / {other}", ""

    @property
    def _difference_unit(self) -> str:
        """The unit of a difference of two totals; empty for numbers of rows."""
        order = self.plan.order
        if order is None:
            return ""
        column = self.table.columns[order]
        return {"date": "years", "duration": "seconds"}.get(column.kind, column.unit)

    def _write(self, value: float) -> str:
        """Return a value of the order column as text; a year has no mark between thousands."""
        order = self.plan.order
        is_year = order is not None and self.table.columns[order].kind == "date"
        return f"{value:.0f}" if is_year else self._write_number(value)

    def _compare(self) -> Result | None:
        """Return the target's cell of the group that has more, or less; `None` if they are equal.

        If the question wants a word, return whether the first group has more or less.
        """
        sides = [self._value_group(rows) for rows in self.plan.groups]
        if len(sides) != 2 or sides[0] is None or sides[1] is None or sides[0][1] == sides[1][1]:
            return None
        (first_cells, first), (second_cells, second) = sides[0], sides[1]
        is_first = _is_less(second, first) == (self.plan.operation == "more")
        rows = self.plan.groups[0 if is_first else 1]
        cells = _join_sides(first_cells, second_cells)
        shown = " and ".join(cells_[0].cell.text for cells_ in (first_cells, second_cells))
        line = f"{self.plan.operation} of {shown}"
        if self.plan.wants == "word":
            word = "less" if _is_less(first, second) else "more"
            return Result(values=(word,), line=line, operands=cells)
        return self._show_rows(rows[:1], line, cells)

    def _value_group(self, rows: Sequence[int]) -> tuple[list[Operand], float | Date] | None:
        """Return the cells of a group and the value by which it is compared; `None` without one.

        The value is the earliest date or the sum of the order column, or the number of rows without
        an order column.
        """
        order = self.plan.order
        if order is None:
            return [self._get_cell(row, self.plan.target) for row in rows], float(len(rows))
        values = [(row, self.table.get_value(row, order)) for row in rows]
        dates = [value for _, value in values if isinstance(value, tuple)]
        numbers = [value for _, value in values if isinstance(value, float)]
        cells = [self._get_cell(row, order) for row, value in values if value is not None]
        if dates:
            return cells, min(dates)
        return (cells, fsum(numbers)) if numbers else None

    def _step(self) -> Result | None:
        """Return the target's cell in the row at a distance from the named rows.

        The distance counts from the last of these rows, or backwards from the first.
        """
        at = max(self.plan.rows) if self.plan.shift > 0 else min(self.plan.rows)
        row = at + self.plan.shift
        if not 0 <= row < self.table.row_count:
            return None
        anchor = self._get_cell(at, self.plan.conditions[0].column)
        side = "after" if self.plan.shift > 0 else "before"
        line = f"{abs(self.plan.shift)} {side} {anchor.cell.text}"
        return self._show_rows([row], line, [anchor])

    def _measure_span(self) -> Result | None:
        """Return the number of years from the first to the last date of the rows."""
        order = self.plan.target if self.plan.order is None else self.plan.order
        cells = [
            self._get_cell(row, column)
            for row in self.plan.rows
            for column in dict.fromkeys((self.plan.target, order))
        ]
        periods = [operand.cell.period for operand in cells if operand.cell.period]
        if not periods:
            return None
        start, end = min(first for first, _ in periods), max(last for _, last in periods)
        years = end[0] - start[0]
        # The last year is not complete if its day comes before the day of the start.
        if all((*start, *end)) and end[1:] < start[1:]:
            years -= 1
        line = f"{end[0]:.0f} - {start[0]:.0f} = {end[0] - start[0]:.0f}"
        return Result(
            values=(format_number(years),),
            number=years,
            unit="years",
            line=line,
            operands=tuple(cells),
        )

    def _decide(self) -> Result:
        """Return yes if some row meets the conditions, else no."""
        holds = bool(self.plan.rows) != self.plan.negated
        operands = self._list_condition_cells(self.plan.rows)
        line = f"{len(self.plan.rows)} of {self.table.row_count} rows: {self._describe_rows()}"
        return Result(values=("yes" if holds else "no",), line=line, operands=tuple(operands))


def _count_unlisted(rows: Sequence[object]) -> int:
    """Return the number of rows if a result cannot list them all, else 0."""
    return len(rows) if len(rows) > _MOST_ROWS else 0


def _join_sides(first: Sequence[Operand], second: Sequence[Operand]) -> tuple[Operand, ...]:
    """Return the cells of both sides of a comparison that a result lists, each once."""
    return tuple(dict.fromkeys([*first[:_MOST_ROWS], *second[:_MOST_ROWS]]))


def _sort_values(values: Collection[float | Date]) -> list[float | Date]:
    """Return values in rising order, dates behind numbers."""
    dates = sorted(value for value in values if isinstance(value, tuple))
    return [*sorted(value for value in values if not isinstance(value, tuple)), *dates]


def _sign_term(number: float, write: Callable[[float], str]) -> str:
    """Return a term of a sum with the sign before it: "+ 5", or "- 5" for -5."""
    return f"- {write(-number)}" if number < 0 else f"+ {write(number)}"


def _write_difference(one: str, other: str) -> str:
    """Return a difference as text, with brackets around a subtrahend below zero."""
    return f"{one} - ({other})" if other.startswith("-") else f"{one} - {other}"


def _is_less(one: float | Date, other: float | Date) -> bool:
    """Return whether one value comes before another; never for a date and a number."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one < other
    return not isinstance(one, tuple) and not isinstance(other, tuple) and one < other


def _format_duration(seconds: float) -> str:
    """Return a duration in seconds as minutes and seconds, "4:05"; from a year on as years."""
    if seconds >= _SECONDS_A_YEAR:
        return f"{format_number(round(seconds / _SECONDS_A_YEAR, 1))} years"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}:{rest:02.0f}"
