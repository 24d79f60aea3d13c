"""The protocol of strategies, and the making of one by its name."""

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
"""A compiled graph of LangGraph over a strategy's own state."""


@dataclass(frozen=True, kw_only=True)
class StrategyState:
    """The state of a question so far, as far as all strategies have it.

    Attributes:
        filters: The conditions on the documents that may be used.
        draft: The best draft so far.
        answer: The answer; `None` until the last node has set it.
    """

    question: Question
    filters: tuple[Filter, ...] = ()
    draft: Draft = field(default_factory=Draft)
    answer: Answer | None = None

    @property
    def query(self) -> Query:
        """The question as retrievers are given it."""
        return Query(text=self.question.text, filters=self.filters)


class Strategy(Protocol):
    """The protocol of strategies, which answer a question as one graph.

    Every strategy passes `StrategyConformance`. A strategy keeps nothing from one question to the
    next, and may answer several at once. Its state is a `StrategyState`, or a frozen dataclass with
    the same fields.
    """

    @property
    def name(self) -> str:
        """The name of the strategy for `--strategy`."""
        ...

    def graph(self) -> Any:  # noqa: ANN401 - a StateGraph of the strategy's own state
        """Build the graph, not compiled; its context is the `RunContext`.

        Its nodes, and the functions that choose the next node, must be coroutines. LangGraph runs
        other functions in threads of the loop, which are few and may be waiting for a name server.
        """
        ...

    def start(self, question: Question, filters: tuple[Filter, ...]) -> Any:  # noqa: ANN401 - the strategy's own state
        """Return the state in which the graph begins; documents must meet the filters."""
        ...

    async def finish(self, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
        """Return an answer from a state, also one in which the graph was cut; costs only time."""
        ...


class GraphStrategy:
    """The base of strategies whose graph ends with a draft, from which the finalizer answers."""

    finalizer: Finalizer

    async def finalize(self, state: Any, runtime: Runtime[RunContext]) -> Any:  # noqa: ANN401
        """Set the answer of the state; this is the last node."""
        return replace(state, answer=await self.finish(state, runtime.context))

    async def finish(self, state: Any, context: RunContext) -> Answer:  # noqa: ANN401
        """Return the finalizer's answer from the draft of a state, also of a graph that was cut."""
        return await self.finalizer(
            state.question,
            state.draft,
            phase="read",
            context=context,
            hits=getattr(state, "hits", ()),
        )


def make_strategy(name: str, assembly: "Assembly") -> Strategy:
    """Build the strategy of this name, Fathom's own or one that a package adds.

    Raises:
        UsageError: If there is no such strategy, or it cannot be used, as `Assembly.make` says.
    """
    strategy: Strategy = assembly.make("strategy", name)
    return strategy
