"""Hints about filters with a part of a path, which no document has."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fathom.documents.discover import make_absolute
from fathom.retrieval.query import parse_filters
from fathom.types import Filter

if TYPE_CHECKING:
    from fathom.engine import Engine

_WORDS = {"=": ("is", "="), "in": ("is", "="), "prefix": ("begins with", "^=")}
"""The words and the operator of a condition on paths, by the operator of its filter."""


def describe_partial_paths(engine: "Engine", filters: Sequence[str]) -> tuple[str, ...]:
    """Return a line for each path in a filter that is not whole and that no document has.

    Args:
        engine: The engine over the documents.
        filters: The filters of a search that found nothing.
    """
    partial = list(_iterate_partial_paths(parse_filters(filters)))
    if not partial:
        return ()
    paths = [document.path for document in engine.documents.list()]
    lines = []
    for op, value in partial:
        relation, sign = _WORDS[op]
        if not any(path.startswith(value) if op == "prefix" else path == value for path in paths):
            lines.append(
                f"no document has a path that {relation} {value!r}: a path is whole, such as "
                f"'path{sign}{make_absolute(value)}'; `fathom docs list` lists the paths"
            )
    return tuple(lines)


def _iterate_partial_paths(filters: Sequence[Filter]) -> Iterator[tuple[str, str]]:
    """Yield the operator and the value of each condition on a path that is not whole."""
    for condition in filters:
        if condition.key != "path" or condition.op not in _WORDS:
            continue
        values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
        for value in map(str, values):
            # Documents of sources have addresses, such as those of web pages, as their paths.
            if str(make_absolute(value)) != value.rstrip("/") and "://" not in value:
                yield condition.op, value
