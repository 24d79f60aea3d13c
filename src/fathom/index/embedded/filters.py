"""Conditions on documents become SQL with bound parameters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.errors import UsageError
from fathom.types import Filter, Scalar

COLUMNS: Mapping[str, str] = {
    "path": "documents.path",
    "file": "file_name(documents.path)",
    "folder": "folder_name(documents.path)",
    "title": "documents.title",
    "language": "documents.language",
    "document": "documents.id",
}
"""What every document has, as SQL; `schema.connect` brings the functions."""
COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})

KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?", re.ASCII)
IS_DATE = "GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
_LARGEST = 2**63 - 1

Bound = str | int | float
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What filters let through: the numbers of chunks and documents, ascending."""

    chunks: Numbers
    documents: Numbers


def compile_filters(filters: Sequence[Filter]) -> tuple[str, list[Bound]]:
    """A condition over the table `documents`, and the values it binds.

    Texts compare by code point, numbers by value whatever their kind, `False < True`. A stored
    date compares with a day, a month or a year (`2021-05`, the number 2021) as exactly as that
    is given. Else a value of another type than the stored one never matches, nor does a missing
    one, also for `!=`.

    Raises:
        UsageError: If a key, an operator or a value is malformed.
    """
    parts = [_compile(one) for one in filters]
    condition = " AND ".join(part for part, _ in parts) or "TRUE"
    return condition, [value for _, values in parts for value in values]


def _compile(condition: Filter) -> tuple[str, list[Bound]]:
    if not KEY.fullmatch(condition.key):
        raise UsageError(
            f"filter key {condition.key!r}: use letters, digits, underscores and hyphens, at "
            "most 64; `fathom status` lists the keys"
        )
    if condition.op == "in":
        return _any_of(condition)
    if condition.op == "prefix":
        return _prefix(condition)
    if condition.op not in COMPARISONS:
        raise UsageError(f"filter operator {condition.op!r}: use = != < <= > >= in prefix")
    value = _scalar(condition)
    return _compare(condition.key, condition.op, value)


def _any_of(condition: Filter) -> tuple[str, list[Bound]]:
    if not isinstance(condition.value, tuple):
        raise UsageError(f"filter {condition.key} in {condition.value!r}: give several values")
    parts = [_compare(condition.key, "=", value) for value in condition.value]
    joined = " OR ".join(part for part, _ in parts) or "FALSE"
    return f"({joined})", [value for _, values in parts for value in values]


def _prefix(condition: Filter) -> tuple[str, list[Bound]]:
    value = _scalar(condition)
    if not isinstance(value, str):
        raise UsageError(f"filter {condition.key} prefix {value!r}: the prefix must be a text")
    field, names = _field(condition.key, "text")
    return f"({field} AND substr({_value(condition.key)}, 1, ?) = ?)", [
        *names,
        *_names(condition.key),
        len(value),
        value,
    ]


def _compare(key: str, op: str, value: Scalar) -> tuple[str, list[Bound]]:
    if isinstance(value, bool):
        return _typed(key, "bool", op, int(value))
    if isinstance(value, str):
        return _dated(key, op, value) if _DATE.fullmatch(value) else _typed(key, "text", op, value)
    plain, bound = _typed(key, "number", op, _number(value))
    if not (isinstance(value, int) and 1000 <= value <= 9999):
        return plain, bound
    dated, years = _dated(key, op, str(value), or_text=False)
    return f"({plain} OR {dated})", [*bound, *years]


def _typed(key: str, kind: str, op: str, bound: Bound) -> tuple[str, list[Bound]]:
    field, names = _field(key, kind)
    return f"({field} AND {_value(key)} {op} ?)", [*names, *_names(key), bound]


def _dated(key: str, op: str, value: str, *, or_text: bool = True) -> tuple[str, list[Bound]]:
    """A stored date is cut to the length of the value; other texts compare as they are."""
    field, names = _field(key, "text")
    stored, again = _value(key), _names(key)
    other = stored if or_text else "NULL"
    condition = f"CASE WHEN {stored} {IS_DATE} THEN substr({stored}, 1, ?) ELSE {other} END"
    bound = [*names, *again, *again, len(value), *(again if or_text else []), value]
    return f"({field} AND {condition} {op} ?)", bound


def _field(key: str, kind: str) -> tuple[str, list[Bound]]:
    """A test that the stored value is of this kind."""
    if key in COLUMNS:
        return ("TRUE" if kind == "text" else "FALSE"), []
    kinds = {"text": "'text'", "bool": "'true', 'false'", "number": "'integer', 'real'"}
    return f"json_type(documents.metadata, ?) IN ({kinds[kind]})", list(_names(key))


def _value(key: str) -> str:
    if key in COLUMNS:
        return COLUMNS[key]
    return "json_extract(documents.metadata, ?)"


def _names(key: str) -> list[Bound]:
    return [] if key in COLUMNS else [f'$."{key}"']


def _scalar(condition: Filter) -> Scalar:
    if isinstance(condition.value, tuple):
        raise UsageError(f"filter {condition.key} {condition.op}: give one value, not several")
    return condition.value


def _number(value: float) -> Bound:
    # SQLite binds 64-bit integers only; JSON numbers beyond that are kept as floats.
    return value if -_LARGEST <= value <= _LARGEST or isinstance(value, float) else float(value)
