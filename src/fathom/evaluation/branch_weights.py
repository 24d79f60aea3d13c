"""Weights of `hybrid`'s two branches, learned from judged questions and measured on held-out ones.

For each level of complexity, the pair of weights with the best mean of a measure over the questions
of the level is learned. For a level with few questions, the mean over all questions counts more.
The measure of held-out questions comes from folds: each fold is ranked with the weights that were
learned on the other folds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from fathom.agents.complexity import LEVELS, ComplexityLevel, RetrieverWeights
from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, DatasetQuestion
from fathom.evaluation.ir_metrics import MEASURES, Grades
from fathom.evaluation.report.blocks import (
    EvaluationReport,
    ReportSection,
    ReportTable,
    Sentences,
)
from fathom.evaluation.report.render import render_text
from fathom.evaluation.runner import OnProgress, build_filters
from fathom.evaluation.statistics import (
    FOLDS,
    SIGNIFICANT,
    compute_rounded_interval,
    holm,
    randomisation_p,
)
from fathom.index.base import Match
from fathom.jsonable import dump_canonical, hash_text
from fathom.question.question import Question
from fathom.retrieval.fusion import WeightedSum
from fathom.runs.concurrency import run_in_loop
from fathom.settings.hybrid import FIXED_WEIGHTS
from fathom.strategies.branch_lists import BranchLists, collect_lists
from fathom.strategies.hybrid import Hybrid

if TYPE_CHECKING:
    from fathom.engine import Engine

LEARNED = "learned"
BY_COMPLEXITY = "complexity"
GRID: tuple[RetrieverWeights, ...] = tuple(
    (round(step / 20, 2), round(1 - step / 20, 2)) for step in range(21)
)
"""The pairs (keyword, semantic) to choose from."""
PRIOR = 50
"""The weight of the mean over all questions, as a number of questions of a level."""

LevelWeights = Mapping[ComplexityLevel, RetrieverWeights]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLists:
    """The hits of both branches for a judged question, and the grades of its documents."""

    dataset: str
    question: str
    branches: BranchLists
    grades: Grades

    def score(self, weights: RetrieverWeights, measure: str) -> float:
        """Return the measure of the ranking with these weights."""
        lists = self.branches.lists
        documents = {hit.chunk.id: hit.chunk.document_id for hits in lists for hit in hits}
        factors = zip(weights, self.branches.factors, strict=True)
        fused = WeightedSum()(
            [[Match(hit.chunk.id, hit.score) for hit in hits] for hits in lists],
            [weight * factor for weight, factor in factors],
        )
        ranking = list(dict.fromkeys(documents[match.chunk_id] for match in fused))
        return MEASURES[measure](ranking, self.grades)


def gather_lists(
    engine: "Engine",
    dataset: Dataset,
    questions: Sequence[DatasetQuestion],
    *,
    on_progress: OnProgress = lambda _what, _done, _all: None,
) -> list[JudgedLists]:
    """Search for judged questions with both branches of `hybrid`.

    Args:
        engine: The engine, whose index holds the corpus and whose `hybrid.weights` is `complexity`.
        dataset: The data set.
        questions: The judged questions of the data set to search for.
        on_progress: Called after each question with a name, the number done, and the number of all.

    Raises:
        UsageError: If no question is judged.
    """
    if not questions:
        raise UsageError(f"{dataset.name}: no judged question, so no weights can be learned")
    strategy = Hybrid.of(engine.assembly)
    gathered: list[JudgedLists] = []
    for number, question in enumerate(questions, start=1):
        collecting = collect_lists(
            strategy, Question(question.text), engine.executor, build_filters(question)
        )
        gathered.append(
            JudgedLists(
                dataset=dataset.name,
                question=question.id,
                branches=run_in_loop(collecting),
                grades=dataset.qrels[question.id],
            )
        )
        on_progress(f"{dataset.name} lists", number, len(questions))
    return gathered


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedWeights:
    """Learned weights, with measures of these and of fixed weights on held-out questions.

    Attributes:
        weights: The weights of each level, learned on all questions.
        measure: The measure, from `ir_metrics.MEASURES`.
        datasets: The number of questions of each data set.
        levels: The number of questions of each level.
        scores: The measure of each question by system. For the system `learned`, the weights were
            learned without the question's fold.
    """

    weights: LevelWeights
    measure: str
    datasets: Mapping[str, int]
    levels: Mapping[str, int]
    scores: Mapping[str, tuple[float, ...]]

    @classmethod
    def learn(cls, lists: Sequence[JudgedLists], measure: str = "nDCG@10") -> Self:
        """Learn the weights, and measure them and the other weights on held-out folds.

        Raises:
            UsageError: If there are fewer than two questions in a fold, or the measure is unknown.
        """
        check_measure(measure)
        if len(lists) < 2 * FOLDS:
            raise UsageError(
                f"{len(lists)} judged questions are too few to learn weights; give {2 * FOLDS}"
            )
        # In this order, each fold gets about the same share of each data set.
        ordered = sorted(lists, key=lambda item: (item.dataset, hash_text(item.question)))
        levels = [item.branches.level for item in ordered]
        values = np.array([[item.score(pair, measure) for pair in GRID] for item in ordered])
        scores = {
            LEARNED: _score_held_out(levels, values),
            BY_COMPLEXITY: tuple(item.score(item.branches.usual, measure) for item in ordered),
            **{
                name: tuple(item.score(pair, measure) for item in ordered)
                for name, pair in FIXED_WEIGHTS.items()
            },
        }
        return cls(
            weights=learn_pairs(levels, values),
            measure=measure,
            datasets=_count_values([item.dataset for item in ordered]),
            levels=_count_values(list(levels)),
            scores=scores,
        )

    def to_json(self) -> str:
        """Return the content of a file for `hybrid.weights`."""
        weights = {level: list(pair) for level, pair in self.weights.items()}
        origin = {
            "datasets": dict(self.datasets),
            "levels": dict(self.levels),
            "measure": self.measure,
        }
        return f"{dump_canonical({'weights': weights, 'origin': origin})}\n"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each system: its mean, and the gain of the learned weights over it.

        Both have intervals; the p of each gain is corrected for all gains (Holm).
        """
        others = [name for name in self.scores if name != LEARNED]
        differences = {
            name: np.subtract(self.scores[LEARNED], self.scores[name]).tolist() for name in others
        }
        ps = holm([randomisation_p(differences[name]) for name in others])
        tests = {
            name: {
                "gain": round(float(np.mean(differences[name])), 4),
                "interval": compute_rounded_interval(differences[name]),
                "p": round(p, 4),
            }
            for name, p in zip(others, ps, strict=True)
        }
        return [
            {
                "system": name,
                "mean": round(float(np.mean(scores)), 4),
                "mean_interval": compute_rounded_interval(scores),
                **tests.get(name, {}),
            }
            for name, scores in self.scores.items()
        ]

    @property
    def verdict(self) -> str:
        """The comparison of the learned weights with `complexity` and the best fixed pair."""
        rows = {row["system"]: row for row in self.rows()}
        best = max(FIXED_WEIGHTS, key=lambda name: rows[name]["mean"])
        clauses = []
        for name in (BY_COMPLEXITY, best):
            row = rows[name]
            is_significant = row["p"] < SIGNIFICANT
            word = "better than" if row["gain"] > 0 else "worse than"
            clauses.append(
                f"{word if is_significant else 'not significantly different from'} {name} "
                f"({row['gain']:+.3f} {row['interval']}, p = {row['p']:.3f})"
            )
        return f"on held-out questions the learned weights are {' and '.join(clauses)}"

    def to_text(self) -> str:
        """Return the output of `fathom train weights`."""
        head = ("weights", self.measure, f"{LEARNED} minus this", "p")
        table = ReportTable(
            title=f"{len(self.scores[LEARNED])} questions, each held out",
            head=head,
            rows=tuple(_format_row(row) for row in self.rows()),
        )
        pairs = ", ".join(
            f"{level} {pair[0]:g}/{pair[1]:g} ({self.levels.get(level, 0)} questions)"
            for level, pair in self.weights.items()
        )
        lines = (f"learned on all questions (keyword/semantic): {pairs}", self.verdict)
        section = ReportSection(blocks=(table, Sentences(lines=lines)))
        return render_text(EvaluationReport(title="", sections=(section,)))


