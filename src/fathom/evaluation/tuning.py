"""Tuning: the choice of the strategy and settings that answer given questions best."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, inf
from typing import Any

import numpy as np
import numpy.typing as npt

from fathom.errors import UsageError
from fathom.evaluation.comparison import PairedTest, contrast, correct_for_all
from fathom.evaluation.findings import Findings
from fathom.evaluation.measures import LOWER_IS_BETTER, SCORES, get_bounds
from fathom.evaluation.records import Group
from fathom.evaluation.report.blocks import EvaluationReport, ReportSection, ReportTable, Sentences
from fathom.evaluation.report.build import build_full_report
from fathom.evaluation.report.render import render_html, render_markdown, render_text
from fathom.evaluation.rows import choose_cost_unit, get_cost, score_questions
from fathom.evaluation.statistics import SIGNIFICANT, bca_interval, count_needed

Interval = tuple[float, float]
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One strategy with one choice of settings.

    Attributes:
        strategy: The name of the strategy.
        varied: The varied settings.
        quality: The mean of the measure over the questions for which all trials have a value.
        cost: The mean cost of a question, in the unit of the tuning.
        seconds: The mean time of a question.
        best: Whether no other trial is both at least as good and at least as cheap.
        on_front: The share of resamples of the questions for which this holds.
    """

    strategy: str
    varied: tuple[tuple[str, str], ...]
    quality: float
    quality_interval: Interval
    cost: float
    cost_interval: Interval
    seconds: float
    best: bool
    on_front: float

    @property
    def name(self) -> str:
        """The strategy with the varied settings."""
        choices = ", ".join(f"{key}={value}" for key, value in self.varied)
        return f"{self.strategy} ({choices})" if choices else self.strategy

    @property
    def assignments(self) -> dict[str, str]:
        """The settings of the trial, including the strategy."""
        return {"ask.strategy": self.strategy, **dict(self.varied)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The trials of strategies and settings on one set of questions.

    Attributes:
        dataset: The name of the data set.
        questions: The number of questions.
        synthetic: The number of questions that were made from documents, not asked by people.
        measure: The measure of quality.
        unit: The unit of the cost: `US dollars`, `tokens` or `seconds`.
        trials: The trials.
        default: The trial of the present settings.
        tests: The tests of the other trials against the default, corrected for all (Holm 1979).
        needed: The number of questions that would show the largest observed gain with probability
            0.8 if it is real; `None` if no trial has a gain.
    """

    dataset: str
    questions: int
    synthetic: int
    measure: str
    unit: str
    trials: tuple[Trial, ...]
    default: Trial
    tests: tuple[PairedTest, ...]
    needed: int | None

    @property
    def recommendation(self) -> Trial | None:
        """The best trial that is significantly better than the default; `None` if there is none."""
        better = {
            test.first
            for test in self.tests
            if test.p_holm < SIGNIFICANT and _compute_gain(test) > 0
        }
        chosen = [trial for trial in self.trials if trial.name in better]
        return max(
            chosen,
            # The cheaper one of equally good trials.
            key=lambda trial: (_orient_value(self.measure, trial.quality), -trial.cost),
            default=None,
        )

    @property
    def sentences(self) -> list[str]:
        """The tests, a warning about synthetic questions, and the verdict, in sentences."""
        lines = [test.sentence for test in self.tests]
        if self.synthetic:
            lines.append(
                f"{self.synthetic} of the {self.questions} questions are synthetic: the best "
                "settings for them may not be the best for the questions of people"
            )
        return [*lines, self.verdict]

    @property
    def verdict(self) -> str:
        """The recommendation, or the reason why there is none."""
        chosen = self.recommendation
        if chosen is not None:
            settings = " ".join(f"{key}={value}" for key, value in chosen.assignments.items())
            return f"recommended instead of {self.default.name}: {settings}"
        refusal = f"no recommendation: nothing is significantly better than {self.default.name}"
        if self.needed is None:
            return f"{refusal}, and nothing has a higher mean on these {self.questions} questions"
        return (
            f"{refusal}; if the largest difference is real, about {self.needed} questions would "
            f"show it (these were {self.questions})"
        )

    def build_report(self) -> EvaluationReport:
        """Build a report with the trials as a table, and the tests and the verdict as sentences."""
        head = (
            "system",
            self.measure,
            f"{self.unit} a question",
            "seconds",
            "on the front",
            "share",
        )
        rows = tuple(
            (
                f"{trial.name} *" if trial == self.default else trial.name,
                _format_value(trial.quality, trial.quality_interval),
                _format_value(trial.cost, trial.cost_interval),
                f"{trial.seconds:.2f}",
                "yes" if trial.best else "",
                f"{trial.on_front:.2f}",
            )
            for trial in self.trials
        )
        table = ReportTable(
            title=f"{self.dataset}: {self.questions} questions (* now)", head=head, rows=rows
        )
        blocks = (table, Sentences(lines=tuple(self.sentences)))
        title = f"Fathom: strategies and settings for {self.dataset}"
        return EvaluationReport(title=title, sections=(ReportSection(blocks=blocks),))

    def to_text(self) -> str:
        """Return the output of `fathom tune`."""
        return render_text(self.build_report())

    def to_markdown(self) -> str:
        """Return the report of `to_text` as Markdown, which a notebook shows."""
        return render_markdown(self.build_report())

    __str__ = to_text
    _repr_markdown_ = to_markdown

    def to_html(self, findings: Findings) -> str:
        """Return this report and the full report of the runs with plots as one page.

        Raises:
            UsageError: If the `eval` extra is not installed.
        """
        summary, full_report = self.build_report(), build_full_report(findings)
        return render_html(
            replace(
                full_report,
                title=summary.title,
                sections=(*summary.sections, *full_report.sections),
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `fathom tune --json`."""
        chosen = self.recommendation
        return {
            "dataset": self.dataset,
            "questions": self.questions,
            "synthetic": self.synthetic,
            "measure": self.measure,
            "cost": self.unit,
            "systems": [
                {"name": trial.name, "default": trial == self.default, **asdict(trial)}
                for trial in self.trials
            ],
            "tests": [test.to_dict() for test in self.tests],
            "recommended": None if chosen is None else chosen.assignments,
            "questions_needed": self.needed,
            "sentence": self.verdict,
        }


def check_measure(measure: str) -> None:
    """Check the name of the measure of quality.

    Raises:
        UsageError: If there is no such measure of answers.
    """
    if measure not in SCORES:
        raise UsageError(f"measure {measure!r}: choose from {', '.join(SCORES)}")


def compare_trials(groups: Sequence[Group], default: str, *, measure: str = "F1") -> Tuning:
    """Compare all trials with the default.

    Args:
        groups: The records of each trial, all for the same questions.
        default: The name (`Record.system`) of the trial with the present settings.
        measure: The measure of quality.

    Raises:
        UsageError: If there is no such measure, or no question has a value for all trials.
    """
    check_measure(measure)
    scores = {group[0].system: score_questions(measure, group) for group in groups}
    # Only means over the same questions can be compared.
    shared = set.intersection(*({*by_question} for by_question in scores.values()))
    # Intervals depend on the order of the questions, so it is that of `fathom eval`.
    questions = [record.question for record in groups[0] if record.question in shared]
    if not questions:
        raise UsageError(f"no question has {measure} of every system; name another --measure")
    unit = choose_cost_unit(groups)
    costs = {group[0].system: _list_costs(group, unit, questions) for group in groups}
    qualities = {
        name: [_orient_value(measure, by_question[question]) for question in questions]
        for name, by_question in scores.items()
    }
    front = _compute_front(list(qualities.values()), list(costs.values()))
    trials = tuple(
        _summarize_trial(
            group, measure, [scores[group[0].system][q] for q in questions], costs[group[0].system]
        )
        for group in groups
    )
    trials = tuple(
        replace(trial, best=bool(share[0]), on_front=round(float(share[1]), 3))
        for trial, share in zip(trials, front, strict=True)
    )
    current = next(trial for trial in trials if trial.name == default)
    tests = [
        contrast(
            groups[0][0].dataset,
            measure,
            (name, default),
            [(scores[name][question], scores[default][question]) for question in questions],
        )
        for name in scores
        if name != default
    ]
    return Tuning(
        dataset=groups[0][0].dataset,
        questions=len(questions),
        synthetic=sum(record.synthetic for record in groups[0] if record.question in shared),
        measure=measure,
        unit=unit,
        trials=trials,
        default=current,
        tests=tuple(correct_for_all(tests)),
        needed=_count_needed_questions(qualities, default),
    )


def _summarize_trial(
    group: Group, measure: str, quality: Sequence[float], costs: Sequence[float]
) -> Trial:
    first = group[0]
    return Trial(
        strategy=first.strategy,
        varied=tuple(sorted(first.varied.items())),
        quality=round(float(np.mean(quality)), 6),
        quality_interval=bca_interval(quality, bounds=get_bounds(measure)),
        cost=round(float(np.mean(costs)), 6),
        cost_interval=bca_interval(costs),
        seconds=round(float(np.mean([record.seconds for record in group])), 6),
        best=False,
        on_front=0.0,
    )


def _orient_value(measure: str, value: float) -> float:
    """Return a value with the sign for which more is better."""
    return -value if measure in LOWER_IS_BETTER else value


def _compute_gain(test: PairedTest) -> float:
    return _orient_value(test.measure, test.difference)


def _list_costs(group: Group, unit: str, questions: Sequence[str]) -> list[float]:
    by_question = {record.question: record for record in group}
    return [get_cost(by_question[question], unit) for question in questions]


def _compute_front(
    qualities: Sequence[Sequence[float]], costs: Sequence[Sequence[float]]
) -> npt.NDArray[np.float64]:
    """Compute the front of quality and cost.

    Returns:
        A row for each system: 1 if it is on the front, else 0, and the share of resamples in which
        it is.
    """
    quality, cost = np.asarray(qualities), np.asarray(costs)
    # The seed is fixed, so that equal records give equal shares.
    generator = np.random.default_rng(0)
    shares = np.zeros(len(quality))
    for _ in range(_RESAMPLES):
        places = generator.integers(0, quality.shape[1], size=quality.shape[1])
        shares += _mark_unbeaten(quality[:, places].mean(axis=1), cost[:, places].mean(axis=1))
    best = _mark_unbeaten(quality.mean(axis=1), cost.mean(axis=1))
    return np.stack([best, shares / _RESAMPLES], axis=1)


def _mark_unbeaten(
    quality: npt.NDArray[np.float64], cost: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    as_good = quality[None, :] >= quality[:, None]
    as_cheap = cost[None, :] <= cost[:, None]
    # One value must be strictly better, or two equal systems would beat each other.
    better = (quality[None, :] > quality[:, None]) | (cost[None, :] < cost[:, None])
    beaten = np.asarray(np.any(as_good & as_cheap & better, axis=1), dtype=np.float64)
    return np.subtract(1.0, beaten)


def _count_needed_questions(qualities: dict[str, list[float]], default: str) -> int | None:
    """Return the number of questions that would show the largest gain; `None` without a gain."""
    others = [name for name in qualities if name != default]
    differences = [
        [ours - theirs for ours, theirs in zip(qualities[name], qualities[default], strict=True)]
        for name in others
    ]
    best = max(differences, key=lambda sample: float(np.mean(sample)), default=[])
    # All differences are tested together, so the level is stricter (Bonferroni).
    count = count_needed(best, level=1 - SIGNIFICANT / max(1, len(others)))
    return ceil(count) if count < inf else None


def _format_value(value: float, interval: Interval) -> str:
    return f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"
