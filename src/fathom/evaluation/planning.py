"""The measuring of planners on recorded outcomes, by the answers that they would have given.

Nothing is learned from the questions that it is measured on: each fold of questions is answered by
systems that learned from the other folds. Planners are compared with the best fixed sequence, with
a router that knows only the data set, and with hindsight, which no planner can exceed. The regret
of a planner is its loss of reward against hindsight.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from statistics import fmean
from typing import Any, Self

import numpy as np

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import (
    EvaluationReport,
    ReportSection,
    ReportTable,
    Sentences,
)
from fathom.evaluation.report.render import render_text
from fathom.evaluation.runner import OnProgress
from fathom.evaluation.statistics import (
    FOLDS,
    SIGNIFICANT,
    compute_rounded_interval,
    holm,
    randomisation_p,
)
from fathom.jsonable import hash_text
from fathom.planner.environment import (
    Environment,
    Episodes,
    Places,
    RecordedOutcome,
    RecordedQuestion,
    Reward,
    find_common_process,
)
from fathom.planner.ppo import Training
from fathom.planner.train import ALPHAS, train_policy

ORACLE = "hindsight"
BEST = "best fixed sequence"
ROUTER = "router by data set"
RULES = "rules"

Sequences = Sequence[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class SystemRun:
    """The outcomes of one system for questions; all tuples have the order of the questions.

    Attributes:
        name: The name of the system in tables.
        questions: The questions.
        outcomes: The outcomes that the system chose.
        sequences: The plans: the actions of `adaptive` with the end, or the workflow of `mao` for
            the question itself.
        earned: The rewards.
    """

    name: str
    questions: tuple[RecordedQuestion, ...]
    outcomes: tuple[RecordedOutcome, ...]
    sequences: tuple[tuple[str, ...], ...]
    earned: tuple[float, ...]

    @classmethod
    def of(cls, name: str, walks: Episodes) -> Self:
        """Return the run of a system in an environment."""
        return cls(
            name=name,
            questions=walks.environment.questions,
            outcomes=walks.outcomes,
            sequences=tuple(map(walks.environment.process.summarize, walks.sequences)),
            earned=tuple(map(float, walks.earned)),
        )

    def join(self, others: Sequence["SystemRun"]) -> "SystemRun":
        """Join this run with runs of the same system on other questions."""
        runs = (self, *others)
        return SystemRun(
            name=self.name,
            questions=tuple(item for run in runs for item in run.questions),
            outcomes=tuple(item for run in runs for item in run.outcomes),
            sequences=tuple(item for run in runs for item in run.sequences),
            earned=tuple(item for run in runs for item in run.earned),
        )

    def values(self, measure: str) -> list[float]:
        """Return the values of a measure from `MEASURES`, one for each question."""
        if measure == "cost":
            process = find_common_process(self.questions)
            return [outcome.compute_cost(process) for outcome in self.outcomes]
        return [float(_VALUE_OF[measure](outcome)) for outcome in self.outcomes]

    @property
    def entropy(self) -> float:
        """The mean entropy of the plans within a data set, in bits.

        It is 0 if all questions of each data set have the same plan.
        """
        groups: dict[str, list[tuple[str, ...]]] = {}
        for question, sequence in zip(self.questions, self.sequences, strict=True):
            groups.setdefault(question.dataset, []).append(sequence)
        total = len(self.sequences)
        # Within data sets, so that a router by data set does not count as adaptive.
        return sum(len(group) / total * _compute_entropy(group) for group in groups.values())


_VALUE_OF: dict[str, Callable[[RecordedOutcome], float]] = {
    "F1": lambda outcome: outcome.f1,
    "CRAG-truthfulness": lambda outcome: (
        float(outcome.answered and not outcome.wrong) - outcome.wrong
    ),
    "abstained": lambda outcome: not outcome.answered,
    "retrievals": lambda outcome: outcome.retrievals,
    "seconds": lambda outcome: outcome.seconds,
}
MEASURES = (*_VALUE_OF, "cost")


def _compute_entropy(sequences: Sequences) -> float:
    """Return the entropy of the sequences in bits."""
    counts = Counter(sequences).values()
    return -sum(count / len(sequences) * log2(count / len(sequences)) for count in counts)


@dataclass(frozen=True, kw_only=True)
class FixedSequences:
    """The best fixed sequences of choices, for all questions and for each data set."""

    overall: tuple[str, ...]
    routes: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, questions: Sequence[RecordedQuestion], reward: Reward) -> Self:
        """Choose the best sequences for questions; of equally good ones the first, a shortest."""
        world = Environment.from_questions(questions, reward)
        tries = world.process.list_fixed(world.most)
        earned = np.array(
            [world.follow(world.choose_sequence(sequence)).earned for sequence in tries]
        )
        sets = np.array([question.dataset for question in questions])
        return cls(
            # Without rounding, the last digits of a mean would decide between equal sequences.
            overall=tries[int(np.argmax(np.round(earned.mean(axis=1), 9)))],
            routes={
                name: tries[int(np.argmax(np.round(earned[:, sets == name].mean(axis=1), 9)))]
                for name in dict.fromkeys(map(str, sets))
            },
        )

    def route(self, world: Environment) -> Places:
        """Return the router's choices; an unknown data set gets the overall best sequence."""
        sequences = {name: self.routes.get(name, self.overall) for name in world.datasets}
        choices = {name: world.choose_sequence(sequence) for name, sequence in sequences.items()}
        rows = [choices[world.questions[at].dataset] for at, _ in world.states]
        return np.array([row[state] for state, row in enumerate(rows)], dtype=np.int64)


