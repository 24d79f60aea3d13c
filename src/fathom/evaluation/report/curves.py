"""The data of a report's plots, computed from records only."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean

from fathom.evaluation.calibration_metrics import risk_coverage
from fathom.evaluation.ir_metrics import recall
from fathom.evaluation.measures import GradedAnswer, get_bounds, rank_by_confidence
from fathom.evaluation.records import Group
from fathom.evaluation.rows import choose_cost_unit, get_cost, get_subgroup, score_questions
from fathom.evaluation.statistics import bca_interval

MAX_RECALL_DEPTH = 20
"""The number of documents up to which recall is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPoint:
    """One system in a plot of quality and cost.

    Attributes:
        name: The name of the system.
        x: The mean cost of a question.
        y: The mean quality.
        interval: The 95 % interval of the mean quality.
        best: Whether no other system is better without costing more.
    """

    name: str
    x: float
    y: float
    interval: tuple[float, float]
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A named line, with points in the order of `x`, and optional intervals of `y`."""

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """Quality and cost of systems.

    Attributes:
        cost: The label of the cost, with its unit.
        measure: The measure of quality.
        points: The systems.
    """

    cost: str
    measure: str
    points: tuple[FrontPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A table of values; `None` for a cell without a value."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]


def group_by_dataset(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Return the groups by data set, in order."""
    by_name: dict[str, list[Group]] = {}
    for group in groups:
        by_name.setdefault(group[0].dataset, []).append(group)
    return by_name


def choose_headline(groups: Sequence[Group]) -> str:
    """Return the most important measure for a data set.

    It is the measure of rankings, of conflicts, of answers or of evidence: the first that applies.
    """
    records = [record for group in groups for record in group]
    if any(record.is_ranking for record in records):
        return "nDCG@10"
    answerable = [record for record in records if record.answerable]
    if answerable and all(record.wrong is not None for record in answerable):
        return "RAMDocs-EM"
    graded = any(record.gold or not record.answerable for record in records)
    return "F1" if graded else "R@10"


def compute_front(groups: Sequence[Group], measure: str = "") -> Front | None:
    """Compute quality and cost of the systems on one data set.

    Args:
        groups: The records of the systems.
        measure: A measure for which higher is better; by default that of `choose_headline`.

    Returns:
        The front; `None` if no system has a value of the measure.
    """
    measure = measure or choose_headline(groups)
    scored = [
        (group, list(scores))
        for group in groups
        if (scores := score_questions(measure, group).values())
    ]
    if not scored:
        return None
    unit = choose_cost_unit([group for group, _ in scored])
    costs = [fmean(get_cost(record, unit) for record in group) for group, _ in scored]
    means = [fmean(scores) for _, scores in scored]
    points = tuple(
        FrontPoint(
            name=group[0].system,
            x=cost,
            y=mean,
            interval=bca_interval(scores, bounds=get_bounds(measure)),
            best=not any(_beats(other, (cost, mean)) for other in zip(costs, means, strict=True)),
        )
        for (group, scores), cost, mean in zip(scored, costs, means, strict=True)
    )
    return Front(cost=f"{unit} a question", measure=measure, points=points)


def _beats(other: tuple[float, float], point: tuple[float, float]) -> bool:
    return other != point and other[0] <= point[0] and other[1] >= point[1]


def compute_risk_lines(groups: Sequence[Group]) -> list[Curve]:
    """Return the share of wrong answers among the most confident ones, for each coverage.

    A line ends at the share of the questions that its strategy answered.
    """
    lines = []
    for group in groups:
        answers = [GradedAnswer.of(record) for record in group]
        count = sum(answer.answered for answer in answers if answer.graded)
        # The abstentions at the end of the ranking are left out.
        points = tuple(risk_coverage(*rank_by_confidence(answers))[:count])
        lines += [Curve(name=group[0].system, points=points)] if points else []
    return lines


