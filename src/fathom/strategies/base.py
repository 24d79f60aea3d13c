"""What a strategy promises, and which there are."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol

from langgraph.runtime import Runtime

from fathom import extensions
from fathom.agents.finalizer import Finalizer
from fathom.assembly import Assembly
from fathom.runs.context import RunContext
from fathom.types import Answer, Query

CompiledGraph = Any
"""A graph of LangGraph over a strategy's own state, compiled."""


class Strategy(Protocol):
    """Answers a question as one graph; every one passes `StrategyConformance`.

    It keeps nothing from one question to the next, and may answer several at once.
    Its state is a frozen dataclass with at least the fields `query`, `draft` (the best so far)
    and `answer` (`None` until the last node has set it).
    """

    @property
    def name(self) -> str:
        """As in `--strategy`."""
        ...

    def graph(self) -> Any:  # noqa: ANN401 - a StateGraph of the strategy's own state
        """The graph, not compiled; its context is the `RunContext`.

        Its nodes, and what chooses the next one, are coroutines: of others LangGraph makes threads
        of the loop, which are few and may be waiting for a name server.
        """
        ...

    def start(self, query: Query) -> Any:  # noqa: ANN401 - the strategy's own state
        """The state in which the graph begins."""
        ...

    async def finish(self, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
        """Answer from a state, also one in which the graph was cut; costs nothing but time."""
        ...


class GraphStrategy:
    """What the graphs share: they end with a draft, of which the finalizer makes the answer."""

    finalizer: Finalizer

    async def finalize(self, state: Any, runtime: Runtime[RunContext]) -> Any:  # noqa: ANN401
        """The last node."""
        return replace(state, answer=await self.finish(state, runtime.context))

    async def finish(self, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
        """See `Strategy.finish`."""
        return await self.finalizer(
            state.query.text,
            state.draft,
            phase="read",
            context=context,
            hits=getattr(state, "hits", ()),
        )


def _made(name: str, kind: str) -> Callable[[Assembly], Strategy]:
    """Makes the strategy of a class; imported then, as a question needs but one of them."""

    def make(assembly: Assembly) -> Strategy:
        made: Strategy = getattr(import_module(f"fathom.strategies.{name}"), kind).of(assembly)
        return made

    return make


STRATEGIES: Mapping[str, Callable[[Assembly], Strategy]] = {
    name: _made(name, kind) for name, kind in extensions.STRATEGIES.items()
}
"""How Fathom's own strategies are made, by name."""


def make_strategy(name: str, assembly: Assembly) -> Strategy:
    """The strategy of this name, Fathom's own or what a package adds.

    Raises:
        UsageError: If there is none, or it cannot be used; see `Assembly.extension`.
    """
    if name in STRATEGIES:
        return STRATEGIES[name](assembly)
    added: Strategy = assembly.extension("strategy", name)
    return added