def run_systems(
    training_questions: Sequence[RecordedQuestion],
    test_questions: Sequence[RecordedQuestion],
    reward: Reward,
    training: Training,
    *,
    alphas: Sequence[float] = ALPHAS,
) -> Iterator[SystemRun]:
    """Yield the run of each system on the test questions; it learns from the training questions.

    PPO is trained with each alpha as the weight of cost.
    """
    world = Environment.from_questions(test_questions, reward)
    fixed = FixedSequences.of(training_questions, reward)
    yield SystemRun.of(world.process.plain, world.follow(world.choose_sequence(())))
    best = world.choose_sequence(fixed.overall)
    yield SystemRun.of(BEST, world.follow(best))
    yield SystemRun.of(ROUTER, world.follow(fixed.route(world)))
    yield SystemRun.of(RULES, world.follow(world.choose_by(world.process.choose_by_rules)))
    for alpha in alphas:
        trained = train_policy(training_questions, replace(reward, alpha=alpha), training)
        yield SystemRun.of(name_ppo(alpha), world.follow(trained.learner.choose_actions(world)))
    yield SystemRun.of(ORACLE, world.follow(world.choose_in_hindsight()))


def name_ppo(alpha: float) -> str:
    """Return the name in tables of PPO with an alpha."""
    return f"PPO, alpha {alpha:g}"


def cross_fit(
    questions: Sequence[RecordedQuestion],
    reward: Reward,
    training: Training,
    *,
    alphas: Sequence[float] = ALPHAS,
    on_progress: OnProgress = lambda _what, _done, _all: None,
) -> "PlannerTable":
    """Run each system on all questions; for each fold, it learns from the other folds.

    Raises:
        UsageError: If there are fewer than two questions in a fold.
    """
    check_folds(questions)
    folds = deal_folds(questions)
    runs: dict[str, list[SystemRun]] = {}
    for number, fold_asked in enumerate(folds, start=1):
        others = [item for fold in folds if fold is not fold_asked for item in fold]
        for run in run_systems(others, fold_asked, reward, training, alphas=alphas):
            runs.setdefault(run.name, []).append(run)
        on_progress("folds measured", number, len(folds))
    return PlannerTable(
        reward=reward, systems=tuple(first.join(rest) for first, *rest in runs.values())
    )


def check_folds(questions: Sequence[RecordedQuestion]) -> None:
    """Check that there are enough questions to measure a planner on.

    Raises:
        UsageError: If there are fewer than two questions in a fold.
    """
    if min(map(len, deal_folds(questions))) < 2:
        raise UsageError(
            f"{len(questions)} recorded questions are too few to measure a planner on, or share "
            f"too many documents: record {2 * FOLDS} about different ones, or add --no-measure"
        )


