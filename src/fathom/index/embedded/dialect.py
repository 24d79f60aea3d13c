"""SQL conditions on documents in the dialect of SQLite."""

from collections.abc import Mapping

from fathom.index.filters import BoundValue, Kind, SqlCondition

_COLUMNS: Mapping[str, str] = {
    "path": "documents.path",
    "file": "file_name(documents.path)",
    "folder": "folder_name(documents.path)",
    "title": "documents.title",
    "language": "documents.language",
    "document": "documents.id",
}
"""The columns in SQL; `schema.connect` defines the functions."""
_TYPES: Mapping[Kind, str] = {
    "text": "'text'",
    "bool": "'true', 'false'",
    "number": "'integer', 'real'",
}
IS_DATE = "GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
_LARGEST = 2**63 - 1


class SqliteDialect:
    """The `Dialect` of SQLite."""

    def compare(self, key: str, kind: Kind, op: str, value: BoundValue) -> SqlCondition:
        """Write the condition that the stored value is of this kind and compares so."""
        field, names = _test_kind(key, kind)
        return f"({field} AND {_select_value(key)} {op} ?)", [
            *names,
            *_bind_path(key),
            _make_bindable(value),
        ]

    def compare_date(self, key: str, op: str, value: str, *, or_text: bool) -> SqlCondition:
        """Write the condition that the stored date, cut to the value's length, compares so."""
        field, names = _test_kind(key, "text")
        stored, path = _select_value(key), _bind_path(key)
        other = stored if or_text else "NULL"
        # The stored date is cut to the precision of the value, so that a month matches all its
        # days.
        condition = f"CASE WHEN {stored} {IS_DATE} THEN substr({stored}, 1, ?) ELSE {other} END"
        bound = [*names, *path, *path, len(value), *(path if or_text else []), value]
        return f"({field} AND {condition} {op} ?)", bound

    def match_prefix(self, key: str, value: str) -> SqlCondition:
        """Write the condition that the stored value is a text that begins so."""
        field, names = _test_kind(key, "text")
        bound = [*names, *_bind_path(key), len(value), value]
        return f"({field} AND substr({_select_value(key)}, 1, ?) = ?)", bound


def _test_kind(key: str, kind: Kind) -> SqlCondition:
    """Write the condition that the stored value is of this kind."""
    if key in _COLUMNS:
        return ("TRUE" if kind == "text" else "FALSE"), []
    return f"json_type(documents.metadata, ?) IN ({_TYPES[kind]})", list(_bind_path(key))


def _select_value(key: str) -> str:
    return _COLUMNS.get(key, "json_extract(documents.metadata, ?)")


def _bind_path(key: str) -> list[BoundValue]:
    # Quoted, because a key may contain hyphens; `KEY` admits no quotation mark.
    return [] if key in _COLUMNS else [f'$."{key}"']


def _make_bindable(value: BoundValue) -> BoundValue:
    # SQLite binds 64-bit integers only; JSON numbers beyond that are kept as floats.
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        return float(value)
    return value
