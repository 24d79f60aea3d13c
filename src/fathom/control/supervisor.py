"""The supervisor: the branches to run again, their substitutes, and the weight of each branch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Order = Literal["search", "filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchReport:
    """The outcome of one branch.

    Attributes:
        weight: The weight of the branch so far, at least 0.
        failed: Whether its search failed.
        final: Whether another try is of no use.
        hit_count: Number of hits of its search.
        kept_count: Number of hits that its filter kept.
        confidence: Confidence in the kept hits, in [0, 1]; `None` if there is none.
        doubted: Whether its weight was reduced for low confidence before.
    """

    name: str
    weight: float
    failed: bool
    final: bool
    hit_count: int
    kept_count: int
    confidence: float | None = None
    doubted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorVerdict:
    """The decision of the supervisor.

    Attributes:
        orders: The next order of each branch that has one: to search, or to filter its hits more
            laxly. The other branches are done.
        weights: The new weight of each branch whose weight changes.
        reason: The reason, in words.
        doubted: The branches whose weight is reduced for low confidence.
    """

    orders: Mapping[str, Order]
    weights: Mapping[str, float]
    reason: str
    doubted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The supervisor (agentic-hybrid, section 3.5), which retries, reroutes and reweights.

    A search that failed is tried again. A filter that kept none of its hits is asked to be laxer,
    and its branch counts less, as the hits it keeps then are worse. A branch without hits after
    that counts no more: its weight goes to the idle branches, which run in its place. A branch of
    low confidence counts less, once, and the idle branches get what it loses. After `retries`
    rounds the branches count as they are, so that an answer never waits for one of them.

    Attributes:
        retries: Largest number of further rounds, at least 0.
        relax: The factor of a filter's floors, and of the weight of its branch, for each time the
            filter is asked again; also of the weight of a branch of low confidence; in [0, 1].
        low_confidence: A confidence is low if it is less than this share of the surest branch's; in
            [0, 1].
    """

    retries: int
    relax: float = 0.5
    low_confidence: float = 0.5

    def __call__(
        self, reports: Sequence[BranchReport], idle: Sequence[str], rounds: int
    ) -> SupervisorVerdict:
        """Return the decision after a round.

        Args:
            reports: Reports of the branches that ran.
            idle: Names of the branches that stand by.
            rounds: Number of decisions so far, from 0.
        """
        due = {report.name: order for report in reports if (order := _choose_order(report))}
        retried = due if rounds < self.retries else {}
        exhausted = [
            branch for branch in reports if not branch.kept_count and branch.name not in retried
        ]
        doubted = self._list_doubted(reports)
        # A branch that the budget stopped frees no weight: its substitutes could not search either.
        freed = sum(branch.weight for branch in exhausted if not branch.final)
        freed += sum(branch.weight * (1 - self.relax) for branch in doubted)
        orders: dict[str, Order] = {**retried}
        weights = {branch.name: 0.0 for branch in exhausted if branch.weight}
        weights |= {
            branch.name: branch.weight * self.relax
            for branch in reports
            if retried.get(branch.name) == "filter" or branch in doubted
        }
        if freed and idle:
            orders |= dict.fromkeys(idle, "search")
            weights |= dict.fromkeys(idle, freed / len(idle))
        orders_again = (f"{order} of {name}" for name, order in retried.items())
        unsure = [branch.name for branch in doubted]
        replaced = [branch.name for branch in exhausted]
        reasons = {
            f"again: {_join_names(orders_again)}": retried,
            f"{_join_names(due)}: nothing after {rounds} retries": not retried and due,
            f"{_join_names(unsure)}: low confidence": unsure,
            f"{_join_names(idle)} instead of {_join_names(replaced)}": freed and idle and replaced,
            f"{_join_names(idle)} beside {_join_names(unsure)}": freed and idle and unsure,
        }
        summary = "; ".join(reason for reason, is_so in reasons.items() if is_so)
        return SupervisorVerdict(
            orders=orders,
            weights=weights,
            reason=summary or "all branches are done",
            doubted=tuple(unsure),
        )

    def _list_doubted(self, reports: Sequence[BranchReport]) -> list[BranchReport]:
        """Return the branches whose confidence is low and whose weight says nothing of it yet."""
        best = max((branch.confidence or 0.0 for branch in reports), default=0.0)
        return [
            branch
            for branch in reports
            if branch.confidence is not None
            and not branch.doubted
            and branch.weight
            and branch.confidence < self.low_confidence * best
        ]


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names)


def _choose_order(report: BranchReport) -> Order | None:
    """Return the order that would help a branch; `None` if it is done."""
    if report.failed:
        return None if report.final else "search"
    return "filter" if report.hit_count and not report.kept_count else None
