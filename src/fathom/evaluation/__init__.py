"""Data sets, measures, judges, statistics and reports."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathom.evaluation.datasets import Dataset, DatasetQuestion, load
    from fathom.evaluation.harness import Evaluation, evaluate
    from fathom.evaluation.rows import SystemScores

__all__ = ["Dataset", "DatasetQuestion", "Evaluation", "SystemScores", "evaluate", "load"]

_HOMES = {
    "datasets": ("Dataset", "DatasetQuestion", "load"),
    "harness": ("Evaluation", "evaluate"),
    "rows": ("SystemScores",),
}
"""The names of each module; a name is imported on first use, because that takes a second."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - names have different types
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"fathom.evaluation.{module}"), name)
    # `hasattr` and `from ... import` rely on this type of error.
    raise AttributeError(f"module 'fathom.evaluation' has no attribute {name!r}")
