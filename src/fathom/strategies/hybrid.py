"""Branches of agents side by side, compared and reordered."""

import re
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
from fathom.agents.reader.base import NullReader, Reader
from fathom.agents.reorderer import Reorderer, ends_first
from fathom.assembly import Assembly
from fathom.control.supervisor import BranchReport, Order, Supervisor
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
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
        weights: Of each branch, as the supervisor left them.
        messages: The last one of each agent, by `search` or `filter` and its branch.
        rounds: How often the supervisor has decided.
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
        weight: How much it counts where no analyser says so, as of the two that the paper has.
            With 0 it stands by until another branch brings nothing.
    """

    name: str
    search: Search
    filter: HitFilter | None = None
    weight: float = 0.5

    @property
    def begins(self) -> str:
        """The node of its search; LangGraph keeps colons for itself."""
        return f"search_{re.sub(r'[^0-9A-Za-z]', '_', self.name)}"

    @property
    def ends(self) -> str:
        """The node of its filter."""
        return self.begins.replace("search", "filter", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """Who says how much the paper's two branches count; see `HybridSettings.weights`."""

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
        branches: Work at the same time, any number of them; those without weight stand by.
        reorderer: `None` leaves the order of the comparison.
        candidates: Hits of each branch.
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
    k: int
    positions: Literal["rank", "ends"]
    name: ClassVar[str] = "hybrid"

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Made of these parts."""
        own = assembly.settings.hybrid
        keeps = (assembly.keyword_filter, assembly.semantic_filter)
        two = (KEYWORD, "keyword"), (SEMANTIC, "vector")
        filters = keeps if own.filters else (None, None)
        branches = [
            Branch(name=name, search=assembly.search(retriever), filter=keep)
            for (name, retriever), keep, weight in zip(two, filters, own.static, strict=True)
            if weight
        ]
        branches += [
            Branch(name=name, search=assembly.search(name), weight=weight)
            for name, weight in own.agents_weighed
        ]
        return cls(
            weighing=Weighing(analyser=assembly.complexity, settings=own),
            branches=branches,
            supervisor=Supervisor(own.retries, own.relax),
            comparer=Comparer(),
            reorderer=assembly.reorderer if own.reorder else None,
            reader=assembly.reader if own.read else NullReader(),
            finalizer=assembly.finalizer(cls.name),
            candidates=own.candidates,
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
        begins = [branch.begins for branch in self.branches]
        for branch in self.branches:
            figure.add_node(branch.begins, partial(self.search, branch))
            figure.add_node(branch.ends, partial(self.filter, branch))
            figure.add_edge(branch.begins, branch.ends)
            figure.add_edge(branch.ends, "supervise")
        figure.add_edge(START, "analyse")
        figure.add_conditional_edges("analyse", self.begins, begins)
        figure.add_conditional_edges("supervise", self.goes_on, [*begins, "compare"])
        for one, other in _LAST_EDGES:
            figure.add_edge(one, other)
        return figure

    async def analyse(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        own = {branch.name: branch.weight for branch in self.branches}
        weighed = await self.weighing(state.query.text, runtime.context)
        return replace(state, weights={name: weighed.get(name, own[name]) for name in own})

    async def begins(self, state: HybridState) -> list[str]:
        """The branches with a weight."""
        return [branch.begins for branch in self.branches if state.weights[branch.name]]

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
        strictness = self.supervisor.relax**state.rounds
        keep = partial(branch.filter.keep, state.query.text, found, strictness=strictness)
        done = await attempt(name, lambda context: keep(context=context), runtime.context)
        told = done.message(strictness=strictness)
        return {"messages": {name: replace(told, hits=found) if done.failed else told}}

    async def supervise(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        asked = [branch.name for branch in self._asked(state)]
        idle = [branch.name for branch in self.branches if branch.name not in asked]
        verdict = self.supervisor([_report(name, state) for name in asked], idle, state.rounds)
        weights = {**state.weights, **verdict.weights}
        with runtime.context.step("supervise", agent="supervisor") as here:
            here.done(outputs={"orders": verdict.orders, "weights": weights}, reason=verdict.reason)
        return replace(state, rounds=state.rounds + 1, orders=verdict.orders, weights=weights)

    async def goes_on(self, state: HybridState) -> list[str]:
        """The branches that were sent out; without any, the comparison."""
        sent = [branch.begins for branch in self.branches if branch.name in state.orders]
        return sent or ["compare"]

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
        weight=state.weights[branch],
        failed=searched.failed,
        final=searched.final,
        hit_count=len(searched.hits),
        kept_count=len(kept.hits),
    )
