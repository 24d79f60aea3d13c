"""Two branches of agents side by side, compared and reordered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.comparer import Comparer
from fathom.agents.complexity import ComplexityAnalyser
from fathom.agents.finalizer import Finalizer
from fathom.agents.keyword_filter import HitFilter
from fathom.agents.reader import NullReader, Reader
from fathom.agents.reorderer import Reorderer, ends_first
from fathom.assembly import Assembly
from fathom.context import RunContext
from fathom.control.supervisor import BranchReport, Order, Supervisor
from fathom.retrieval.search import Search
from fathom.settings.hybrid import FIXED, HybridSettings
from fathom.strategies.base import GraphStrategy
from fathom.strategies.bus import AgentMessage, AgentMessages, attempt, check_heard, merged
from fathom.text.language import detect
from fathom.types import Answer, Draft, Hit, Query

KEYWORD, SEMANTIC = "keyword", "semantic"
BranchWeights = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class HybridState:
    """What is known of a question so far.

    Attributes:
        weights: Of each branch.
        messages: The last one of each agent, by `search` or `filter` and its branch.
        rounds: How often the supervisor has sent branches out again.
        orders: Which of them, and what they are to do anew.
    """

    query: Query
    weights: BranchWeights = field(default_factory=dict)
    messages: Annotated[AgentMessages, merged] = field(default_factory=dict)
    rounds: int = 0
    orders: Mapping[str, Order] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    draft: Draft = field(default_factory=Draft)
    answer: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A retrieval agent and its filter; another one plugs in by standing beside the two.

    Attributes:
        filter: `None` keeps everything.
    """

    name: str
    search: Search
    filter: HitFilter | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """Who says how much each branch counts; see `HybridSettings.weights`."""

    analyser: ComplexityAnalyser
    settings: HybridSettings

    async def __call__(self, question: str, context: RunContext) -> BranchWeights:
        """The weights by branch; the paper's prior where the analyser fails."""
        return dict(zip((KEYWORD, SEMANTIC), await self._pair(question, context), strict=True))

    async def _pair(self, question: str, context: RunContext) -> tuple[float, float]:
        if self.settings.weights != "complexity":
            return FIXED[self.settings.weights]
        done = await attempt("analyse", partial(self.analyser.analyse, question), context)
        if detect(question) not in {"en", "und"}:
            return self.settings.foreign
        return done.value.weights if done.value else self.settings.prior


