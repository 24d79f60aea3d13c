"""The supervisor of `hybrid`: decides which branches run again or join, and their weights."""

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
        final: Whether the search failed because the budget is spent, so that a retry is useless.
        hit_count: The number of hits of its search.
        kept_count: The number of these that its filter kept.
        confidence: The confidence in the kept hits, in [0, 1]; `None` if it has none.
        doubted: Whether its weight was already reduced for low confidence.
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
        orders: The order of each branch that runs next: to search, or to filter its hits with
            lower floors. The other branches are done.
        weights: The new weight of each branch whose weight changes, at least 0.
        reason: The reason, in words.
        doubted: The branches whose weight this decision reduces for low confidence.
    """

    orders: Mapping[str, Order]
    weights: Mapping[str, float]
    reason: str
    doubted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The supervisor (agentic-hybrid, section 3.5), which retries, reroutes and reweights.

    - A search that failed runs again.
    - A filter that kept none of its hits runs again with lower floors. Its branch loses weight,
      because the hits that it then keeps are worse.
    - A branch that has no hits and is not tried again gets weight 0. Its weight goes to the idle
      branches in equal shares, and they search in its place.
    - A branch of low confidence loses weight, once; the idle branches get what it loses.
    - After `retries` decisions nothing is tried again, so an answer never waits for one branch.

    Attributes:
        retries: The number of decisions, from the first on, that may order a second try; at least
            0.
        relax: The factor on the weight of a branch whose filter runs again or whose confidence is
            low, in [0, 1]. The caller also applies it to the floors of filters.
        low_confidence: A confidence is low if it is less than this share of the highest confidence
            of a branch; in [0, 1].
    """

    retries: int
    relax: float = 0.5
    low_confidence: float = 0.5

    def __call__(
        self, reports: Sequence[BranchReport], idle: Sequence[str], rounds: int
    ) -> SupervisorVerdict:
        """Return the decision after a round.

        Args:
            reports: The reports of all branches that have run.
            idle: The names of the branches that have not run.
            rounds: The number of earlier decisions.
        """
        due = {report.name: order for report in reports if (order := _choose_order(report))}
        retried = due if rounds < self.retries else {}
        exhausted = [
            branch for branch in reports if not branch.kept_count and branch.name not in retried
        ]
        doubted = self._list_doubted(reports)
        # A branch that the budget stopped frees no weight: its substitutes could not search
        # either.
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
        """Return the branches of low confidence whose weight was not yet reduced for it."""
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
    """Return the names in one line, separated by commas."""
    return ", ".join(names)


def _choose_order(report: BranchReport) -> Order | None:
    """Return the order that may help a branch without hits; `None` if it has hits or none helps."""
    if report.failed:
        return None if report.final else "search"
    return "filter" if report.hit_count and not report.kept_count else None
