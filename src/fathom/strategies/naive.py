"""Retrieve, then read: the baseline that every table needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.finalizer import Finalizer
from fathom.agents.reader.base import Reader
from fathom.assembly import Assembly
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.strategies.base import GraphStrategy
from fathom.types import Answer, Draft, Hit, Query


@dataclass(frozen=True, kw_only=True)
class NaiveState:
    """What is known of a question so far."""

    query: Query
    hits: tuple[Hit, ...] = ()
    draft: Draft = field(default_factory=Draft)
    answer: Answer | None = None


@dataclass(frozen=True, kw_only=True)
class Naive(GraphStrategy):
    """Reads the best hits for the question as it was asked.

    Attributes:
        chunks: How many hits are looked for.
        to_read: Those of them that are read.
    """

    search: Search
    reader: Reader
    finalizer: Finalizer
    chunks: int
    to_read: Callable[[Sequence[Hit]], tuple[Hit, ...]] = tuple
    name: ClassVar[str] = "naive"

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Made of these parts."""
        return cls(
            search=assembly.search(assembly.settings.retrieval.retriever),
            reader=assembly.reader,
            finalizer=assembly.finalizer(cls.name),
            chunks=assembly.settings.ask.chunks,
            to_read=assembly.to_read,
        )

    def start(self, query: Query) -> NaiveState:
        """See `Strategy.start`."""
        return NaiveState(query=query)

    def graph(self) -> StateGraph[NaiveState, RunContext, NaiveState, NaiveState]:
        """See `Strategy.graph`."""
        figure = StateGraph(NaiveState, context_schema=RunContext)
        for node in (self.retrieve, self.read, self.finalize):
            figure.add_node(node.__name__, node)
        figure.add_edge(START, "retrieve")
        figure.add_edge("retrieve", "read")
        figure.add_edge("read", "finalize")
        figure.add_edge("finalize", END)
        return figure

    async def retrieve(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
        hits = await self.search(state.query, k=self.chunks, context=runtime.context)
        return replace(state, hits=self.to_read(hits))

    async def read(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
        draft = await self.reader.read(state.query.text, state.hits, runtime.context)
        return replace(state, draft=draft)
