"""The supervisor: which branches are sent out again, who stands in, and how much each counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Order = Literal["search", "filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchReport:
    """How one branch came back.

    Attributes:
        weight: How much it counts so far, at least 0.
        failed: Its search failed.
        final: Another try is of no use.
        found: Hits of its search.
        kept: Hits that its filter kept.
    """

    name: str
    weight: float
    failed: bool
    final: bool
    found: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorVerdict:
    """What the supervisor decided.

    Attributes:
        orders: By branch what it does anew, or at last: search, or filter what it found more
            laxly. The other branches are done.
        weights: By branch how much it counts from now on, of those for which that changes.
        reason: In words.
    """

    orders: Mapping[str, Order]
    weights: Mapping[str, float]
    reason: str


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Retries, reroutes and reweights (agentic-hybrid, section 3.5): numbers in, verdict out.

    A search that failed is tried again; a filter that kept nothing of what was found is asked to
    be laxer, and counts less, as what it keeps then is worse. A branch that brings nothing after
    that, or found nothing, counts no more: its weight goes to the branches that stand by, which
    are sent out in its place. After `retries` rounds the branches count as they are, so that an
    answer never waits for one of them.

    Attributes:
        retries: At least 0.
        relax: By which the floors of a filter, and the weight of its branch, are multiplied each
            time it is asked again; in [0, 1].
    """

    retries: int
    relax: float = 0.5

    def __call__(
        self, reports: Sequence[BranchReport], idle: Sequence[str], rounds: int
    ) -> SupervisorVerdict:
        """Decide after so many rounds, from 0.

        Args:
            reports: Of the branches that were sent out.
            idle: Those that stand by.
            rounds: How often this was decided before.
        """
        wanted = {report.name: order for report in reports if (order := _order(report))}
        again = wanted if rounds < self.retries else {}
        out = [each for each in reports if not each.kept and each.name not in again]
        lost = sum(each.weight for each in out if not each.final)
        orders: dict[str, Order] = {**again}
        weights = {each.name: 0.0 for each in out if each.weight}
        weights |= {
            each.name: each.weight * self.relax
            for each in reports
            if again.get(each.name) == "filter"
        }
        if lost and idle:
            orders |= dict.fromkeys(idle, "search")
            weights |= dict.fromkeys(idle, lost / len(idle))
        reasons = {
            f"again: {_listed(f'{order} of {name}' for name, order in again.items())}": again,
            f"{_listed(wanted)}: nothing after {rounds} retries": not again and wanted,
            f"{_listed(idle)} instead of {_listed(each.name for each in out)}": lost and idle,
        }
        told = "; ".join(reason for reason, is_so in reasons.items() if is_so)
        return SupervisorVerdict(
            orders=orders, weights=weights, reason=told or "all branches are done"
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _order(report: BranchReport) -> Order | None:
    if report.failed:
        return None if report.final else "search"
    return "filter" if report.found and not report.kept else None
