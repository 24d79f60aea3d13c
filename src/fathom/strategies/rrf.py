"""The strategy `rrf`: reads the best hits of several retrievers, fused by reciprocal rank.

It implements the paper on multi-retrieval and reciprocal rank fusion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.comparer import Comparer
from fathom.agents.finalizer import Finalizer
from fathom.agents.reader.base import Reader
from fathom.question.question import Question
from fathom.registry import READER
from fathom.retrieval.fusion import ReciprocalRank
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.rrf import RrfSettings
from fathom.strategies.base import GraphStrategy, StrategyState
from fathom.strategies.bus import AgentMessages, attempt_work, check_messages, merge_messages
from fathom.types import Filter, Hit

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly


@dataclass(frozen=True, kw_only=True)
class RrfState(StrategyState):
    """The state of a question so far.

    Attributes:
        messages: The message of each retriever, by its name.
        hits: The fused hits to read, best first.
    """

    messages: Annotated[AgentMessages, merge_messages] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rrf(GraphStrategy):
    """Multi-retrieval integration by reciprocal rank fusion (figure 3 of the paper).

    Attributes:
        searches: The search of each retriever, by its name; they run in parallel.
        comparer: The role that fuses the lists.
        weights: The weight of each retriever's list; 1 for a retriever that is missing.
        k: The number of hits that each retriever finds.
        contexts: The number of fused hits to read.
    """

    searches: Mapping[str, Search]
    comparer: Comparer
    reader: Reader
    finalizer: Finalizer
    weights: Mapping[str, float]
    k: int
    contexts: int
    name: ClassVar[str] = "rrf"

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly."""
        rrf = assembly.settings.get_section(RrfSettings)
        return cls(
            searches={name: assembly.search(name) for name in rrf.retrievers},
            comparer=Comparer(fusion=ReciprocalRank(rrf.rrf_k)),
            reader=assembly.agent(READER),
            finalizer=assembly.finalizer(cls.name),
            weights=dict(zip(rrf.retrievers, rrf.weights, strict=False)),
            k=rrf.k,
            contexts=rrf.contexts,
        )

    def start(self, question: Question, filters: tuple[Filter, ...]) -> RrfState:
        """Return the state in which the graph begins."""
        return RrfState(question=question, filters=filters)

    def graph(self) -> StateGraph[RrfState, RunContext, RrfState, RrfState]:
        """Build the graph."""
        builder = StateGraph(RrfState, context_schema=RunContext)
        for node in (self.fuse, self.read, self.finalize):
            builder.add_node(node.__name__, node)
        for name in self.searches:
            # LangGraph does not allow colons in the names of nodes.
            search_node = f"retrieve_{name.replace(':', ' ')}"
            builder.add_node(search_node, partial(self.retrieve, name))
            builder.add_edge(START, search_node)
            builder.add_edge(search_node, "fuse")
        builder.add_edge("fuse", "read")
        builder.add_edge("read", "finalize")
        builder.add_edge("finalize", END)
        return builder

    async def retrieve(
        self, name: str, state: RrfState, runtime: Runtime[RunContext]
    ) -> dict[str, AgentMessages]:
        """Retrieve hits with one retriever; its failure does not end the run."""
        search = partial(self.searches[name], state.query, k=self.k)
        outcome = await attempt_work(name, lambda context: search(context=context), runtime.context)
        return {"messages": {name: outcome.to_message()}}

    async def fuse(self, state: RrfState, runtime: Runtime[RunContext]) -> RrfState:
        """Fuse the lists of all retrievers, empty ones for those that failed.

        Raises:
            RunError: If all retrievers failed for reasons other than the budget.
        """
        check_messages(state.messages)
        lists = {name: message.hits for name, message in state.messages.items()}
        hits = await self.comparer.compare(lists, self.weights, runtime.context)
        return replace(state, hits=hits[: self.contexts])

    async def read(self, state: RrfState, runtime: Runtime[RunContext]) -> RrfState:
        """Read the best fused hits into a draft."""
        draft = await self.reader.read(state.question, state.hits, runtime.context)
        return replace(state, draft=draft)
