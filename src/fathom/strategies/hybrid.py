"""The strategy `hybrid`: parallel retrieval branches, compared, supervised and reordered.

It implements the agentic-hybrid paper. The agents are in `agents` (complexity, filters, comparer,
reorderer), the supervisor's rules in `control.supervisor`, their messages in `bus`.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.comparer import Comparer
from fathom.agents.complexity import Complexity, ComplexityAnalyser
from fathom.agents.finalizer import Finalizer
from fathom.agents.keyword_filter import HitFilter, KeywordFilter
from fathom.agents.reader.base import NullReader, Reader
from fathom.agents.reorderer import Reorderer, put_best_at_ends
from fathom.agents.semantic_filter import SemanticFilter
from fathom.control.supervisor import BranchReport, Order, Supervisor
from fathom.question.question import Question
from fathom.registry import READER, REORDERER
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.hybrid import FIXED_WEIGHTS, HybridSettings
from fathom.strategies.base import GraphStrategy, StrategyState
from fathom.strategies.bus import (
    AgentMessage,
    AgentMessages,
    attempt_work,
    check_messages,
    measure_confidence,
    merge_messages,
)
from fathom.types import Filter, Hit

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly

KEYWORD, SEMANTIC = "keyword", "semantic"
BranchWeights = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class HybridState(StrategyState):
    """The state of a question so far.

    Attributes:
        weights: The weight of each branch after the supervisor's last decision.
        messages: The last message of each agent, by name: `analyse`, `search BRANCH`, `filter
            BRANCH`.
        rounds: The number of decisions of the supervisor so far.
        orders: The branches that run again, each with its order: to search or to filter.
        refiltered: The number of orders to filter again so far, by branch;
            each makes its filter laxer.
        doubted: The branches whose weight was reduced for low confidence.
        hits: The fused hits, best first.
    """

    weights: BranchWeights = field(default_factory=dict)
    messages: Annotated[AgentMessages, merge_messages] = field(default_factory=dict)
    rounds: int = 0
    orders: Mapping[str, Order] = field(default_factory=dict)
    refiltered: Mapping[str, int] = field(default_factory=dict)
    doubted: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A retrieval agent with its filter; settings may add branches to the paper's two.

    Attributes:
        filter: The filter of its hits; `None` keeps every hit.
        weight: The weight of a branch other than the paper's two, whose weights the analyser
            chooses. A branch of weight 0 waits until another branch finds nothing.
    """

    name: str
    search: Search
    filter: HitFilter | None = None
    weight: float = 0.5

    @property
    def search_node(self) -> str:
        """The node of the search; LangGraph does not allow colons in its name."""
        return f"search_{re.sub(r'[^0-9A-Za-z]', '_', self.name)}"

    @property
    def filter_node(self) -> str:
        """The node of the filter."""
        return self.search_node.replace("search", "filter", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchWeighing:
    """The choice of the weights of the paper's two branches, by `HybridSettings.weights`."""

    analyser: ComplexityAnalyser
    settings: HybridSettings

    async def analyse(self, question: Question, context: RunContext) -> AgentMessage:
        """Return the analyser's message about a question."""
        outcome = await attempt_work("analyse", partial(self.analyser.analyse, question), context)
        return AgentMessage(complexity=outcome.value, failed=outcome.failed, final=outcome.final)

    def choose_weights(self, question: Question, complexity: Complexity | None) -> BranchWeights:
        """Return the weights by branch; the paper's prior if the analyser failed."""
        return dict(zip((KEYWORD, SEMANTIC), self._choose_pair(question, complexity), strict=True))

    def _choose_pair(
        self, question: Question, complexity: Complexity | None
    ) -> tuple[float, float]:
        """Return the weights of the keyword branch and of the semantic branch."""
        if self.settings.weights in FIXED_WEIGHTS:
            return FIXED_WEIGHTS[self.settings.weights]
        # The embedder was not made for Indonesian, however complex the question is. Learned weights
        # already take the language into account.
        is_foreign = self.settings.weights == "complexity" and question.language == "id"
        if is_foreign and self.settings.foreign:
            return self.settings.foreign
        return complexity.weights if complexity else self.settings.prior


@dataclass(frozen=True, kw_only=True)
class Hybrid(GraphStrategy):
    """Multi-agent hybrid retrieval (agentic-hybrid, figure 1, steps 1 to 8).

    Attributes:
        branches: The branches, which run in parallel; those of weight 0 wait.
        reorderer: The reorderer; `None` keeps the order of the comparison.
        extract_terms: A function that returns the content words of a text, for the confidence of
            the branches.
        candidates: The number of hits that each branch retrieves.
        k: The number of hits to read.
        positions: The order of the hits to read: `rank` for best first, `ends` for best at both
            ends.
    """

    weighing: BranchWeighing
    branches: Sequence[Branch]
    supervisor: Supervisor
    comparer: Comparer
    reorderer: Reorderer | None
    reader: Reader
    finalizer: Finalizer
    extract_terms: Callable[[str], frozenset[str]]
    candidates: int
    k: int
    positions: Literal["rank", "ends"]
    name: ClassVar[str] = "hybrid"

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly."""
        settings = assembly.settings.get_section(HybridSettings)
        both = (KeywordFilter.of(assembly), SemanticFilter.of(assembly))
        pairs = (KEYWORD, "keyword"), (SEMANTIC, "vector")
        filters = both if settings.filters else (None, None)
        branches = [
            Branch(name=name, search=assembly.search(retriever), filter=hit_filter)
            for (name, retriever), hit_filter, weight in zip(
                pairs, filters, settings.fixed_weights, strict=True
            )
            if weight
        ]
        branches += [
            Branch(name=name, search=assembly.search(name), weight=weight)
            for name, weight in settings.weighted_agents
        ]
        return cls(
            weighing=BranchWeighing(analyser=ComplexityAnalyser.of(assembly), settings=settings),
            branches=branches,
            supervisor=Supervisor(settings.retries, settings.relax, settings.low_confidence),
            comparer=Comparer(),
            reorderer=assembly.agent(REORDERER) if settings.reorder else None,
            reader=assembly.agent(READER) if settings.read else NullReader(),
            finalizer=assembly.finalizer(cls.name),
            extract_terms=assembly.terms,
            candidates=settings.candidates,
            k=settings.k,
            positions=settings.positions,
        )

    def start(self, question: Question, filters: tuple[Filter, ...]) -> HybridState:
        """Return the state in which the graph begins."""
        return HybridState(question=question, filters=filters)

    def graph(self) -> StateGraph[HybridState, RunContext, HybridState, HybridState]:
        """Build the graph."""
        builder = StateGraph(HybridState, context_schema=RunContext)
        for node in (self.analyse, self.supervise, self.compare, self.reorder, self.read):
            builder.add_node(node.__name__, node)
        builder.add_node("finalize", self.finalize)
        search_nodes = [branch.search_node for branch in self.branches]
        for branch in self.branches:
            builder.add_node(branch.search_node, partial(self.search, branch))
            builder.add_node(branch.filter_node, partial(self.filter, branch))
            builder.add_edge(branch.search_node, branch.filter_node)
            builder.add_edge(branch.filter_node, "supervise")
        builder.add_edge(START, "analyse")
        builder.add_conditional_edges("analyse", self.choose_branches, search_nodes)
        builder.add_conditional_edges(
            "supervise", self.choose_next_nodes, [*search_nodes, "compare"]
        )
        for source, target in _LAST_EDGES:
            builder.add_edge(source, target)
        return builder

    async def analyse(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        """Rate the question's complexity and choose the weights of the branches."""
        message = await self.weighing.analyse(state.question, runtime.context)
        default_weights = {branch.name: branch.weight for branch in self.branches}
        weights = self.weighing.choose_weights(state.question, message.complexity)
        return replace(
            state,
            weights={name: weights.get(name, default_weights[name]) for name in default_weights},
            messages={"analyse": message},
        )

    async def choose_branches(self, state: HybridState) -> list[str]:
        """Return the search nodes of the branches with a weight above 0."""
        return [branch.search_node for branch in self.branches if state.weights[branch.name]]

    async def search(
        self, branch: Branch, state: HybridState, runtime: Runtime[RunContext]
    ) -> dict[str, AgentMessages]:
        """Search with one branch."""
        if state.orders.get(branch.name) == "filter":
            # The filter runs again on the old hits, which are still in the messages.
            return {}
        ask = partial(branch.search, state.query, k=self.candidates)
        name = f"search {branch.name}"
        outcome = await attempt_work(name, lambda context: ask(context=context), runtime.context)
        return {"messages": {name: outcome.to_message()}}

    async def filter(
        self, branch: Branch, state: HybridState, runtime: Runtime[RunContext]
    ) -> dict[str, AgentMessages]:
        """Filter the hits of one branch; all of them stay if the filter fails."""
        message = await self._filter_hits(branch, state, runtime.context)
        confidence = measure_confidence(state.question, message.hits, self.extract_terms)
        message = replace(message, confidence=confidence)
        return {"messages": {f"filter {branch.name}": message}}

    async def _filter_hits(
        self, branch: Branch, state: HybridState, context: RunContext
    ) -> AgentMessage:
        """Return the message of a branch's filter."""
        hits = state.messages[f"search {branch.name}"].hits
        if branch.filter is None or not hits:
            return AgentMessage(hits=hits)
        complexity = state.messages["analyse"].complexity
        strictness = self.supervisor.relax ** state.refiltered.get(branch.name, 0)
        filter_hits = partial(
            branch.filter.keep,
            state.question,
            hits,
            strictness=strictness,
            entities=complexity.entities if complexity else (),
        )
        outcome = await attempt_work(
            f"filter {branch.name}", lambda context: filter_hits(context=context), context
        )
        message = outcome.to_message(strictness=strictness)
        return replace(message, hits=hits) if outcome.failed else message

    async def supervise(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        """Decide which branches run again, and the weight of each branch."""
        sent = [branch.name for branch in self._list_sent_branches(state)]
        idle = [branch.name for branch in self.branches if branch.name not in sent]
        verdict = self.supervisor([_build_report(name, state) for name in sent], idle, state.rounds)
        weights = {**state.weights, **verdict.weights}
        messages = {name: message.describe() for name, message in state.messages.items()}
        with runtime.context.step(
            "supervise", agent="supervisor", inputs={"messages": messages}
        ) as step:
            step.set_outcome(
                outputs={"orders": verdict.orders, "weights": weights}, reason=verdict.reason
            )
        again = [name for name, order in verdict.orders.items() if order == "filter"]
        return replace(
            state,
            rounds=state.rounds + 1,
            orders=verdict.orders,
            refiltered=Counter(state.refiltered) + Counter(again),
            weights=weights,
            doubted=(*state.doubted, *verdict.doubted),
        )

    async def choose_next_nodes(self, state: HybridState) -> list[str]:
        """Return the search nodes of the branches that run again; `compare` without any."""
        sent = [branch.search_node for branch in self.branches if branch.name in state.orders]
        return sent or ["compare"]

    async def compare(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        """Fuse the hits of all branches that ran, by their weights."""
        sent = self._list_sent_branches(state)
        check_messages({branch.name: state.messages[f"search {branch.name}"] for branch in sent})
        lists = {branch.name: state.messages[f"filter {branch.name}"].hits for branch in sent}
        hits = await self.comparer.compare(lists, state.weights, runtime.context)
        return replace(state, hits=hits)

    async def reorder(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        """Reorder the best hits, and arrange them for reading."""
        hits = await self._reorder_hits(state, runtime.context)
        return replace(state, hits=put_best_at_ends(hits) if self.positions == "ends" else hits)

    async def read(self, state: HybridState, runtime: Runtime[RunContext]) -> HybridState:
        """Read the hits into a draft."""
        draft = await self.reader.read(state.question, state.hits, runtime.context)
        return replace(state, draft=draft)

    async def _reorder_hits(self, state: HybridState, context: RunContext) -> tuple[Hit, ...]:
        """Return the best hits as the reorderer ranks them; in the old order if it fails."""
        best = state.hits[: self.k]
        if self.reorderer is None or len(state.hits) < 2:
            return best
        reorder = partial(self.reorderer, state.question, state.hits, keep=self.k)
        # If the reorderer fails, only the new order is lost, not the answer.
        outcome = await attempt_work("reorder", lambda context: reorder(context=context), context)
        return best if outcome.value is None else outcome.value

    def _list_sent_branches(self, state: HybridState) -> list[Branch]:
        """Return the branches that have run."""
        return [branch for branch in self.branches if f"search {branch.name}" in state.messages]


_LAST_EDGES = (
    ("compare", "reorder"),
    ("reorder", "read"),
    ("read", "finalize"),
    ("finalize", END),
)


def _build_report(branch: str, state: HybridState) -> BranchReport:
    """Return the report of a branch for the supervisor."""
    search, filtered = state.messages[f"search {branch}"], state.messages[f"filter {branch}"]
    return BranchReport(
        name=branch,
        weight=state.weights[branch],
        failed=search.failed,
        final=search.final,
        hit_count=len(search.hits),
        kept_count=len(filtered.hits),
        confidence=filtered.confidence,
        doubted=branch in state.doubted,
    )
