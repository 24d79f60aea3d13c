"""What the plots of a report show, from records only."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean

from fathom.evaluation.calibration_metrics import risk_coverage
from fathom.evaluation.ir_metrics import recall
from fathom.evaluation.measures import Judged, bounds, ranked
from fathom.evaluation.records import Group, Record
from fathom.evaluation.rows import part_of, values
from fathom.evaluation.statistics import bca_interval

DEEPEST = 20
"""Recall is drawn up to so many documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A mean with its 95 % interval, over something else.

    Attributes:
        best: Of a front: whether no other is better without costing more.
    """

    name: str
    x: float
    y: float
    interval: tuple[float, float]
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points in order of their `x`, under one name."""

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """Quality against cost.

    Attributes:
        cost: What it costs, with its unit.
        measure: What quality is.
    """

    cost: str
    measure: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """One value for each row and column; `None` where there is none."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]


def by_dataset(answered: Sequence[Group]) -> dict[str, list[Group]]:
    """The groups of each data set, in order."""
    found: dict[str, list[Group]] = {}
    for group in answered:
        found.setdefault(group[0].dataset, []).append(group)
    return found


def headline(groups: Sequence[Group]) -> str:
    """The measure that says most about a data set: of rankings, conflicts, answers or evidence."""
    records = [record for group in groups for record in group]
    if any(record.ranks for record in records):
        return "nDCG@10"
    answerable = [record for record in records if record.answerable]
    if answerable and all(record.wrong is not None for record in answerable):
        return "RAMDocs-EM"
    graded = any(record.gold or not record.answerable for record in records)
    return "F1" if graded else "R@10"


def front(groups: Sequence[Group], measure: str = "") -> Front | None:
    """Quality against cost of the systems on one data set; `None` where none has quality.

    Args:
        groups: The systems.
        measure: What quality is, more of it being better; by default the `headline`.
    """
    measure = measure or headline(groups)
    kept = [(group, list(found)) for group in groups if (found := values(measure, group).values())]
    if not kept:
        return None
    unit, costs = _costs([group for group, _ in kept])
    means = [fmean(found) for _, found in kept]
    points = tuple(
        Point(
            name=group[0].system,
            x=cost,
            y=mean,
            interval=bca_interval(found, bounds=bounds(measure)),
            best=not any(_beats(other, (cost, mean)) for other in zip(costs, means, strict=True)),
        )
        for (group, found), cost, mean in zip(kept, costs, means, strict=True)
    )
    return Front(cost=unit, measure=measure, points=points)


def _costs(groups: Sequence[Group]) -> tuple[str, list[float]]:
    """What a question costs: money where it is known and spent, else tokens, else time."""
    money = [[record.usage.get("cost_usd") for record in group] for group in groups]
    if all(each is not None for group in money for each in group):
        costs = [fmean(each for each in group if each is not None) for group in money]
        if any(costs):
            return "US dollars a question", costs
    tokens = [fmean(map(_tokens, group)) for group in groups]
    if any(tokens):
        return "tokens a question", tokens
    return "seconds a question", [fmean(record.seconds for record in group) for group in groups]


def _tokens(record: Record) -> float:
    return sum(record.usage.get(name) or 0.0 for name in ("prompt_tokens", "completion_tokens"))


def _beats(other: tuple[float, float], one: tuple[float, float]) -> bool:
    return other != one and other[0] <= one[0] and other[1] >= one[1]


def risk_lines(groups: Sequence[Group]) -> list[Curve]:
    """The share of wrong answers among the most confident ones, for each coverage.

    A line ends at the share of the questions that its strategy answered at all.
    """
    lines = []
    for group in groups:
        judged = [Judged.of(record) for record in group]
        given = sum(each.answered for each in judged if each.graded)
        points = tuple(risk_coverage(*ranked(judged))[:given])
        lines += [Curve(name=group[0].system, points=points)] if points else []
    return lines


def recall_lines(groups: Sequence[Group]) -> list[Curve]:
    """The share of the relevant documents among the first k, for each k."""
    lines = []
    for group in groups:
        judged = [record for record in group if record.relevant]
        means = [
            (float(k), fmean(recall(k, each.evidence, each.relevant) for each in judged))
            for k in range(1, DEEPEST + 1)
            if judged
        ]
        lines += [Curve(name=group[0].system, points=tuple(means))] if means else []
    return lines


def seconds(groups: Sequence[Group]) -> dict[str, list[float]]:
    """Wall time of each question."""
    return {group[0].system: [record.seconds for record in group] for group in groups}


def phases(groups: Sequence[Group]) -> Heat:
    """The share of questions that ended in each phase; failed runs are a phase of their own."""
    ends = [[part_of(record, "phase") for record in group] for group in groups]
    found = tuple(dict.fromkeys(end for group in ends for end in group))
    return Heat(
        rows=tuple(group[0].system for group in groups),
        columns=found,
        cells=tuple(tuple(group.count(end) / len(group) for end in found) for group in ends),
    )


def kinds(groups: Sequence[Group]) -> Heat | None:
    """Quality for each kind of question; `None` where there are not two kinds."""
    found = sorted({record.kind for group in groups for record in group} - {""})
    if len(found) < 2:
        return None
    measure = headline(groups)
    cells = tuple(
        tuple(_mean(measure, [record for record in group if record.kind == kind]) for kind in found)
        for group in groups
    )
    return Heat(rows=tuple(group[0].system for group in groups), columns=tuple(found), cells=cells)


def _mean(measure: str, records: Group) -> float | None:
    found = values(measure, records)
    return fmean(found.values()) if found else None


def size_lines(answered: Sequence[Group]) -> dict[str, list[Curve]]:
    """Quality over the size of the corpus, where the same questions were asked of several.

    Returns:
        The lines, one a system, by their measure.
    """
    same: dict[tuple[str, ...], list[Group]] = {}
    for group in answered:
        if group[0].documents:
            same.setdefault(tuple(sorted(record.question for record in group)), []).append(group)
    found: dict[str, list[Curve]] = {}
    for groups in same.values():
        placed = [(group[0].system, float(group[0].documents), group) for group in groups]
        measure = headline(groups)
        found.setdefault(measure, []).extend(_lines(placed, measure))
    return {measure: lines for measure, lines in found.items() if lines}


def sweep_lines(groups: Sequence[Group]) -> dict[str, list[Curve]]:
    """Quality on one data set over each setting that was varied in numbers, by its name."""
    keys = sorted({key for group in groups for key in group[0].varied})
    found = {key: _lines(_placed(groups, key), headline(groups)) for key in keys}
    return {key: lines for key, lines in found.items() if lines}


def _placed(groups: Sequence[Group], key: str) -> list[tuple[str, float, Group]]:
    placed = []
    for group in groups:
        others = {name: value for name, value in group[0].varied.items() if name != key}
        name = replace(group[0], varied=others).system
        with suppress(KeyError, ValueError):  # words have no place on a scale
            placed.append((name, float(group[0].varied[key]), group))
    return placed


def _lines(placed: Sequence[tuple[str, float, Group]], measure: str) -> list[Curve]:
    """A line for each name that has values at two places at least."""
    named: dict[str, dict[float, list[float]]] = {}
    for name, x, group in placed:
        found = list(values(measure, group).values())
        if found:
            named.setdefault(name, {})[x] = found
    return [
        Curve(
            name=name,
            points=tuple((x, fmean(found)) for x, found in sorted(places.items())),
            intervals=tuple(
                bca_interval(found, bounds=bounds(measure)) for _, found in sorted(places.items())
            ),
        )
        for name, places in named.items()
        if len(places) > 1
    ]
