"""The supervisor: whether a branch that failed or came back empty is sent out again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Order = Literal["search", "filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchReport:
    """How one branch came back.

    Attributes:
        failed: Its search failed.
        final: Another try is of no use.
        found: Hits of its search.
        kept: Hits that its filter kept.
    """

    name: str
    failed: bool
    final: bool
    found: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorVerdict:
    """What the supervisor decided.

    Attributes:
        orders: By branch what it does anew: search, or filter what it found more laxly. The
            other branches are done.
        reason: In words.
    """

    orders: Mapping[str, Order]
    reason: str


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Bounded retries (agentic-hybrid, section 3.5): numbers in, verdict out.

    A search that failed is tried again; a filter that kept nothing of what was found is asked
    to be laxer. After `retries` rounds the branches count as they are, so that an answer never
    waits for one of them.

    Attributes:
        retries: At least 0.
    """

    retries: int

    def __call__(self, reports: Sequence[BranchReport], rounds: int) -> SupervisorVerdict:
        """Decide after so many rounds, from 0."""
        orders = {report.name: order for report in reports if (order := _order(report))}
        if not orders:
            return SupervisorVerdict(orders={}, reason="all branches are done")
        if rounds >= self.retries:
            names = ", ".join(orders)
            return SupervisorVerdict(orders={}, reason=f"{names}: nothing after {rounds} retries")
        wanted = ", ".join(f"{order} of {name}" for name, order in orders.items())
        return SupervisorVerdict(orders=orders, reason=f"again: {wanted}")


def _order(report: BranchReport) -> Order | None:
    if report.failed:
        return None if report.final else "search"
    return "filter" if report.found and not report.kept else None
