"""How good planners are on recorded outcomes: what each would have answered, and at what cost.

Whoever learns or chooses does it on other questions than those it is measured on: the questions
are dealt into folds, and each fold is asked by what the others taught. Beside planners stand the
best fixed sequence, a router that knows the data set alone, and hindsight, which no planner can
exceed; the reward that a planner falls short of it is its regret.
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
from fathom.evaluation.report.render import as_text
from fathom.evaluation.runner import OnProgress
from fathom.evaluation.statistics import bca_interval, holm, randomisation_p
from fathom.jsonable import digest
from fathom.planner.actions import Action, executions
from fathom.planner.environment import Environment, Outcome, Places, RecordedQuestion, Reward, Walks
from fathom.planner.policy import RulePolicy
from fathom.planner.ppo import Training
from fathom.planner.train import ALPHAS, train

FOLDS = 5
ORACLE = "hindsight"
BEST = "best fixed sequence"
ROUTER = "router by data set"
RULES = "rules"
SIGNIFICANT = 0.05
LOOK = "first look alone"

Sequences = Sequence[tuple[Action, ...]]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What one system made of the questions, in their order.

    Attributes:
        name: How tables call it.
        questions: What was asked.
        outcomes: What was shown of each.
        sequences: The actions of each, its end included.
        earned: The reward of each.
    """

    name: str
    questions: tuple[RecordedQuestion, ...]
    outcomes: tuple[Outcome, ...]
    sequences: tuple[tuple[Action, ...], ...]
    earned: tuple[float, ...]

    @classmethod
    def of(cls, name: str, walks: Walks) -> Self:
        """What a system did in an environment."""
        return cls(
            name=name,
            questions=walks.environment.questions,
            outcomes=walks.outcomes,
            sequences=walks.sequences,
            earned=tuple(map(float, walks.earned)),
        )

    def joined(self, others: Sequence["Planned"]) -> "Planned":
        """This and what the same system made of other questions."""
        parts = (self, *others)
        return Planned(
            name=self.name,
            questions=tuple(each for part in parts for each in part.questions),
            outcomes=tuple(each for part in parts for each in part.outcomes),
            sequences=tuple(each for part in parts for each in part.sequences),
            earned=tuple(each for part in parts for each in part.earned),
        )

    def values(self, measure: str) -> list[float]:
        """A measure, question by question: one of `MEASURES`."""
        return [float(_OF[measure](each)) for each in self.outcomes]

    @property
    def entropy(self) -> float:
        """Of the actions inside data sets, in bits: 0 where all questions of each go one way."""
        groups: dict[str, list[tuple[Action, ...]]] = {}
        for question, sequence in zip(self.questions, self.sequences, strict=True):
            groups.setdefault(question.dataset, []).append(sequence)
        total = len(self.sequences)
        return sum(len(own) / total * _bits(own) for own in groups.values())


_OF: dict[str, Callable[[Outcome], float]] = {
    "F1": lambda each: each.f1,
    "CRAG-truthfulness": lambda each: float(each.answered and not each.wrong) - each.wrong,
    "abstained": lambda each: not each.answered,
    "cost": lambda each: each.cost,
    "retrievals": lambda each: each.retrievals,
    "seconds": lambda each: each.seconds,
}
MEASURES = tuple(_OF)


def _bits(sequences: Sequences) -> float:
    counts = Counter(sequences).values()
    return -sum(each / len(sequences) * log2(each / len(sequences)) for each in counts)


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """The best fixed sequence of executors: of all questions, and of those of each data set."""

    overall: tuple[Action, ...]
    routes: dict[str, tuple[Action, ...]]

    @classmethod
    def of(cls, questions: Sequence[RecordedQuestion], reward: Reward) -> Self:
        """Chosen on these; of equal ones the first, which is the shortest."""
        world = Environment.of(questions, reward)
        tries = list(executions(has_model=False, most=world.most))
        earned = np.array([world.follow(world.always(each)).earned for each in tries])
        sets = np.array([question.dataset for question in questions])
        return cls(
            overall=tries[int(np.argmax(np.round(earned.mean(axis=1), 9)))],
            routes={
                name: tries[int(np.argmax(np.round(earned[:, sets == name].mean(axis=1), 9)))]
                for name in dict.fromkeys(map(str, sets))
            },
        )

    def route(self, world: Environment) -> Places:
        """The choices of the router; a data set that it does not know goes the best way of all."""
        sequences = {name: self.routes.get(name, self.overall) for name in world.datasets}
        choices = {name: world.always(sequence) for name, sequence in sequences.items()}
        rows = [choices[world.questions[at].dataset] for at, _ in world.states]
        return np.array([row[state] for state, row in enumerate(rows)], dtype=np.int64)


def planned(
    known: Sequence[RecordedQuestion],
    asked: Sequence[RecordedQuestion],
    reward: Reward,
    training: Training,
    *,
    alphas: Sequence[float] = ALPHAS,
) -> Iterator[Planned]:
    """What every system makes of `asked`, having learned on `known` alone.

    Args:
        known: To learn and to choose on.
        asked: To be measured on; none of `known`.
        reward: What both earn; that of PPO has each alpha in turn.
        training: How PPO trains.
        alphas: What cost weighs for each PPO.
    """
    world = Environment.of(asked, reward)
    fixed = Fixed.of(known, reward)
    yield Planned.of(LOOK, world.follow(world.always(())))
    best = world.always(fixed.overall)
    yield Planned.of(BEST, world.follow(best))
    yield Planned.of(ROUTER, world.follow(fixed.route(world)))
    yield Planned.of(RULES, world.follow(world.choices(RulePolicy())))
    for alpha in alphas:
        done = train(known, replace(reward, alpha=alpha), training)
        yield Planned.of(ppo_name(alpha), world.follow(done.learner.choices(world)))
    yield Planned.of(ORACLE, world.follow(world.hindsight()))


