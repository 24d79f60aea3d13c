"""The outcomes of every sequence of actions that a planner could choose for one question.

A planner is trained on records (`planner.train`) that need the outcomes of all choices, not only of
those that a run made. The sequences form a tree. Each is run once, from the state that its prefix
left.
"""

import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from langgraph.runtime import Runtime

from fathom.planner.actions import END_ACTIONS, list_legal_actions
from fathom.planner.observation import COLUMNS, Observation, build_features
from fathom.planner.workflows import list_legal_workflows, parse_workflow, spell_workflow
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin
from fathom.strategies.adaptive import Adaptive
from fathom.strategies.mao import Mao, MaoState, Turn
from fathom.types import Answer, Filter
from fathom.usage import Budget, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """The outcome of a sequence of choices.

    Attributes:
        tried: The choices, in order; empty for the first look alone.
        features: The named numbers from which the next choice is made; empty after the last choice.
        answer: The answer if the run ended here; `None` if the strategy cannot end here.
        usage: The usage of the whole sequence, first look included. Its seconds depend on the
            machine, and later sequences profit from the caches that earlier ones have filled.
        waits: The number of rounds in which sub-questions are answered: one for a parallel split,
            one for each sub-question of a serial split.
    """

    tried: tuple[str, ...]
    features: Mapping[str, float]
    answer: Answer | None
    usage: Usage
    waits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedState:
    """A state of the graph with the choices made and the usage so far."""

    state: Any
    tried: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


class ChoiceTree(Protocol):
    """The protocol of the tree of choices for one question; one for each strategy."""

    async def start(self, question: Question, filters: tuple[Filter, ...]) -> ReachedState:
        """Return the state after the first look."""
        ...

    async def extend(self, reached: ReachedState, action: str) -> ReachedState:
        """Carry out a choice and return the state before the next choice, or the last state."""
        ...

    def list_next_actions(self, reached: ReachedState) -> list[str]:
        """Return the choices that are possible in a state; empty at a leaf."""
        ...

    async def build_outcome(self, reached: ReachedState) -> ActionOutcome:
        """Return the outcome of ending in a state."""
        ...


async def iterate_outcomes(
    strategy: Adaptive | Mao,
    question: Question,
    executor: Executor,
    *,
    filters: tuple[Filter, ...] = (),
    most: int | None = None,
) -> AsyncIterator[ActionOutcome]:
    """Yield the outcomes of all legal sequences of actions, short ones first.

    Every sequence comes after its prefixes. The runs have no budget and leave no trace.

    Args:
        strategy: The strategy; its planner is not asked.
        question: The question.
        executor: The executor that runs synchronous work.
        filters: The conditions on the documents that may be used.
        most: The longest sequence for `adaptive`; by default what the strategy allows.
    """
    recorder, ledger = (
        Recorder(Origin(question=question.text, strategy=strategy.name)),
        Ledger(Budget()),
    )
    meter = _Meter(RunContext(ledger=ledger, scope=recorder, executor=executor))
    tree: ChoiceTree
    if isinstance(strategy, Mao):
        tree = WorkflowTree(strategy, meter)
    else:
        tree = ExecutorTree(strategy, meter, strategy.most if most is None else most)
    # Breadth first, so that a sequence comes after its prefixes.
    waiting = [await tree.start(question, filters)]
    while waiting:
        worked = waiting.pop(0)
        yield await tree.build_outcome(worked)
        waiting += [await tree.extend(worked, action) for action in tree.list_next_actions(worked)]


@dataclass(frozen=True, slots=True)
class _Meter:
    """The measurement of the usage of each node of a graph."""

    context: RunContext

    async def run_node(
        self, strategy: Adaptive | Mao, name: str, reached: ReachedState
    ) -> ReachedState:
        """Run a node of the graph and return the new state with the usage so far."""
        before, start = self.context.ledger.usage, time.monotonic()
        state = await getattr(strategy, name)(reached.state, Runtime(context=self.context))
        seconds = round(time.monotonic() - start, 6)
        spent = _subtract_usage(self.context.ledger.usage, before)
        return replace(reached, state=state, usage=reached.usage + replace(spent, seconds=seconds))


