"""The choices that a planner can make in a strategy, for learning from recorded outcomes.

Choices are names: an executor or an end in `adaptive`, a workflow in `mao` ("R,DS,AG"). The
environment, PPO and the tables know a strategy only by its `ChoiceProcess`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from fathom.errors import UsageError
from fathom.planner.actions import (
    ACTIONS,
    Action,
    iterate_sequences,
    list_legal_actions,
    parse_action,
)
from fathom.planner.observation import COLUMNS, restore_observation
from fathom.planner.policy import Policy, RulePolicy
from fathom.planner.question_features import QuestionFeatures
from fathom.planner.workflows import (
    DEFAULT,
    FIRST_TURN,
    SPLITS,
    SUB_TURN,
    WorkflowPolicy,
    WorkflowRules,
    list_legal_workflows,
    parse_workflow,
    spell_workflow,
)

LOOK = "first look alone"
"""The name in tables of an immediate `stop` of `adaptive`."""
Chooser = Callable[[Mapping[str, float], Sequence[str]], str]
"""A function that takes the columns of a state and its legal choices, and returns one of these."""


@dataclass(frozen=True, slots=True)
class ChoiceProcess(ABC):
    """The choices in a strategy.

    Attributes:
        strategy: The name of the strategy.
        columns: The names of the numbers that a planner sees.
        actions: The choices that can be learned, in the order of a network's outputs.
        fallback: The choice that replaces an illegal one; it is always legal.
        turns: The number of turns that each choice takes, without those that it waits.
        plain: The name in tables of the plan that is the fallback alone.
    """

    strategy: str
    columns: tuple[str, ...]
    actions: tuple[str, ...]
    fallback: str
    turns: int
    plain: str

    @abstractmethod
    def list_legal(self, tried: Sequence[str], *, most: int) -> tuple[str, ...]:
        """Return the choices that may come next, in the order of `actions`.

        Args:
            tried: The choices so far, after which something is left to choose.
            most: The largest number of choices before the last one.
        """

    @abstractmethod
    def pick_depth(self, depths: Collection[int]) -> int:
        """Return the largest number of choices before the last one in a table of questions.

        Args:
            depths: The length, for each question, of its longest recorded sequence after which
                something is left to choose.
        """

    @abstractmethod
    def list_fixed(self, most: int) -> list[tuple[str, ...]]:
        """Return the plans that ignore the question, as sequences of choices.

        After the end of a sequence the fallback is chosen.

        Args:
            most: The largest number of choices before the last one.
        """

    @abstractmethod
    def summarize(self, sequence: tuple[str, ...]) -> tuple[str, ...]:
        """Return the part of a sequence that the planner decides, for counts of equal plans."""

    @abstractmethod
    def count_searches(self, tried: Sequence[str], retrievals: int, *, is_open: bool) -> int:
        """Return the number of searches that these choices have to pay for.

        Args:
            tried: The choices so far, each legal.
            retrievals: The number of searches that were made, first looks included.
            is_open: Whether something is left to choose.
        """

    @abstractmethod
    def choose_by_rules(self, values: Mapping[str, float], legal: Sequence[str]) -> str:
        """Return the choice of the strategy's written rules.

        Args:
            values: The value of each column, by name.
            legal: The legal choices.
        """


def make_action_chooser(policy: Policy) -> Chooser:
    """Return a function that chooses as a policy of `adaptive` does."""

    def choose(values: Mapping[str, float], legal: Sequence[str]) -> str:
        actions = tuple(map(parse_action, legal))
        return policy.choose(restore_observation(values), actions).action

    return choose


def make_workflow_chooser(policy: WorkflowPolicy) -> Chooser:
    """Return a function that chooses as a policy of `mao` does."""

    def choose(values: Mapping[str, float], legal: Sequence[str]) -> str:
        plan = policy.choose(QuestionFeatures(**values), tuple(map(parse_workflow, legal)))
        return spell_workflow(plan.workflow)

    return choose


@dataclass(frozen=True, slots=True)
class ExecutorChoices(ChoiceProcess):
    """The choices of `adaptive`: executors one after the other, and an end at any time.

    Outcomes are recorded without a language model, so `model` cannot be learned.
    """

    strategy: str = "adaptive"
    columns: tuple[str, ...] = tuple(COLUMNS)
    actions: tuple[str, ...] = tuple(action for action in ACTIONS if action != "model")
    fallback: str = "stop"
    turns: int = 1
    plain: str = LOOK

    @override
    def list_legal(self, tried: Sequence[str], *, most: int) -> tuple[str, ...]:
        executors: tuple[Action, ...] = tuple(map(parse_action, tried))
        return list_legal_actions(executors, has_model=False, most=most)

    @override
    def pick_depth(self, depths: Collection[int]) -> int:
        # A shorter sequence has an outcome too, so the questions can share the smallest depth.
        return min(depths)

    @override
    def list_fixed(self, most: int) -> list[tuple[str, ...]]:
        return list(iterate_sequences(has_model=False, most=most))

    @override
    def summarize(self, sequence: tuple[str, ...]) -> tuple[str, ...]:
        return sequence

    @override
    def count_searches(self, tried: Sequence[str], retrievals: int, *, is_open: bool) -> int:
        # Every sequence includes the same first look, so its price changes no choice.
        return retrievals

    @override
    def choose_by_rules(self, values: Mapping[str, float], legal: Sequence[str]) -> str:
        return make_action_chooser(RulePolicy())(values, legal)


@dataclass(frozen=True, slots=True)
class WorkflowChoices(ChoiceProcess):
    """The choices of `mao`: a workflow for the question, and one for each sub-question."""

    strategy: str = "mao"
    columns: tuple[str, ...] = QuestionFeatures.list_names()
    # Splits come last, because of equally good plans the first is taken, and a plain one is better.
    actions: tuple[str, ...] = tuple(
        spell_workflow(plan) for plan in sorted(FIRST_TURN, key=lambda plan: plan in SPLITS)
    )
    fallback: str = spell_workflow(DEFAULT)
    turns: int = 0
    plain: str = spell_workflow(DEFAULT)

    @override
    def list_legal(self, tried: Sequence[str], *, most: int) -> tuple[str, ...]:
        return tuple(map(spell_workflow, list_legal_workflows(first=not tried)))

    @override
    def pick_depth(self, depths: Collection[int]) -> int:
        # Only the last sub-question gives an answer, so a table must reach it for every question.
        return max(depths)

    @override
    def list_fixed(self, most: int) -> list[tuple[str, ...]]:
        plain = [(spell_workflow(plan),) for plan in FIRST_TURN if plan not in SPLITS]
        split = [
            (spell_workflow(plan), *[spell_workflow(sub)] * most)
            for plan in SPLITS
            for sub in SUB_TURN
        ]
        return plain + split

    @override
    def summarize(self, sequence: tuple[str, ...]) -> tuple[str, ...]:
        # The later workflows are those of sub-questions, whose number depends on the question.
        return sequence[:1]

    @override
    def count_searches(self, tried: Sequence[str], retrievals: int, *, is_open: bool) -> int:
        # The paper charges R and has no first look. So a look costs nothing, and R that takes the
        # hits of a look costs the search that it saves.
        if not tried:
            return 0
        if is_open or len(tried) > 1:
            return sum("R" in parse_workflow(name) for name in tried[1:])
        workflow = parse_workflow(tried[0])
        # A question that cannot be split is answered by R, AG, which is one search. One retrieval
        # is the look's.
        return max(1, retrievals - 1) if workflow in SPLITS or "R" in workflow else 0

    @override
    def choose_by_rules(self, values: Mapping[str, float], legal: Sequence[str]) -> str:
        return make_workflow_chooser(WorkflowRules())(values, legal)


PROCESSES: tuple[ChoiceProcess, ...] = (ExecutorChoices(), WorkflowChoices())
"""The strategies whose planner can be trained."""


def find_process(strategy: str) -> ChoiceProcess:
    """Return the choice process of a strategy.

    Raises:
        UsageError: If the strategy has no planner that can be trained.
    """
    for process in PROCESSES:
        if process.strategy == strategy:
            return process
    names = " or ".join(process.strategy for process in PROCESSES)
    raise UsageError(f"{strategy}: no planner to train; name {names}")
