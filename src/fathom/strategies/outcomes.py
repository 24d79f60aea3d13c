"""What would have come of every choice: all that `adaptive` could do with one question.

A planner that learns from records needs the outcome of what was not chosen too. The sequences of
executors are a tree; each of its nodes is worked out once, from the state that its parent left.
"""

import time
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from fathom.planner.actions import ENDING, Action, legal
from fathom.planner.features import Observation
from fathom.runs.context import RunContext
from fathom.runs.ledger import Ledger
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin
from fathom.strategies.adaptive import Adaptive, AdaptiveState
from fathom.types import Answer, Query
from fathom.usage import Budget, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """What came of a sequence of executors.

    Attributes:
        tried: The executors, in their order; empty for the first look alone.
        observation: On which the next choice is made.
        answer: Given if the next choice is `stop`.
        usage: Of all of it, the first look included; its seconds are those of this machine, where
            later sequences find what earlier ones have read.
    """

    tried: tuple[Action, ...]
    observation: Observation
    answer: Answer
    usage: Usage


async def outcomes(
    strategy: Adaptive, query: Query, executor: Executor, *, most: int | None = None
) -> AsyncIterator[ActionOutcome]:
    """The outcomes of all legal sequences, short ones first; a sequence follows its beginning.

    Nothing limits what they spend, and no trace is kept.

    Args:
        strategy: Its policy is not asked.
        query: What is asked.
        executor: Where synchronous work is done.
        most: So many executors in a row; by default as many as the strategy allows.
    """
    recorder, ledger = (
        Recorder(Origin(question=query.text, strategy=strategy.name)),
        Ledger(Budget()),
    )
    tree = _Tree(strategy, RunContext(ledger=ledger, scope=recorder, executor=executor))
    waiting = [await tree.root(query)]
    while waiting:
        node = waiting.pop(0)
        yield await tree.outcome(node)
        waiting += [await tree.child(node, action) for action in tree.open(node, most)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    state: AdaptiveState
    usage: Usage


@dataclass(frozen=True, slots=True)
class _Tree:
    strategy: Adaptive
    context: RunContext

    async def root(self, query: Query) -> _Node:
        return await self._after("look", self.strategy.start(query), Usage())

    async def child(self, node: _Node, action: Action) -> _Node:
        worked = await self._after(action, node.state, node.usage)
        return await self._after("gate", worked.state, worked.usage)

    def open(self, node: _Node, most: int | None) -> list[Action]:
        """The executors that may come next."""
        own = self.strategy
        limit = own.most if most is None else most
        open_ = legal(node.state.tried, has_model=own.model_reader is not None, most=limit)
        return [action for action in open_ if action not in ENDING]

    async def outcome(self, node: _Node) -> ActionOutcome:
        answer = await self.strategy.finish(node.state, self.context)
        return ActionOutcome(
            tried=node.state.tried,
            observation=self.strategy.observation(node.state, self.context),
            answer=replace(answer, usage=node.usage),
            usage=node.usage,
        )

    async def _after(self, name: str, state: AdaptiveState, usage: Usage) -> _Node:
        """The state that a node of the graph leaves, and what was spent up to there."""
        before, began = self.context.ledger.usage, time.monotonic()
        left = await getattr(self.strategy, name)(state, Runtime(context=self.context))
        seconds = round(time.monotonic() - began, 6)
        own = _difference(self.context.ledger.usage, before)
        return _Node(state=left, usage=usage + replace(own, seconds=seconds))


def _difference(after: Usage, before: Usage) -> Usage:
    known = after.cost_usd is not None and before.cost_usd is not None
    return Usage(
        llm_calls=after.llm_calls - before.llm_calls,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        completion_tokens=after.completion_tokens - before.completion_tokens,
        retrievals=after.retrievals - before.retrievals,
        cost_usd=(after.cost_usd or 0.0) - (before.cost_usd or 0.0) if known else None,
    )