def compute_recall_lines(groups: Sequence[Group]) -> list[Curve]:
    """Return the share of the relevant documents among the first k, for each k."""
    lines = []
    for group in groups:
        judged = [record for record in group if record.relevant]
        means = [
            (float(k), fmean(recall(k, item.evidence, item.relevant) for item in judged))
            for k in range(1, MAX_RECALL_DEPTH + 1)
            if judged
        ]
        lines += [Curve(name=group[0].system, points=tuple(means))] if means else []
    return lines


def list_seconds(groups: Sequence[Group]) -> dict[str, list[float]]:
    """Return the wall times of the questions by system."""
    return {group[0].system: [record.seconds for record in group] for group in groups}


def compute_phase_shares(groups: Sequence[Group]) -> Heat:
    """Return the shares of questions that ended in each phase; failed runs are one phase."""
    ends = [[get_subgroup(record, "phase") for record in group] for group in groups]
    columns = tuple(dict.fromkeys(end for group in ends for end in group))
    return Heat(
        rows=tuple(group[0].system for group in groups),
        columns=columns,
        cells=tuple(tuple(group.count(end) / len(group) for end in columns) for group in ends),
    )


def compute_kind_means(groups: Sequence[Group]) -> Heat | None:
    """Return the quality for each kind of question; `None` for fewer than two kinds."""
    columns = sorted({record.kind for group in groups for record in group} - {""})
    if len(columns) < 2:
        return None
    measure = choose_headline(groups)
    cells = tuple(
        tuple(
            _average_measure(measure, [record for record in group if record.kind == kind])
            for kind in columns
        )
        for group in groups
    )
    return Heat(
        rows=tuple(group[0].system for group in groups), columns=tuple(columns), cells=cells
    )


def _average_measure(measure: str, records: Group) -> float | None:
    scores = score_questions(measure, records)
    return fmean(scores.values()) if scores else None


def compute_size_lines(all_groups: Sequence[Group]) -> dict[str, list[Curve]]:
    """Compute quality over the size of the corpus, for questions to several corpora.

    Returns:
        A line for each system, by measure.
    """
    by_questions: dict[tuple[str, ...], list[Group]] = {}
    for group in all_groups:
        if group[0].documents:
            # Sizes can be compared only if the questions are the same.
            questions = tuple(sorted(record.question for record in group))
            by_questions.setdefault(questions, []).append(group)
    by_measure: dict[str, list[Curve]] = {}
    for groups in by_questions.values():
        placements = [(group[0].system, float(group[0].documents), group) for group in groups]
        measure = choose_headline(groups)
        by_measure.setdefault(measure, []).extend(_build_curves(placements, measure))
    return {measure: lines for measure, lines in by_measure.items() if lines}


def compute_sweep_lines(groups: Sequence[Group]) -> dict[str, list[Curve]]:
    """Return quality on one data set over each setting with varied numbers, by its name."""
    keys = sorted({key for group in groups for key in group[0].varied})
    by_key = {
        key: _build_curves(_place_groups(groups, key), choose_headline(groups)) for key in keys
    }
    return {key: lines for key, lines in by_key.items() if lines}


def _place_groups(groups: Sequence[Group], key: str) -> list[tuple[str, float, Group]]:
    placements = []
    for group in groups:
        others = {name: value for name, value in group[0].varied.items() if name != key}
        name = replace(group[0], varied=others).system
        with suppress(KeyError, ValueError):  # words have no place on an axis
            placements.append((name, float(group[0].varied[key]), group))
    return placements


def _build_curves(placements: Sequence[tuple[str, float, Group]], measure: str) -> list[Curve]:
    """Return a curve for each name with values at two or more places."""
    named: dict[str, dict[float, list[float]]] = {}
    for name, x, group in placements:
        scores = list(score_questions(measure, group).values())
        if scores:
            named.setdefault(name, {})[x] = scores
    return [
        Curve(
            name=name,
            points=tuple((x, fmean(scores)) for x, scores in sorted(places.items())),
            intervals=tuple(
                bca_interval(scores, bounds=get_bounds(measure))
                for _, scores in sorted(places.items())
            ),
        )
        for name, places in named.items()
        if len(places) > 1
    ]