@dataclass(frozen=True, kw_only=True)
class Hybrid(GraphStrategy):
    """Multi-agent hybrid retrieval (the paper's figure 1 and its steps 1 to 8).

    Attributes:
        branches: Work at the same time; those without weight do not.
        reorderer: `None` leaves the order of the comparison.
        candidates: Hits of each branch.
        relax: By which the floors of a filter are multiplied each time it is asked again.
        k: How many hits are read.
        positions: In which order: best first, or the best at both ends.
    """

    weighing: Weighing
    branches: Sequence[Branch]
    supervisor: Supervisor
    comparer: Comparer
    reorderer: Reorderer | None
    reader: Reader
    finalizer: Finalizer
    candidates: int
    relax: float
    k: int
    positions: Literal["rank", "ends"]
    name: ClassVar[str] = "hybrid"

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Made of these parts."""
        own = assembly.settings.hybrid
        filters = (
            (assembly.keyword_filter, assembly.semantic_filter) if own.filters else (None, None)
        )
        return cls(
            weighing=Weighing(analyser=assembly.complexity, settings=own),
            branches=(
                Branch(name=KEYWORD, search=assembly.search("keyword"), filter=filters[0]),
                Branch(name=SEMANTIC, search=assembly.search("vector"), filter=filters[1]),
            ),
            supervisor=Supervisor(own.retries),
            comparer=Comparer(),
            reorderer=assembly.reorderer if own.reorder else None,
            reader=assembly.reader if own.read else NullReader(),
            finalizer=assembly.finalizer(cls.name),
            candidates=own.candidates,
            relax=own.relax,
            k=own.k,
            positions=own.positions,
        )

    def start(self, query: Query) -> HybridState:
        """See `Strategy.start`."""
        return HybridState(query=query)

    def graph(self) -> StateGraph[HybridState, RunContext, HybridState, HybridState]:
        """See `Strategy.graph`."""
        figure = StateGraph(HybridState, context_schema=RunContext)
        for node in (self.analyse, self.supervise, self.compare, self.reorder, self.read):
            figure.add_node(node.__name__, node)
        figure.add_node("finalize", self.finalize)
        begins = [f"search_{branch.name}" for branch in self.branches]
        for branch in self.branches:
            figure.add_node(f"search_{branch.name}", partial(self.search, branch))
            figure.add_node(f"filter_{branch.name}", partial(self.filter, branch))
            figure.add_edge(f"search_{branch.name}", f"filter_{branch.name}")
            figure.add_edge(f"filter_{branch.name}", "supervise")
        figure.add_edge(START, "analyse")
        figure.add_conditional_edges("analyse", self.begins, begins)
        figure.add_conditional_edges("supervise", self.goes_on, [*begins, "compare"])
        for one, other in _LAST_EDGES:
            figure.add_edge(one, other)
        return figure

    async def analyse(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        return replace(state, weights=await self.weighing(state.query.text, runtime.context))

    def begins(self, state: HybridState) -> list[str]:
        """The branches with a weight."""
        return [f"search_{branch.name}" for branch in self.branches if state.weights[branch.name]]

    async def search(
        self, branch: Branch, state: HybridState, runtime: Runtime[RunContext]
    ) -> dict[str, AgentMessages]:
        if state.orders.get(branch.name) == "filter":
            return {}  # what it found is still there
        ask = partial(branch.search, state.query, k=self.candidates)
        name = f"search {branch.name}"
        done = await attempt(name, lambda context: ask(context=context), runtime.context)
        return {"messages": {name: done.message()}}

    async def filter(
        self, branch: Branch, state: HybridState, runtime: Runtime[RunContext]
    ) -> dict[str, AgentMessages]:
        found = state.messages[f"search {branch.name}"].hits
        name = f"filter {branch.name}"
        if branch.filter is None or not found:
            return {"messages": {name: AgentMessage(hits=found)}}
        strictness = self.relax**state.rounds
        keep = partial(branch.filter.keep, state.query.text, found, strictness=strictness)
        done = await attempt(name, lambda context: keep(context=context), runtime.context)
        told = done.message(strictness=strictness)
        return {"messages": {name: replace(told, hits=found) if done.failed else told}}

    async def supervise(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        reports = [_report(branch.name, state) for branch in self._asked(state)]
        verdict = self.supervisor(reports, state.rounds)
        with runtime.context.step("supervise", agent="supervisor") as here:
            here.done(outputs={"orders": verdict.orders}, reason=verdict.reason)
        return replace(state, rounds=state.rounds + 1, orders=verdict.orders)

    def goes_on(self, state: HybridState) -> list[str]:
        """The branches that were sent out again; without any, the comparison."""
        return [f"search_{name}" for name in state.orders] or ["compare"]

    async def compare(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        asked = self._asked(state)
        check_heard({b.name: state.messages[f"search {b.name}"] for b in asked})
        lists = {branch.name: state.messages[f"filter {branch.name}"].hits for branch in asked}
        hits = await self.comparer.compare(lists, state.weights, runtime.context)
        return replace(state, hits=hits)

    async def reorder(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        hits = await self._reordered(state, runtime.context)
        return replace(state, hits=ends_first(hits) if self.positions == "ends" else hits)

    async def read(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        draft = await self.reader.read(state.query.text, state.hits, runtime.context)
        return replace(state, draft=draft)

    async def _reordered(self, state: HybridState, context: RunContext) -> tuple[Hit, ...]:
        best = state.hits[: self.k]
        if self.reorderer is None or len(state.hits) < 2:
            return best
        order = partial(self.reorderer, state.query.text, state.hits, keep=self.k)
        done = await attempt("reorder", lambda context: order(context=context), context)
        return best if done.value is None else done.value

    def _asked(self, state: HybridState) -> list[Branch]:
        return [branch for branch in self.branches if f"search {branch.name}" in state.messages]


_LAST_EDGES = (
    ("compare", "reorder"),
    ("reorder", "read"),
    ("read", "finalize"),
    ("finalize", END),
)


def _report(branch: str, state: HybridState) -> BranchReport:
    searched, kept = state.messages[f"search {branch}"], state.messages[f"filter {branch}"]
    return BranchReport(
        name=branch,
        failed=searched.failed,
        final=searched.final,
        found=len(searched.hits),
        kept=len(kept.hits),
    )
