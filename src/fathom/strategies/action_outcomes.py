"""The outcomes of every choice that `adaptive` could make for one question.

A planner that learns from records also needs the outcomes of the choices that were not made. The
sequences of executors form a tree; each of them is worked on once, from the state that the sequence
before it left.
"""

import time
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from fathom.planner.actions import END_ACTIONS, Action, list_legal_actions
from fathom.planner.observation import Observation
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin
from fathom.strategies.adaptive import Adaptive, AdaptiveState
from fathom.types import Answer, Filter
from fathom.usage import Budget, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """The outcome of a sequence of executors.

    Attributes:
        tried: The executors, in order; empty for the first look alone.
        observation: The observation on which the next choice is made.
        answer: The answer if the next choice is `stop`.
        usage: The usage of the whole sequence, including the first look. Its seconds are those of
            this machine, where later sequences find in caches what earlier ones have read.
    """

    tried: tuple[Action, ...]
    observation: Observation
    answer: Answer
    usage: Usage


async def iterate_outcomes(
    strategy: Adaptive,
    question: Question,
    executor: Executor,
    *,
    filters: tuple[Filter, ...] = (),
    most: int | None = None,
) -> AsyncIterator[ActionOutcome]:
    """Yield the outcomes of all legal sequences, short ones first, each after its beginning.

    No budget limits the runs, and no trace is kept.

    Args:
        strategy: The strategy, whose policy is not asked.
        question: The question.
        executor: Runs synchronous work.
        filters: The conditions on the documents that may be used.
        most: The largest number of executors in a row; by default as many as the strategy allows.
    """
    recorder, ledger = (
        Recorder(Origin(question=question.text, strategy=strategy.name)),
        Ledger(Budget()),
    )
    tree = _SequenceTree(strategy, RunContext(ledger=ledger, scope=recorder, executor=executor))
    # Breadth first, so that a sequence comes after its beginning.
    waiting = [await tree.start(question, filters)]
    while waiting:
        worked = waiting.pop(0)
        yield await tree.build_outcome(worked)
        waiting += [
            await tree.extend(worked, action) for action in tree.list_next_actions(worked, most)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TreeState:
    """A state of the graph, with the usage up to it."""

    state: AdaptiveState
    usage: Usage


@dataclass(frozen=True, slots=True)
class _SequenceTree:
    """The tree of the sequences of executors for one question."""

    strategy: Adaptive
    context: RunContext

    async def start(self, question: Question, filters: tuple[Filter, ...]) -> _TreeState:
        """Return the state after the first look."""
        return await self._run_node("look", self.strategy.start(question, filters), Usage())

    async def extend(self, reached: _TreeState, action: Action) -> _TreeState:
        """Return the state after one more executor and the gate."""
        worked = await self._run_node(action, reached.state, reached.usage)
        return await self._run_node("gate", worked.state, worked.usage)

    def list_next_actions(self, reached: _TreeState, most: int | None) -> list[Action]:
        """Return the executors that may come next."""
        strategy = self.strategy
        limit = strategy.most if most is None else most
        actions = list_legal_actions(
            reached.state.tried, has_model=strategy.model_reader is not None, most=limit
        )
        return [action for action in actions if action not in END_ACTIONS]

    async def build_outcome(self, reached: _TreeState) -> ActionOutcome:
        """Return the outcome as if the question were answered in this state."""
        answer = await self.strategy.finish(reached.state, self.context)
        return ActionOutcome(
            tried=reached.state.tried,
            observation=self.strategy.build_observation(reached.state, self.context),
            answer=replace(answer, usage=reached.usage),
            usage=reached.usage,
        )

    async def _run_node(self, name: str, state: AdaptiveState, usage: Usage) -> _TreeState:
        """Return the state that a node of the graph leaves, and the usage up to it."""
        before, start = self.context.ledger.usage, time.monotonic()
        next_state = await getattr(self.strategy, name)(state, Runtime(context=self.context))
        seconds = round(time.monotonic() - start, 6)
        spent = _subtract_usage(self.context.ledger.usage, before)
        return _TreeState(state=next_state, usage=usage + replace(spent, seconds=seconds))


def _subtract_usage(after: Usage, before: Usage) -> Usage:
    """Return the usage between two moments; seconds are measured apart."""
    has_cost = after.cost_usd is not None and before.cost_usd is not None
    return Usage(
        llm_calls=after.llm_calls - before.llm_calls,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        completion_tokens=after.completion_tokens - before.completion_tokens,
        retrievals=after.retrievals - before.retrievals,
        cost_usd=(after.cost_usd or 0.0) - (before.cost_usd or 0.0) if has_cost else None,
    )
