"""SQL conditions on documents in the dialect of PostgreSQL."""

import json
from collections.abc import Mapping, Sequence

from fathom.index.filters import COLUMNS, BoundValue, Kind, SqlCondition

_COLUMNS: Mapping[str, str] = {name: f"documents.{name}" for name in COLUMNS} | {
    "document": "documents.id"
}
_TYPES: Mapping[Kind, tuple[str, str]] = {
    "text": ("string", "text"),
    "number": ("number", "numeric"),
    "bool": ("boolean", "boolean"),
}
IS_DATE = "~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}'"


class PostgresDialect:
    """The `Dialect` of PostgreSQL; numbers compare exactly, with all digits of their JSON text."""

    items = "jsonb_each(fields)"
    item_kind = (
        "CASE jsonb_typeof(value) WHEN 'number' THEN 'number' WHEN 'boolean' THEN 'bool' "
        f"ELSE CASE WHEN value #>> '{{}}' {IS_DATE} THEN 'date' ELSE 'text' END END"
    )

    def match_any(self, column: str) -> str:
        """Write the condition that a column has one of the values of `bind_any`."""
        return f"{column} = ANY(?)"

    def bind_any(self, values: Sequence[object]) -> list[object]:
        """Return the values as a list, which psycopg binds as one array."""
        return list(values)

    def compare(self, key: str, kind: Kind, op: str, value: BoundValue) -> SqlCondition:
        """Write the condition that `stored value op value` holds for a stored value of a kind."""
        if key in _COLUMNS:
            return (f"{_COLUMNS[key]} {op} %s", [value]) if kind == "text" else ("FALSE", [])
        # JSON text keeps every digit of a number; a float parameter would round it.
        bound: BoundValue = json.dumps(bool(value)) if kind == "bool" else value
        bound = json.dumps(bound) if kind == "number" else bound
        cast = _TYPES[kind][1]
        return _guard_kind(
            key, kind, f"{_convert_value(kind)} {op} %s::{cast}", [*_bind_key(key), bound]
        )

    def compare_date(self, key: str, op: str, value: str, *, or_text: bool) -> SqlCondition:
        """Write the condition that `stored date op value` holds, with the value's precision."""
        stored, keys = _COLUMNS.get(key, _convert_value("text")), _bind_key(key)
        other = stored if or_text else "NULL"
        condition = f"CASE WHEN {stored} {IS_DATE} THEN left({stored}, %s) ELSE {other} END {op} %s"
        bound = [*keys, *keys, len(value), *(keys if or_text else []), value]
        return _guard_kind(key, "text", condition, bound)

    def match_prefix(self, key: str, value: str) -> SqlCondition:
        """Write the condition that the stored value is a text that begins with a value."""
        stored = _COLUMNS.get(key, _convert_value("text"))
        return _guard_kind(key, "text", f"starts_with({stored}, %s)", [*_bind_key(key), value])


def _guard_kind(key: str, kind: Kind, condition: str, bound: list[BoundValue]) -> SqlCondition:
    """Return a condition that is evaluated only if the stored value is of this kind."""
    if key in _COLUMNS:
        return f"({condition})", bound
    test = f"jsonb_typeof(documents.fields -> %s) = '{_TYPES[kind][0]}'"
    # CASE fixes the order of evaluation; AND would not, and a cast of another kind fails.
    return f"(CASE WHEN {test} THEN {condition} ELSE FALSE END)", [key, *bound]


def _convert_value(kind: Kind) -> str:
    """Return the expression that reads a metadata value as this kind."""
    collation = ' COLLATE "C"' if kind == "text" else ""
    return f"(documents.fields ->> %s)::{_TYPES[kind][1]}{collation}"


def _bind_key(key: str) -> list[BoundValue]:
    """Return the values that `_convert_value` binds for a key: none for a column."""
    return [] if key in _COLUMNS else [key]
