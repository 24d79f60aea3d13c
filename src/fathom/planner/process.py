"""The choices that a planner makes in a strategy, as learning from recorded outcomes needs them.

Choices are names: an executor or an end in `adaptive`, a workflow in `mao` ("R,DS,AG"). Everything
that learns (the environment, PPO, tables) knows strategies by this protocol alone.
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
Chooser = Callable[[Mapping[str, float], Sequence[str]], str]
"""A function from the numbers of a state and its legal choices to one of them."""


@dataclass(frozen=True, slots=True)
class ChoiceProcess(ABC):
    """The choices in a strategy.

    Attributes:
        strategy: The name of the strategy.
        columns: The names of the numbers that a planner sees.
        actions: The choices that can be learned; the outputs of a network are places in it.
        fallback: The choice that an illegal one comes to, legal after every choice.
        turns: The turns that a choice takes besides those that it waits.
        plain: The name of the fallback alone in tables.
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
            tried: The choices before, none of which was the last.
            most: The largest number of choices before the last one.
        """

    @abstractmethod
    def pick_depth(self, depths: Collection[int]) -> int:
        """Return the depth of a table, from the longest recorded sequence of each question."""

    @abstractmethod
    def list_fixed(self, most: int) -> list[tuple[str, ...]]:
        """Return the sequences that ignore the question, short ones first.

        A sequence goes on with `fallback` after its end.
        """

    @abstractmethod
    def summarize(self, sequence: tuple[str, ...]) -> tuple[str, ...]:
        """Return the choices that tell one plan from another, whatever the question's parts."""

    @abstractmethod
    def count_searches(self, tried: Sequence[str], retrievals: int, *, is_open: bool) -> int:
        """Return the searches that these choices pay for.

        Args:
            tried: The choices so far, each legal.
            retrievals: The searches that were made, first looks included.
            is_open: Whether a choice is left.
        """

    @abstractmethod
    def choose_by_rules(self, values: Mapping[str, float], legal: Sequence[str]) -> str:
        """Return the choice of the strategy's written rules."""


def make_action_chooser(policy: Policy) -> Chooser:
    """Return the choices of a policy of `adaptive`."""

    def choose(values: Mapping[str, float], legal: Sequence[str]) -> str:
        actions = tuple(map(parse_action, legal))
        return policy.choose(restore_observation(values), actions).action

    return choose


def make_workflow_chooser(policy: WorkflowPolicy) -> Chooser:
    """Return the choices of a policy of `mao`."""

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
        # Shorter sequences have outcomes of their own.
        return min(depths)

    @override
    def list_fixed(self, most: int) -> list[tuple[str, ...]]:
        return list(iterate_sequences(has_model=False, most=most))

    @override
    def summarize(self, sequence: tuple[str, ...]) -> tuple[str, ...]:
        return sequence

    @override
    def count_searches(self, tried: Sequence[str], retrievals: int, *, is_open: bool) -> int:
        # Every sequence begins with the one look, which therefore decides nothing.
        return retrievals

    @override
    def choose_by_rules(self, values: Mapping[str, float], legal: Sequence[str]) -> str:
        return make_action_chooser(RulePolicy())(values, legal)


@dataclass(frozen=True, slots=True)
class WorkflowChoices(ChoiceProcess):
    """The choices of `mao`: a workflow for the question, and one for each sub-question."""

    strategy: str = "mao"
    columns: tuple[str, ...] = QuestionFeatures.list_names()
    # Splits come last: of equally good plans the first is taken, and that is to be the plain one.
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
        # Only the last turn gives an answer.
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
        # The number of sub-questions is that of the question, not of the plan.
        return sequence[:1]

    @override
    def count_searches(self, tried: Sequence[str], retrievals: int, *, is_open: bool) -> int:
        # The paper charges R and has no look: a look costs nothing, and R that takes the hits of
        # one costs as the search that it spares.
        if not tried:
            return 0
        if is_open or len(tried) > 1:
            return sum("R" in parse_workflow(name) for name in tried[1:])
        workflow = parse_workflow(tried[0])
        # A question that cannot be split is answered by R, AG.
        return max(1, retrievals - 1) if workflow in SPLITS or "R" in workflow else 0

    @override
    def choose_by_rules(self, values: Mapping[str, float], legal: Sequence[str]) -> str:
        return make_workflow_chooser(WorkflowRules())(values, legal)


PROCESSES: tuple[ChoiceProcess, ...] = (ExecutorChoices(), WorkflowChoices())
"""The strategies whose planner can be trained."""


def find_process(strategy: str) -> ChoiceProcess:
    """Return the choices of a strategy.

    Raises:
        UsageError: If its planner cannot be trained.
    """
    for process in PROCESSES:
        if process.strategy == strategy:
            return process
    names = " or ".join(process.strategy for process in PROCESSES)
    raise UsageError(f"{strategy}: no planner to train; name {names}")
