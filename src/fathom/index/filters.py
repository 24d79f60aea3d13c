"""Compilation of filters on documents to SQL with bound values, for each SQL dialect."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from typing_extensions import TypeAliasType

from fathom.errors import RunError, UsageError
from fathom.redaction import open_log
from fathom.types import Filter, Scalar

if TYPE_CHECKING:  # numpy takes a while to import, and only types need it here
    import numpy as np
    from numpy.typing import NDArray

    from fathom.index.base import IndexReader

COLUMNS = ("path", "file", "folder", "title", "language", "document")
"""The columns that every document has; all of them are text."""
COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})

KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?", re.ASCII)

Kind = Literal["text", "number", "bool"]
BoundValue = str | int | float | list[object]
SqlCondition = tuple[str, list[BoundValue]]
"""A condition in SQL and the values that it binds."""
Numbers = TypeAliasType("Numbers", "NDArray[np.int64]")


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The numbers of the chunks and documents that a search may return, ascending."""

    chunks: Numbers
    documents: Numbers


class Dialect(Protocol):
    """The SQL of an engine where engines differ.

    The caller has checked the keys of metadata: a key is a column of `COLUMNS` or matches `KEY`.

    Attributes:
        items: A table expression with the columns `key` and `value`, and a row for each entry of a
            document's metadata.
        item_kind: An expression of the kind of such a value: `text`, `date`, `number` or `bool`.
    """

    items: str
    item_kind: str

    def match_any(self, column: str) -> str:
        """Write the condition that a column has one of the values of `bind_any`."""
        ...

    def bind_any(self, values: Sequence[object]) -> BoundValue:
        """Return the single bound value that carries several values for `match_any`."""
        ...

    def compare(self, key: str, kind: Kind, op: str, value: BoundValue) -> SqlCondition:
        """Write the condition that `stored value op value` holds and the stored value has a kind.

        Args:
            key: A column or a key of the metadata.
            kind: The kind of the stored value.
            op: One of `COMPARISONS`.
            value: The value to compare with; 0 or 1 for `bool`.
        """
        ...

    def compare_date(self, key: str, op: str, value: str, *, or_text: bool) -> SqlCondition:
        """Write the condition that `stored date op value` holds, with the precision of the value.

        Args:
            key: A column or a key of the metadata.
            op: One of `COMPARISONS`.
            value: A year (`2021`), a month (`2021-05`) or a day (`2021-05-31`); the stored date is
                cut to its length.
            or_text: Whether stored texts that are no dates are compared too, as texts.
        """
        ...

    def match_prefix(self, key: str, value: str) -> SqlCondition:
        """Write the condition that the stored value is a text that begins with a value."""
        ...


def compile_filters(filters: Sequence[Filter], dialect: Dialect) -> tuple[str, list[BoundValue]]:
    """Compile filters to one condition over the table `documents`, which meets all of them.

    Texts compare by code point, integers and floats by value, `False < True`. A stored date
    compares with a day, a month or a year (`2021-05`, the number 2021) with the precision of that
    value. In all other cases a filter, even one with `!=`, matches no document whose stored value
    has another type or is missing.

    Returns:
        The condition (`TRUE` without filters), and the values that it binds, in order.

    Raises:
        UsageError: If a key, an operator or a value is malformed.
    """
    conditions = [_compile(filter_, dialect) for filter_ in filters]
    condition = _join_conditions([sql for sql, _ in conditions], "AND") if conditions else "TRUE"
    return condition, [value for _, values in conditions for value in values]


def _compile(condition: Filter, dialect: Dialect) -> SqlCondition:
    if not KEY.fullmatch(condition.key):
        raise UsageError(
            f"filter key {condition.key!r}: use letters, digits, underscores and hyphens, at "
            "most 64; `fathom status` lists the keys"
        )
    if condition.op == "in":
        return _compile_any(condition, dialect)
    if condition.op == "prefix":
        return _compile_prefix(condition, dialect)
    if condition.op not in COMPARISONS:
        raise UsageError(f"filter operator {condition.op!r}: use = != < <= > >= in prefix")
    value = _require_scalar(condition)
    return _compare(condition.key, condition.op, value, dialect)


def _compile_any(condition: Filter, dialect: Dialect) -> SqlCondition:
    if not isinstance(condition.value, tuple):
        raise UsageError(f"filter {condition.key} in {condition.value!r}: give several values")
    if condition.key == "document":  # as one value, since there may be very many
        return dialect.match_any("documents.id"), [dialect.bind_any(condition.value)]
    conditions = [_compare(condition.key, "=", value, dialect) for value in condition.value]
    joined = _join_conditions([sql for sql, _ in conditions], "OR") if conditions else "FALSE"
    return f"({joined})", [value for _, values in conditions for value in values]


def _join_conditions(conditions: Sequence[str], operator: Literal["AND", "OR"]) -> str:
    """Join conditions as a balanced tree: SQLite nests a plain chain, and refuses 1,000 levels."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    left = _join_conditions(conditions[:middle], operator)
    right = _join_conditions(conditions[middle:], operator)
    return f"({left} {operator} {right})"


def _compile_prefix(condition: Filter, dialect: Dialect) -> SqlCondition:
    value = _require_scalar(condition)
    if not isinstance(value, str):
        raise UsageError(f"filter {condition.key} prefix {value!r}: the prefix must be a text")
    return dialect.match_prefix(condition.key, value)


def _compare(key: str, op: str, value: Scalar, dialect: Dialect) -> SqlCondition:
    if isinstance(value, bool):
        return dialect.compare(key, "bool", op, int(value))
    if isinstance(value, str):
        # A value in the form of a date compares with stored dates of any precision.
        if _DATE.fullmatch(value):
            return dialect.compare_date(key, op, value, or_text=True)
        return dialect.compare(key, "text", op, value)
    plain, bound = dialect.compare(key, "number", op, value)
    # A number of four digits may be a year, so that it also compares with stored dates.
    if not (isinstance(value, int) and 1000 <= value <= 9999):
        return plain, bound
    dated, years = dialect.compare_date(key, op, str(value), or_text=False)
    return f"({plain} OR {dated})", [*bound, *years]


def _require_scalar(condition: Filter) -> Scalar:
    if isinstance(condition.value, tuple):
        raise UsageError(f"filter {condition.key} {condition.op}: give one value, not several")
    return condition.value


def describe_unmet_filters(
    filters: Iterable[Filter], open_reader: Callable[[], "IndexReader"]
) -> tuple[str, ...]:
    """Return a line for each filter key that no document has, so that no document can match.

    Args:
        filters: The filters of a search.
        open_reader: Opens the index; called only if a filter has a key that is not in `COLUMNS`.

    Returns:
        The lines, ordered by key; none if the index cannot be read, which is logged.
    """
    keys = {condition.key for condition in filters}.difference(COLUMNS)
    try:
        missing = sorted(keys and keys.difference(open_reader().list_keys()))
    except RunError as error:
        open_log("fathom").warning("the filter keys were not checked: %s", error)
        return ()
    return tuple(f"no document has {key!r}; `fathom status` lists the keys" for key in missing)