def check_measure(measure: str) -> None:
    """Check the name of a measure of rankings.

    Raises:
        UsageError: If there is no such measure.
    """
    if measure not in MEASURES:
        raise UsageError(f"measure {measure!r}: choose from {', '.join(MEASURES)}")


def learn_pairs(
    levels: Sequence[ComplexityLevel], values: npt.NDArray[np.float64]
) -> dict[ComplexityLevel, RetrieverWeights]:
    """Return the best pair of `GRID` for each level.

    Args:
        levels: The level of each question.
        values: The measure of each question (rows) with each pair (columns).
    """
    overall = values.mean(axis=0)
    masks = {level: [item == level for item in levels] for level in LEVELS}
    sums = {level: values[masks[level]].sum(axis=0) + PRIOR * overall for level in LEVELS}
    # Without rounding, the last digits of a sum would decide between equal pairs.
    return {level: GRID[int(np.argmax(np.round(sums[level], 9)))] for level in LEVELS}


def _score_held_out(
    levels: Sequence[ComplexityLevel], values: npt.NDArray[np.float64]
) -> tuple[float, ...]:
    """Return the measure of each question with weights that were learned on the other folds."""
    folds = np.arange(len(levels)) % FOLDS
    scores = np.zeros(len(levels))
    for fold in range(FOLDS):
        others = np.flatnonzero(folds != fold).tolist()
        pairs = learn_pairs([levels[place] for place in others], values[others])
        for place in np.flatnonzero(folds == fold).tolist():
            scores[place] = values[place][GRID.index(pairs[levels[place]])]
    return tuple(map(float, scores))


def _count_values(values: Sequence[str]) -> dict[str, int]:
    return {value: values.count(value) for value in sorted({*values})}


def _format_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    mean = f"{row['mean']:.3f} [{row['mean_interval'][0]:.3f}, {row['mean_interval'][1]:.3f}]"
    if "gain" not in row:
        return (row["system"], mean, "", "")
    gain = f"{row['gain']:+.3f} [{row['interval'][0]:+.3f}, {row['interval'][1]:+.3f}]"
    return (row["system"], mean, gain, f"{row['p']:.3f}")
