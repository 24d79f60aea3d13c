"""Choices as cost weighs more and more: MAO-ARAG, Figure 4."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from experiments.lab.oracle_router import (
    ORACLE,
    ROUTER,
    Choice,
    Value,
    compare_choices,
    get_measure,
)
from experiments.lab.renderers.oracle import list_frequent
from experiments.lab.results import Results
from experiments.lab.reward import compute_cost, make_reward

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Curve, Front, FrontPoint
from fathom.evaluation.statistics import bca_interval

F1 = get_measure("F1")


def show_weights(
    results: Results,
    *,
    planner: str,
    alphas: Sequence[float],
    front: Sequence[str],
    title: str = "Reward for each weight of cost",
) -> Iterator[ReportBlock]:
    """Yield the reward of a planner beside choosers that choose anew for each weight of cost.

    A figure shows F1 over the weight, another one F1 over cost; both of all data sets together.

    Args:
        results: Records of the planner and of fixed workflows.
        planner: An arm; all others are fixed workflows. What it chooses does not depend on the
            weight.
        alphas: Weights of cost.
        front: The arms that are drawn over their cost.
        title: Of the table.
    """
    by_alpha = {alpha: compare_choices(results, [planner], make_reward(alpha)) for alpha in alphas}
    routers = [f"router: {goal}" for goal in ("F1", "cost", "chosen")]
    head = ("data set", "alpha", planner, "router", "oracle", f"{planner} - router")
    sets = list(by_alpha[alphas[0]])
    rows = tuple(
        (name, f"{alpha:g}", *_format_line(by_alpha[alpha][name], planner, make_reward(alpha)))
        for name in sets
        for alpha in alphas
    )
    yield ReportTable(title=title, head=(*head, *routers), rows=rows)
    whole = {alpha: group[sets[-1]] for alpha, group in by_alpha.items()}
    lines = [_make_curve(whole, who) for who in (planner, ROUTER, ORACLE)]
    svg = plots.draw_lines(lines, x="weight of cost", y="F1", marked=True)
    heading = "F1 of what is chosen over the weight of cost; higher is better"
    yield Figure(name="alpha", caption=heading, svg=svg)
    svg = plots.draw_front(_make_front(results.select_arms(front), front))
    heading = "F1 over cost; filled marks: nothing better costs as little. Up and left is better"
    yield Figure(name="front", caption=heading, svg=svg)


def _format_line(group: Sequence[Choice], planner: str, value: Value) -> tuple[str, ...]:
    choices_by_name = {choice.who: choice for choice in group}
    earned = {who: list(map(value, choice.records)) for who, choice in choices_by_name.items()}
    gaps = [ours - theirs for ours, theirs in zip(earned[planner], earned[ROUTER], strict=True)]
    low, high = bca_interval(gaps)
    router = choices_by_name[ROUTER]
    return (
        *(f"{fmean(earned[who]):.3f}" for who in (planner, ROUTER, ORACLE)),
        f"{fmean(gaps):+.3f} [{low:+.3f}, {high:+.3f}]",
        f"{_compute_mean(router, F1):.3f}",
        f"{_compute_mean(router, compute_cost):.2f}",
        list_frequent(router),
    )


def _make_curve(whole: Mapping[float, Sequence[Choice]], who: str) -> Curve:
    points = [
        (alpha, _compute_mean(choice, F1))
        for alpha, group in whole.items()
        for choice in group
        if choice.who == who
    ]
    return Curve(name=who, points=tuple(points))


def _make_front(results: Results, arms: Sequence[str]) -> Front:
    """Pool all questions of an arm, whatever their data set."""
    points = []
    for arm in arms:
        records = [record for cell in results.select_arms([arm]).cells for record in cell.records]
        gained = list(map(F1, records))
        x, y = fmean(map(compute_cost, records)), fmean(gained)
        points.append(
            FrontPoint(name=arm, x=x, y=y, interval=bca_interval(gained, bounds=(0.0, 1.0)))
        )
    return Front(
        cost="cost a question",
        measure="F1",
        points=tuple(replace(point, best=not _is_beaten(point, points)) for point in points),
    )


def _is_beaten(point: FrontPoint, points: Sequence[FrontPoint]) -> bool:
    return any(
        (other.x, other.y) != (point.x, point.y) and other.x <= point.x and other.y >= point.y
        for other in points
    )


def _compute_mean(choice: Choice, value: Value) -> float:
    return fmean(map(value, choice.records))
