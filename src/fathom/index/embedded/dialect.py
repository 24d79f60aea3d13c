"""SQL conditions on documents in the dialect of SQLite."""

import json
from collections.abc import Mapping, Sequence

from fathom.index.filters import BoundValue, Kind, SqlCondition

_COLUMNS: Mapping[str, str] = {
    "path": "documents.path",
    "file": "file_name(documents.path)",
    "folder": "folder_name(documents.path)",
    "title": "documents.title",
    "language": "documents.language",
    "document": "documents.id",
}
"""The columns in SQL; `schema.connect` defines the two functions."""
_TYPES: Mapping[Kind, str] = {
    "text": "'text'",
    "bool": "'true', 'false'",
    "number": "'integer', 'real'",
}
IS_DATE = "GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
_LARGEST = 2**63 - 1


class SqliteDialect:
    """The `Dialect` of SQLite."""

    items = "json_each(metadata)"
    item_kind = (
        "CASE WHEN type IN ('integer', 'real') THEN 'number' WHEN type IN ('true', 'false') "
        f"THEN 'bool' WHEN value {IS_DATE} THEN 'date' ELSE 'text' END"
    )

    def match_any(self, column: str) -> str:
        """Write the condition that a column has one of the values of `bind_any`."""
        return f"{column} IN (SELECT value FROM json_each(?))"  # noqa: S608 - a name

    def bind_any(self, values: Sequence[object]) -> str:
        """Return the values as one JSON array: SQLite binds at most 32,766 in a statement."""
        return json.dumps(list(values))

    def compare(self, key: str, kind: Kind, op: str, value: BoundValue) -> SqlCondition:
        """Write the condition that `stored value op value` holds for a stored value of a kind."""
        field, names = _test_kind(key, kind)
        return f"({field} AND {_select_value(key)} {op} ?)", [
            *names,
            *_bind_path(key),
            _make_bindable(value),
        ]

    def compare_date(self, key: str, op: str, value: str, *, or_text: bool) -> SqlCondition:
        """Write the condition that `stored date op value` holds, with the value's precision."""
        field, names = _test_kind(key, "text")
        stored, path = _select_value(key), _bind_path(key)
        other = stored if or_text else "NULL"
        # The stored date is cut to the precision of the value, so that a month matches all its
        # days.
        condition = f"CASE WHEN {stored} {IS_DATE} THEN substr({stored}, 1, ?) ELSE {other} END"
        bound = [*names, *path, *path, len(value), *(path if or_text else []), value]
        return f"({field} AND {condition} {op} ?)", bound

    def match_prefix(self, key: str, value: str) -> SqlCondition:
        """Write the condition that the stored value is a text that begins with a value."""
        field, names = _test_kind(key, "text")
        bound = [*names, *_bind_path(key), len(value), value]
        return f"({field} AND substr({_select_value(key)}, 1, ?) = ?)", bound


def _test_kind(key: str, kind: Kind) -> SqlCondition:
    """Write the condition that the stored value is of this kind."""
    if key in _COLUMNS:
        return ("TRUE" if kind == "text" else "FALSE"), []
    return f"json_type(documents.metadata, ?) IN ({_TYPES[kind]})", list(_bind_path(key))


def _select_value(key: str) -> str:
    """Write the expression of the stored value of a key."""
    return _COLUMNS.get(key, "json_extract(documents.metadata, ?)")


def _bind_path(key: str) -> list[BoundValue]:
    """Return the values that `_select_value` binds for a key: none for a column."""
    # Quoted, because a key may contain hyphens; `KEY` admits no quotation mark.
    return [] if key in _COLUMNS else [f'$."{key}"']


def _make_bindable(value: BoundValue) -> BoundValue:
    """Return a value as SQLite can bind it."""
    # SQLite binds 64-bit integers only; JSON numbers beyond that are kept as floats.
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        return float(value)
    return value