def deal_folds(questions: Sequence[RecordedQuestion]) -> list[list[RecordedQuestion]]:
    """Divide the questions into folds, each with about the same share of each data set.

    Questions that share documents are in the same fold. The order depends on hashes of their names.
    """
    groups: dict[tuple[str, str], list[RecordedQuestion]] = {}
    for question in questions:
        name = hash_text(question.group or question.question)
        groups.setdefault((question.dataset, name), []).append(question)
    folds: list[list[RecordedQuestion]] = [[] for _ in range(FOLDS)]
    # In this order, each fold gets about the same share of each data set.
    for _, group in sorted(groups.items()):
        min(folds, key=len).extend(group)
    return folds


@dataclass(frozen=True, kw_only=True)
class PlannerTable:
    """The runs of several systems on the same questions.

    Attributes:
        reward: The reward that they earn.
        systems: The run of each system.
    """

    reward: Reward
    systems: tuple[SystemRun, ...]

    def find_system(self, name: str) -> SystemRun:
        """Return the system of this name."""
        return next(system for system in self.systems if system.name == name)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each system: means, and intervals of F1, reward and regret."""
        oracle = self.find_system(ORACLE).earned
        table: list[dict[str, Any]] = []
        for system in self.systems:
            regret = [best - reward for best, reward in zip(oracle, system.earned, strict=True)]
            means = {measure: round(fmean(system.values(measure)), 4) for measure in MEASURES}
            table.append(
                {
                    "system": system.name,
                    "queries": len(system.earned),
                    "measures": {
                        **means,
                        "reward": round(fmean(system.earned), 4),
                        "regret": round(fmean(regret), 4),
                        "entropy": round(system.entropy, 3),
                    },
                    "intervals": {
                        "F1": compute_rounded_interval(system.values("F1")),
                        "reward": compute_rounded_interval(system.earned),
                        "regret": compute_rounded_interval(regret),
                    },
                }
            )
        return table

    def compare_rewards(self, name: str, others: Sequence[str]) -> list[dict[str, Any]]:
        """Compare a system's reward with those of other systems.

        Returns:
            The difference to each other system, with its interval and its corrected p (Holm).
        """
        rewards = self.find_system(name).earned
        pairs = [
            [
                mine - theirs
                for mine, theirs in zip(rewards, self.find_system(other).earned, strict=True)
            ]
            for other in others
        ]
        corrected = holm([randomisation_p(differences) for differences in pairs])
        return [
            {
                "system": name,
                "against": other,
                "reward": round(fmean(differences), 4),
                "interval": compute_rounded_interval(differences),
                "p": round(p, 4),
            }
            for other, differences, p in zip(others, pairs, corrected, strict=True)
        ]

    def compare_with_baselines(self) -> list[dict[str, Any]]:
        """Compare PPO, with the alpha of the reward, with the systems that do not learn a policy.

        Returns:
            Rows as from `compare_rewards`.
        """
        return self.compare_rewards(name_ppo(self.reward.alpha), (BEST, ROUTER, RULES))

    def to_text(self) -> str:
        """Return text for a terminal: the table of systems, then sentences on PPO."""
        head = ("F1", "CRAG-truthfulness", "cost", "retrievals", "reward", "regret", "entropy")
        rows = [
            (str(row["system"]), *(_format_cell(row, measure) for measure in head))
            for row in self.rows()
        ]
        table = ReportTable(title="", head=("system", *head), rows=tuple(rows))
        sentences = Sentences(lines=tuple(self.verdict()))
        section = ReportSection(blocks=(table, sentences))
        return render_text(EvaluationReport(title="", sections=(section,)))

    def verdict(self) -> Iterator[str]:
        """Yield sentences on the comparisons of `compare_with_baselines`."""
        for test in self.compare_with_baselines():
            word = "earns more than" if test["reward"] > 0 else "earns less than"
            if test["p"] >= SIGNIFICANT:
                word = "does not differ significantly from"
            yield (
                f"{test['system']} {word} {test['against']}: "
                f"{test['reward']:+.3f} {test['interval']}, p = {test['p']:.3f}"
            )


def _format_cell(row: Mapping[str, Any], measure: str) -> str:
    value = f"{row['measures'][measure]:.3f}"
    interval = row["intervals"].get(measure)
    return f"{value} [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else value