def ppo_name(alpha: float) -> str:
    """How the table calls PPO with this alpha."""
    return f"PPO, alpha {alpha:g}"


def cross_fitted(
    questions: Sequence[RecordedQuestion],
    reward: Reward,
    training: Training,
    *,
    alphas: Sequence[float] = ALPHAS,
    on_progress: OnProgress = lambda _what, _done, _all: None,
) -> "PlannerTable":
    """What every system makes of all questions, each asked by what the other folds taught.

    Raises:
        UsageError: If there are fewer than two questions a fold.
    """
    folds = _dealt(questions)
    if min(map(len, folds)) < 2:
        raise UsageError(f"{len(questions)} recorded questions are too few to measure a planner on")
    parts: dict[str, list[Planned]] = {}
    for number, asked in enumerate(folds, start=1):
        known = [each for fold in folds if fold is not asked for each in fold]
        for each in planned(known, asked, reward, training, alphas=alphas):
            parts.setdefault(each.name, []).append(each)
        on_progress("folds measured", number, len(folds))
    return PlannerTable(
        reward=reward, systems=tuple(first.joined(rest) for first, *rest in parts.values())
    )


def _dealt(questions: Sequence[RecordedQuestion]) -> list[list[RecordedQuestion]]:
    """Folds with the same share of each data set, by the hash of ids."""
    order = sorted(questions, key=lambda each: (each.dataset, digest(each.question)))
    return [order[at::FOLDS] for at in range(FOLDS)]


@dataclass(frozen=True, kw_only=True)
class PlannerTable:
    """Systems on the same questions.

    Attributes:
        reward: What they earn.
        systems: What each made of the questions.
    """

    reward: Reward
    systems: tuple[Planned, ...]

    def named(self, name: str) -> Planned:
        """The system of this name."""
        return next(each for each in self.systems if each.name == name)

    def rows(self) -> list[dict[str, Any]]:
        """A row a system: means, the interval of F1, of the reward and of the regret."""
        oracle = self.named(ORACLE).earned
        found: list[dict[str, Any]] = []
        for each in self.systems:
            regret = [best - own for best, own in zip(oracle, each.earned, strict=True)]
            means = {measure: round(fmean(each.values(measure)), 4) for measure in MEASURES}
            found.append(
                {
                    "system": each.name,
                    "queries": len(each.earned),
                    "measures": {
                        **means,
                        "reward": round(fmean(each.earned), 4),
                        "regret": round(fmean(regret), 4),
                        "entropy": round(each.entropy, 3),
                    },
                    "intervals": {
                        "F1": _interval(each.values("F1")),
                        "reward": _interval(each.earned),
                        "regret": _interval(regret),
                    },
                }
            )
        return found

    def compared(self, name: str, others: Sequence[str]) -> list[dict[str, Any]]:
        """A system's reward against that of others: difference, interval, p corrected (Holm)."""
        own = self.named(name).earned
        pairs = [
            [mine - theirs for mine, theirs in zip(own, self.named(other).earned, strict=True)]
            for other in others
        ]
        corrected = holm([randomisation_p(each) for each in pairs])
        return [
            {
                "system": name,
                "against": other,
                "reward": round(fmean(each), 4),
                "interval": _interval(each),
                "p": round(p, 4),
            }
            for other, each, p in zip(others, pairs, corrected, strict=True)
        ]

    def tests(self) -> list[dict[str, Any]]:
        """PPO with the alpha of the reward against what learns nothing of the question."""
        return self.compared(ppo_name(self.reward.alpha), (BEST, ROUTER, RULES))

    def to_text(self) -> str:
        """For a terminal: a row a system, then what the chosen policy is against the others."""
        head = ("F1", "CRAG-truthfulness", "cost", "retrievals", "reward", "regret", "entropy")
        rows = [
            (str(row["system"]), *(_cell(row, measure) for measure in head)) for row in self.rows()
        ]
        table = ReportTable(title="", head=("system", *head), rows=tuple(rows))
        said = Sentences(lines=tuple(self.verdict()))
        section = ReportSection(blocks=(table, said))
        return as_text(EvaluationReport(title="", sections=(section,)))

    def verdict(self) -> Iterator[str]:
        """In words, what PPO with the alpha of the reward is against what learns nothing."""
        for test in self.tests():
            sure = test["p"] < SIGNIFICANT
            found = "earns more than" if test["reward"] > 0 else "earns less than"
            yield (
                f"{test['system']} {found if sure else 'cannot be told from'} {test['against']}: "
                f"{test['reward']:+.3f} {test['interval']}, p = {test['p']:.3f}"
            )


def _cell(row: Mapping[str, Any], measure: str) -> str:
    value = f"{row['measures'][measure]:.3f}"
    interval = row["intervals"].get(measure)
    return f"{value} [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else value


def _interval(values: Sequence[float]) -> list[float]:
    low, high = bca_interval(values)
    return [round(low, 4), round(high, 4)]
