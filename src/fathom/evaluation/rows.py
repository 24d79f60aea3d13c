"""The scores and costs of one system on a data set or a part of it, computed from records."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from statistics import fmean, quantiles
from typing import Literal

import numpy as np
import numpy.typing as npt

from fathom.evaluation.ir_metrics import MEASURES
from fathom.evaluation.measures import GROUP_SCORES, SCORES, GradedAnswer, GroupScore, get_bounds
from fathom.evaluation.records import Group, Record
from fathom.evaluation.statistics import bca_interval, resample_interval
from fathom.usage import Usage

HEADLINES = (
    "F1",
    "EM",
    "RAMDocs-EM",
    "right",
    "abstained",
    "tentative",
    "wrong-on-answerable",
    "no-answer-F1",
    "CRAG-truthfulness",
    "support",
    "citation-precision",
    "citation-recall",
    "R@5",
    "R@10",
    "AUROC",
    "AURC",
    "ECE",
    "failed",
)
"""The measures of strategies in tables."""
RANKING_HEADLINES = (*MEASURES, "failed")
"""The measures of retrievers in tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemScores:
    """The scores of one system on one data set.

    Attributes:
        dataset: The name of the data set.
        system: The name of the system.
        queries: The number of questions.
        measures: The mean over the questions that have a value, or the value of all records.
        intervals: The 95 % bootstrap interval of each measure.
        latency_s: The median `p50` and the 95th percentile `p95` of the seconds of a question.
        usage: The mean usage of a question.
    """

    dataset: str
    system: str
    queries: int
    measures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    latency_s: dict[str, float]
    usage: dict[str, float]


def score_system(records: Sequence[Record]) -> SystemScores:
    """Compute the scores of one system on one data set; measures without any value are absent."""
    means, intervals = _average_scores(records)
    group_means, whole_intervals = _score_group(records)
    return SystemScores(
        dataset=records[0].dataset,
        system=records[0].system,
        queries=len(records),
        measures=means | group_means,
        intervals=intervals | whole_intervals,
        latency_s=compute_percentiles([record.seconds for record in records]),
        usage=_average_usage(records),
    )


def score_subgroups(
    records: Sequence[Record], field: Literal["phase", "kind"]
) -> list[SystemScores]:
    """Return a row for each phase or each kind of question, the most frequent first."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(get_subgroup(record, field), []).append(record)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    rows = [(name, score_system(members)) for name, members in ordered]
    return [replace(row, system=f"{row.system}: {name}") for name, row in rows]


def get_subgroup(record: Record, field: Literal["phase", "kind"]) -> str:
    """Return the phase or the kind of a question; the phase of a failed run is `failed`."""
    # Other records can have no phase too, and must not be mixed with failed runs.
    if field == "phase" and record.status == "failed":
        return "failed"
    return getattr(record, field) or "-"


def score_questions(name: str, records: Sequence[Record]) -> dict[str, float]:
    """Return the value of a measure for each question that has one."""
    score = SCORES[name]
    scores = {record.question: score(record) for record in records}
    return {question: value for question, value in scores.items() if value is not None}


def _average_scores(
    records: Sequence[Record],
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    by_measure = {name: list(score_questions(name, records).values()) for name in SCORES}
    present = {name: scores for name, scores in by_measure.items() if scores}
    means = {name: round(fmean(scores), 6) for name, scores in present.items()}
    return means, {
        name: bca_interval(scores, bounds=get_bounds(name)) for name, scores in present.items()
    }


def _score_group(
    records: Sequence[Record],
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    measures: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    answers = [GradedAnswer.of(record) for record in records]
    for name, measure in GROUP_SCORES.items():
        value = measure(answers)
        if value is None:
            continue
        measures[name] = round(value, 6)
        interval = resample_interval(len(records), partial(_score_sample, answers, measure))
        if interval is not None:
            intervals[name] = interval
    return measures, intervals


def _score_sample(
    answers: Sequence[GradedAnswer], measure: GroupScore, places: npt.NDArray[np.int64]
) -> float | None:
    return measure([answers[place] for place in places])


def _average_usage(records: Sequence[Record]) -> dict[str, float]:
    names = [field.name for field in fields(Usage) if field.name != "seconds"]
    spent = {name: [record.usage.get(name) for record in records] for name in names}
    # A mean over some of the questions, such as those with known cost, could be too low.
    mean = {
        name: round(fmean(amounts), 6)
        for name, entries in spent.items()
        if len(amounts := [value for value in entries if value is not None]) == len(records)
    }
    return mean | {"tokens": mean["prompt_tokens"] + mean["completion_tokens"]}


def compute_percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median `p50` and the 95th percentile `p95`."""
    # `quantiles` needs at least two values.
    if len(seconds) == 1:
        return {"p50": seconds[0], "p95": seconds[0]}
    # The inclusive method never gives a time above the longest one.
    cuts = quantiles(seconds, n=20, method="inclusive")
    return {"p50": round(cuts[9], 6), "p95": round(cuts[18], 6)}


def choose_cost_unit(groups: Sequence[Group]) -> str:
    """Choose the unit of cost: `US dollars` if they are known and spent, `tokens`, or `seconds`."""
    records = [record for group in groups for record in group]
    money = [record.usage.get("cost_usd") for record in records]
    # Otherwise a system of unknown cost would look as if it cost nothing.
    if any(money) and None not in money:
        return "US dollars"
    return "tokens" if any(record.tokens for record in records) else "seconds"


def get_cost(record: Record, unit: str) -> float:
    """Return the cost of a question in a unit of `choose_cost_unit`."""
    if unit == "seconds":
        return record.seconds
    return record.tokens if unit == "tokens" else record.usage.get("cost_usd") or 0.0
