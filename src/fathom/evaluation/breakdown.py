"""The scores of each system by phase or by kind of question."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from fathom.errors import UsageError
from fathom.evaluation.records import Group
from fathom.evaluation.rows import SystemScores, get_subgroup, score_subgroups

Field = Literal["phase", "kind"]
FIELDS: tuple[Field, ...] = ("phase", "kind")
MIN_FOR_INTERVAL = 5
"""The number of questions below which no interval is shown, because it would mean nothing."""
BREAKDOWN_MEASURES = (
    "F1", "RAMDocs-EM", "right", "abstained", "wrong-on-answerable", "no-answer-F1", "support",
    "citation-precision", "R@5", "R@10", "failed",
)  # fmt: skip
"""The measures of strategies in a breakdown; each has a value for a single question."""
RANKING_BREAKDOWN_MEASURES = ("nDCG@10", "R@10", "RR@10", "Hit@10", "F1@10", "failed")
"""The measures of retrievers in a breakdown."""


def parse_fields(names: Sequence[str]) -> list[Field]:
    """Return the fields of these names, in the order of `FIELDS`.

    Raises:
        UsageError: If there is no such field.
    """
    for name in names:
        if name not in FIELDS:
            raise UsageError(f"--by {name!r}: expected {' or '.join(FIELDS)}")
    return [field for field in FIELDS if field in names]


def break_down_groups(groups: Sequence[Group], field: Field) -> list[SystemScores]:
    """Return the scores of each system by phase or by kind, named `system: phase`.

    Returns:
        For phases, the rows of each system, the most frequent phase first. For kinds, the rows of
        each kind for all systems. A system with a single phase or kind is left out, because its row
        would repeat that of the whole.
    """
    divided = [
        group for group in groups if len({get_subgroup(record, field) for record in group}) > 1
    ]
    rows = [
        (row.system.removeprefix(f"{group[0].system}: "), _drop_weak_intervals(row))
        for group in divided
        for row in score_subgroups(group, field)
    ]
    return _group_by_kind(rows) if field == "kind" else [row for _, row in rows]


def _group_by_kind(rows: Sequence[tuple[str, SystemScores]]) -> list[SystemScores]:
    """Return the rows sorted by kind, as every system was asked questions of each kind.

    Each row comes with its kind, because a kind may contain a colon like that after the system.
    """
    kinds = [(row.dataset, kind) for kind, row in rows]
    # Kinds keep the order in which they first appear, the most frequent one first.
    places = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
    order = sorted(range(len(rows)), key=lambda place: places[kinds[place]])
    return [rows[place][1] for place in order]


def _drop_weak_intervals(row: SystemScores) -> SystemScores:
    return row if row.queries >= MIN_FOR_INTERVAL else replace(row, intervals={})
