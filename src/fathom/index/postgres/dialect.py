"""Conditions on documents as PostgreSQL writes them."""

import json
from collections.abc import Mapping

from fathom.index.filters import COLUMNS, Bound, Kind, Part

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
    """See `filters.Dialect`. Numbers compare exactly, as texts in JSON say them."""

    def compared(self, key: str, kind: Kind, op: str, value: Bound) -> Part:
        """See `Dialect.compared`."""
        if key in _COLUMNS:
            return (f"{_COLUMNS[key]} {op} %s", [value]) if kind == "text" else ("FALSE", [])
        bound: Bound = json.dumps(bool(value)) if kind == "bool" else value
        bound = json.dumps(bound) if kind == "number" else bound
        cast = _TYPES[kind][1]
        return _of_kind(key, kind, f"{_value(kind)} {op} %s::{cast}", [*_names(key), bound])

    def dated(self, key: str, op: str, value: str, *, or_text: bool) -> Part:
        """See `Dialect.dated`."""
        stored, again = _COLUMNS.get(key, _value("text")), _names(key)
        other = stored if or_text else "NULL"
        condition = f"CASE WHEN {stored} {IS_DATE} THEN left({stored}, %s) ELSE {other} END {op} %s"
        bound = [*again, *again, len(value), *(again if or_text else []), value]
        return _of_kind(key, "text", condition, bound)

    def prefixed(self, key: str, value: str) -> Part:
        """See `Dialect.prefixed`."""
        stored = _COLUMNS.get(key, _value("text"))
        return _of_kind(key, "text", f"starts_with({stored}, %s)", [*_names(key), value])


def _of_kind(key: str, kind: Kind, condition: str, bound: list[Bound]) -> Part:
    """A condition that is only looked at where the stored value is of this kind."""
    if key in _COLUMNS:
        return f"({condition})", bound
    test = f"jsonb_typeof(documents.fields -> %s) = '{_TYPES[kind][0]}'"
    return f"(CASE WHEN {test} THEN {condition} ELSE FALSE END)", [key, *bound]


def _value(kind: Kind) -> str:
    collation = ' COLLATE "C"' if kind == "text" else ""
    return f"(documents.fields ->> %s)::{_TYPES[kind][1]}{collation}"


def _names(key: str) -> list[Bound]:
    return [] if key in _COLUMNS else [key]
