"""The grammar of workflows: which executors a planner may put in a row.

MAO-ARAG (arXiv 2508.01005, section 3.1; the validity check of its released code). In the first
turn a decomposition stands alone, or some of QR, R and DS come in any order before AG; a
sub-question's turn has no decomposition and no rewriting. AS is run by the system.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Literal, TypeGuard, get_args

Executor = Literal["QR", "QDS", "QDP", "R", "DS", "AG"]
Workflow = tuple[Executor, ...]

EXECUTORS: tuple[Executor, ...] = get_args(Executor)


def _before_the_answer(*executors: Executor) -> tuple[Workflow, ...]:
    """Every ordering of every subset of `executors`, then AG; short ones first."""
    sizes = range(len(executors) + 1)
    return tuple((*some, "AG") for size in sizes for some in permutations(executors, size))


FIRST_TURN: tuple[Workflow, ...] = (("QDS",), ("QDP",), *_before_the_answer("QR", "R", "DS"))
"""The 18 workflows for the question itself."""

SUB_TURN: tuple[Workflow, ...] = _before_the_answer("R", "DS")
"""The 5 workflows for a sub-question."""

DEFAULT: Workflow = ("R", "AG")
"""Takes the place of an illegal one; legal in every turn."""


def legal(*, first: bool) -> tuple[Workflow, ...]:
    """The workflows of a turn, in a fixed order: a learned planner's actions are places in it."""
    return FIRST_TURN if first else SUB_TURN


def is_legal(plan: Sequence[str], *, first: bool) -> TypeGuard[Workflow]:
    """Whether a planner may choose this."""
    return tuple(plan) in legal(first=first)
