"""The `Strategy` protocol, the shared state and base class, and the factory by name."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from langgraph.runtime import Runtime

from fathom.agents.finalizer import Finalizer
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.types import Answer, Draft, Filter, Query

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly

CompiledGraph = Any
"""A compiled LangGraph graph over a strategy's own state."""


@dataclass(frozen=True, kw_only=True)
class StrategyState:
    """The part of the state that all strategies share.

    Attributes:
        question: The question, cleaned and standing alone.
        filters: The conditions on the documents that may be used.
        draft: The best draft so far.
        answer: The answer; `None` until the last node sets it.
    """

    question: Question
    filters: tuple[Filter, ...] = ()
    draft: Draft = field(default_factory=Draft)
    answer: Answer | None = None

    @property
    def query(self) -> Query:
        """The question as a query for retrievers."""
        return Query(text=self.question.text, filters=self.filters)


class Strategy(Protocol):
    """The protocol of strategies; each answers a question with one graph.

    Every strategy passes `StrategyConformance`. A strategy object holds no state of a question and
    may answer several at once. The graph's state is a `StrategyState`, or a frozen dataclass with
    the same fields.
    """

    @property
    def name(self) -> str:
        """The name of the strategy for `--strategy`."""
        ...

    def graph(self) -> Any:  # noqa: ANN401 - a StateGraph of the strategy's own state
        """Build the uncompiled graph; its context is the `RunContext`.

        Nodes and the functions that choose the next node must be coroutines. LangGraph runs other
        functions in the event loop's threads, which are few and may be blocked by DNS lookups.
        """
        ...

    def start(self, question: Question, filters: tuple[Filter, ...]) -> Any:  # noqa: ANN401 - the strategy's own state
        """Return the initial state of the graph; documents must meet the filters."""
        ...

    async def finish(self, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
        """Return an answer from any state, also of an interrupted graph; it costs only time."""
        ...


class GraphStrategy:
    """The base class of strategies whose graph ends with a draft for the finalizer."""

    finalizer: Finalizer

    async def finalize(self, state: Any, runtime: Runtime[RunContext]) -> Any:  # noqa: ANN401
        """Set the answer of the state; the last node of every graph."""
        return replace(state, answer=await self.finish(state, runtime.context))

    async def finish(self, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
        """Return the finalizer's answer from the draft of a state, also of an interrupted graph."""
        return await self.finalizer(
            state.question,
            state.draft,
            phase="read",
            context=context,
            hits=getattr(state, "hits", ()),
        )


def make_strategy(name: str, assembly: "Assembly") -> Strategy:
    """Build the strategy with a name, Fathom's own or one of an installed package.

    Raises:
        UsageError: If there is no such strategy, or it cannot be built (`Assembly.make`).
    """
    strategy: Strategy = assembly.make("strategy", name)
    return strategy