@dataclass(frozen=True, slots=True)
class ExecutorTree:
    """The tree of the executors of `adaptive`; the run may end after each."""

    strategy: Adaptive
    meter: _Meter
    most: int

    async def start(self, question: Question, filters: tuple[Filter, ...]) -> ReachedState:
        """Return the state after the first look."""
        first = ReachedState(state=self.strategy.start(question, filters))
        return await self.meter.run_node(self.strategy, "look", first)

    async def extend(self, reached: ReachedState, action: str) -> ReachedState:
        """Return the state after one more executor and the gate."""
        worked = await self.meter.run_node(self.strategy, action, reached)
        gated = await self.meter.run_node(self.strategy, "gate", worked)
        return replace(gated, tried=(*reached.tried, action))

    def list_next_actions(self, reached: ReachedState) -> list[str]:
        """Return the executors that may come next."""
        actions = list_legal_actions(
            reached.state.tried, has_model=self.strategy.model_reader is not None, most=self.most
        )
        return [action for action in actions if action not in END_ACTIONS]

    async def build_outcome(self, reached: ReachedState) -> ActionOutcome:
        """Return the outcome as if the question were answered in this state."""
        context = self.meter.context
        answer = await self.strategy.finish(reached.state, context)
        observation = self.strategy.build_observation(reached.state, context)
        values = map(float, build_features(observation))
        return ActionOutcome(
            tried=reached.tried,
            features=dict(zip(COLUMNS, values, strict=True)),
            answer=replace(answer, usage=reached.usage),
            usage=reached.usage,
            waits=_count_waits(observation),
        )


@dataclass(frozen=True, slots=True)
class WorkflowTree:
    """The tree of the workflows of `mao`, one for each turn; a run ends after the last turn.

    Parallel turns are planned one after another here. No workflow starts before all turns have one.
    """

    strategy: Mao
    meter: _Meter

    async def start(self, question: Question, filters: tuple[Filter, ...]) -> ReachedState:
        """Return the state after the first look."""
        first = ReachedState(state=self.strategy.start(question, filters))
        return await self.meter.run_node(self.strategy, "look", first)

    async def extend(self, reached: ReachedState, action: str) -> ReachedState:
        """Return the state after a turn's workflow is chosen, and done if no other turn waits."""
        state: MaoState = reached.state
        turn = _find_unplanned(state)
        assert turn is not None
        planned = turn.with_plan(parse_workflow(action), self.strategy.observe_turn(turn))
        turns = tuple(planned if other is turn else other for other in state.turns)
        reached = replace(
            reached, state=replace(state, turns=turns), tried=(*reached.tried, action)
        )
        while _find_unplanned(reached.state) is None:
            node = await self.strategy.choose_next_node(reached.state)
            if node == "finalize":
                return reached
            reached = await self.meter.run_node(self.strategy, node, reached)
            if node == "follow":
                reached = await self.meter.run_node(self.strategy, "look", reached)
            if node == "summarize":
                return reached
        return reached

    def list_next_actions(self, reached: ReachedState) -> list[str]:
        """Return the workflows of the next turn."""
        turn = _find_unplanned(reached.state)
        if turn is None:
            return []
        return [spell_workflow(plan) for plan in list_legal_workflows(first=turn.number == 0)]

    async def build_outcome(self, reached: ReachedState) -> ActionOutcome:
        """Return the answer after the last turn, else the features of the next turn."""
        state: MaoState = reached.state
        turn = _find_unplanned(state)
        answer = None
        if turn is None:
            answer = await self.strategy.finish(state, self.meter.context)
        situation = self.strategy.observe_turn(turn) if turn else None
        # Parallel sub-questions are answered in one round.
        turns = len(state.sub_turns)
        return ActionOutcome(
            tried=reached.tried,
            features=situation.name_values() if situation else {},
            answer=replace(answer, usage=reached.usage) if answer else None,
            usage=reached.usage,
            waits=min(1, turns) if state.manner == "parallel" else turns,
        )


def _find_unplanned(state: MaoState) -> Turn | None:
    """Return the first turn that has no workflow yet."""
    return next((turn for turn in state.turns if not turn.plan), None)


def _count_waits(observation: Observation) -> int:
    """Count the rounds of a split: one if parallel, else one for each sub-question."""
    situation = observation.situation
    if "split" not in observation.tried:
        return 0
    return 1 if situation.parallel > 1 else int(situation.serial) if situation.serial > 1 else 0


def _subtract_usage(after: Usage, before: Usage) -> Usage:
    """Return the usage between two moments, without seconds, which the caller measures."""
    has_cost = after.cost_usd is not None and before.cost_usd is not None
    return Usage(
        llm_calls=after.llm_calls - before.llm_calls,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        completion_tokens=after.completion_tokens - before.completion_tokens,
        retrievals=after.retrievals - before.retrievals,
        cost_usd=(after.cost_usd or 0.0) - (before.cost_usd or 0.0) if has_cost else None,
    )
