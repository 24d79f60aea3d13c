"""What is chosen when cost weighs more and more: MAO-ARAG, Figure 4."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from experiments.lab.oracle_router import ORACLE, ROUTER, Choice, Value, choices, measure_named
from experiments.lab.renderers.oracle import frequent
from experiments.lab.results import Results
from experiments.lab.reward import cost, reward

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Curve, Front, FrontPoint
from fathom.evaluation.statistics import bca_interval

F1 = measure_named("F1")


def weighed(
    seen: Results,
    *,
    planner: str,
    alphas: Sequence[float],
    front: Sequence[str],
    title: str = "Reward for each weight of cost",
) -> Iterator[ReportBlock]:
    """The reward of a planner beside those who choose anew for each weight of cost.

    A figure shows F1 over the weight, another one F1 over cost; both of all data sets together.

    Args:
        seen: Records of the planner and of fixed workflows.
        planner: An arm; all others are fixed workflows. What it chooses does not depend on the
            weight.
        alphas: Weights of cost.
        front: The arms that are drawn over their cost.
        title: Of the table.
    """
    found = {alpha: choices(seen, [planner], reward(alpha)) for alpha in alphas}
    own = [f"router: {each}" for each in ("F1", "cost", "chosen")]
    head = ("data set", "alpha", planner, "router", "oracle", f"{planner} - router")
    sets = list(found[alphas[0]])
    rows = tuple(
        (name, f"{alpha:g}", *_line(found[alpha][name], planner, reward(alpha)))
        for name in sets
        for alpha in alphas
    )
    yield ReportTable(title=title, head=(*head, *own), rows=rows)
    whole = {alpha: made[sets[-1]] for alpha, made in found.items()}
    lines = [_curve(whole, who) for who in (planner, ROUTER, ORACLE)]
    svg = plots.draw_lines(lines, x="weight of cost", y="F1", marked=True)
    told = "F1 of what is chosen over the weight of cost; higher is better"
    yield Figure(name="alpha", caption=told, svg=svg)
    svg = plots.draw_front(_front(seen.find_system(front), front))
    told = "F1 over cost; filled marks: nothing better costs as little. Up and left is better"
    yield Figure(name="front", caption=told, svg=svg)


def _line(made: Sequence[Choice], planner: str, value: Value) -> tuple[str, ...]:
    known = {each.who: each for each in made}
    earned = {who: list(map(value, choice.records)) for who, choice in known.items()}
    gaps = [ours - theirs for ours, theirs in zip(earned[planner], earned[ROUTER], strict=True)]
    low, high = bca_interval(gaps)
    router = known[ROUTER]
    return (
        *(f"{fmean(earned[who]):.3f}" for who in (planner, ROUTER, ORACLE)),
        f"{fmean(gaps):+.3f} [{low:+.3f}, {high:+.3f}]",
        f"{_mean(router, F1):.3f}",
        f"{_mean(router, cost):.2f}",
        frequent(router),
    )


def _curve(whole: Mapping[float, Sequence[Choice]], who: str) -> Curve:
    points = [
        (alpha, _mean(choice, F1))
        for alpha, made in whole.items()
        for choice in made
        if choice.who == who
    ]
    return Curve(name=who, points=tuple(points))


def _front(seen: Results, arms: Sequence[str]) -> Front:
    """All questions of an arm together, whatever their data set."""
    points = []
    for arm in arms:
        records = [record for cell in seen.find_system([arm]).cells for record in cell.records]
        gained = list(map(F1, records))
        x, y = fmean(map(cost, records)), fmean(gained)
        points.append(
            FrontPoint(name=arm, x=x, y=y, interval=bca_interval(gained, bounds=(0.0, 1.0)))
        )
    return Front(
        cost="cost a question",
        measure="F1",
        points=tuple(replace(point, best=not _beaten(point, points)) for point in points),
    )


def _beaten(point: FrontPoint, points: Sequence[FrontPoint]) -> bool:
    return any(
        (each.x, each.y) != (point.x, point.y) and each.x <= point.x and each.y >= point.y
        for each in points
    )


def _mean(choice: Choice, value: Value) -> float:
    return fmean(map(value, choice.records))
