"""How each system did in each of its phases, or on each kind of question."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from fathom.errors import UsageError
from fathom.evaluation.records import Group
from fathom.evaluation.rows import Row, part_of, rows_by

Field = Literal["phase", "kind"]
FIELDS: tuple[Field, ...] = ("phase", "kind")
FEWEST = 5
"""Of fewer questions no interval is given: resampling so few says nothing about others."""
SHOWN = (
    "F1", "RAMDocs-EM", "right", "abstained", "wrong-on-answerable", "no-answer-F1", "support",
    "citation-precision", "R@5", "R@10", "failed",
)  # fmt: skip
"""The measures that tables of parts show: such as have a value for each question."""
SHOWN_OF_RANKINGS = ("nDCG@10", "R@10", "RR@10", "Hit@10", "F1@10", "failed")
"""Likewise of retrievers."""


def fields(names: Sequence[str]) -> list[Field]:
    """What questions are told apart by.

    Raises:
        UsageError: If there is no such field.
    """
    for name in names:
        if name not in FIELDS:
            raise UsageError(f"--by {name!r}: expected {' or '.join(FIELDS)}")
    return [field for field in FIELDS if field in names]


def rows_of_parts(groups: Sequence[Group], field: Field) -> list[Row]:
    """A row for each part of each system, named `system: part`.

    Args:
        groups: The records of each system on each data set.
        field: What the questions are told apart by: the phase that ended them, or their kind.

    Returns:
        Most frequent parts first; of kinds all systems side by side. Those of a system with one
        part only are left out, as they say nothing new.
    """
    parted = [group for group in groups if len({part_of(each, field) for each in group}) > 1]
    rows = [_sober(row) for group in parted for row in rows_by(group, field)]
    return _side_by_side(rows) if field == "kind" else rows


def _side_by_side(rows: Sequence[Row]) -> list[Row]:
    """The rows of one kind of question one after the other: all systems were asked them."""
    kinds = [(row.dataset, row.system.rpartition(": ")[2]) for row in rows]
    places = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
    order = sorted(range(len(rows)), key=lambda place: places[kinds[place]])
    return [rows[place] for place in order]


def _sober(row: Row) -> Row:
    return row if row.queries >= FEWEST else replace(row, intervals={})
