"""The strategy `naive`: retrieve, then read; the baseline of every table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.finalizer import Finalizer
from fathom.agents.reader.base import Reader
from fathom.question.question import Question
from fathom.registry import READER
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.strategies.base import GraphStrategy, StrategyState
from fathom.types import Filter, Hit

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly


@dataclass(frozen=True, kw_only=True)
class NaiveState(StrategyState):
    """The state of a question so far.

    Attributes:
        hits: The hits to read, best first.
    """

    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Naive(GraphStrategy):
    """The strategy that reads the best hits for the question as it was asked.

    Attributes:
        chunks: The number of hits to retrieve.
        select_hits: A function that selects the hits to read from those; by default all.
    """

    search: Search
    reader: Reader
    finalizer: Finalizer
    chunks: int
    select_hits: Callable[[Sequence[Hit]], tuple[Hit, ...]] = tuple
    name: ClassVar[str] = "naive"

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly."""
        return cls(
            search=assembly.search(assembly.settings.retrieval.retriever),
            reader=assembly.agent(READER),
            finalizer=assembly.finalizer(cls.name),
            chunks=assembly.settings.ask.chunks,
            select_hits=assembly.select_hits,
        )

    def start(self, question: Question, filters: tuple[Filter, ...]) -> NaiveState:
        """Return the state in which the graph begins."""
        return NaiveState(question=question, filters=filters)

    def graph(self) -> StateGraph[NaiveState, RunContext, NaiveState, NaiveState]:
        """Build the graph."""
        builder = StateGraph(NaiveState, context_schema=RunContext)
        for node in (self.retrieve, self.read, self.finalize):
            builder.add_node(node.__name__, node)
        builder.add_edge(START, "retrieve")
        builder.add_edge("retrieve", "read")
        builder.add_edge("read", "finalize")
        builder.add_edge("finalize", END)
        return builder

    async def retrieve(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
        """Retrieve hits for the question and select those to read."""
        hits = await self.search(state.query, k=self.chunks, context=runtime.context)
        return replace(state, hits=self.select_hits(hits))

    async def read(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
        """Read the hits into a draft."""
        draft = await self.reader.read(state.question, state.hits, runtime.context)
        return replace(state, draft=draft)
