"""A planner chooses, from what a first look came to, what else to do before it answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.debate.debate import Debate
from fathom.agents.finalizer import Finalizer
from fathom.agents.hyde import Hypothesis
from fathom.agents.reader.base import Reader
from fathom.assembly import Assembly
from fathom.control.draft_choice import in_conflict, is_better
from fathom.planner.actions import ACTIONS, ENDING, Action, legal
from fathom.planner.features import DraftFigures, Observation
from fathom.planner.policy import Decision, Policy
from fathom.planner.question_features import Observer, Situation
from fathom.retrieval.fusion import WeightedSum, fuse_hits
from fathom.retrieval.rerank import Reranker
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.runs.reservation import CostBound
from fathom.strategies.base import GraphStrategy
from fathom.strategies.maf import spoken_for
from fathom.strategies.mao import AnchoredSearch
from fathom.strategies.split import Splitter
from fathom.text.answer_match import answers_match
from fathom.text.language import question_language
from fathom.types import Answer, Draft, Hit, Query

LOOK = "look"
"""The phase of a draft of the first look; that of any other is its executor."""
EXECUTORS: tuple[Action, ...] = tuple(action for action in ACTIONS if action not in ENDING)


@dataclass(frozen=True, kw_only=True)
class AdaptiveState:
    """What is known of a question so far.

    Attributes:
        pool: What was found, best first; its beginning is what is read.
        read: What the local reader made of that.
        read_ids: Ids of the chunks that were read.
        situation: The question and the first look, in numbers.
        agreement: See `Observation`, as for the next two.
        new_hits: See above.
        same: See above.
        draft: The best supported so far.
        phase: Where it comes from.
        drafts: What was the best after the first look and after each executor, in numbers.
        new: What the last executor made of it, for the gate; `None` where it had nothing to do.
        settles: Whether that settles what the draft left open; see `is_better`.
        tried: The executors that have worked.
        decision: The planner's last.
    """

    query: Query
    pool: tuple[Hit, ...] = ()
    read: Draft = field(default_factory=Draft)
    read_ids: frozenset[str] = frozenset()
    situation: Situation | None = None
    agreement: float = 0.0
    new_hits: float = 1.0
    same: bool = True
    draft: Draft = field(default_factory=Draft)
    phase: str = LOOK
    drafts: tuple[DraftFigures, ...] = ()
    new: Draft | None = None
    settles: bool = False
    tried: tuple[Action, ...] = ()
    decision: Decision | None = None
    answer: Answer | None = None


@dataclass(frozen=True, kw_only=True)
class Adaptive(GraphStrategy):
    """First look, planner, executors, gate, planner again, finalizer.

    Attributes:
        following: Finds hits over anchors and bridges.
        reader: Reads after every search; local, so that a language model is asked by choice only.
        model_reader: Asks the language model; `None` where none is configured.
        to_read: Those of a pool that are read.
        pool: So many hits a search gives.
        agents: So many documents have an agent in a debate.
        bounds: The most that an executor spends; without one it spends nothing but time.
        most: So many executors work on a question at most.
    """

    search: Search
    following: AnchoredSearch
    observer: Observer
    policy: Policy
    reader: Reader
    reranker: Reranker
    hypothesis: Hypothesis
    splitter: Splitter
    debates: Debate
    model_reader: Reader | None
    finalizer: Finalizer
    to_read: Callable[[Sequence[Hit]], tuple[Hit, ...]]
    pool: int
    agents: int
    bounds: Mapping[Action, CostBound]
    most: int
    name: ClassVar[str] = "adaptive"

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Made of these parts."""
        return cls.over(assembly.search(assembly.settings.adaptive.retriever), assembly)

    @classmethod
    def over(cls, search: Search, assembly: Assembly) -> Self:
        """Made of these parts, but for what searches."""
        settings = assembly.settings
        own = settings.adaptive
        return cls(
            search=search,
            following=AnchoredSearch.of(assembly, search),
            observer=assembly.observer,
            policy=assembly.policy,
            reader=assembly.local_reader,
            reranker=assembly.reranker,
            hypothesis=assembly.hypothesis,
            splitter=Splitter.of(assembly, search),
            debates=assembly.debate_of(own.min_share),
            model_reader=assembly.reader if assembly.models.language_models.of("reader") else None,
            finalizer=assembly.finalizer(cls.name),
            to_read=assembly.to_read,
            pool=max(own.pool, settings.ask.chunks),
            agents=settings.maf.agents,
            bounds=bounds_of(assembly),
            most=own.executors,
        )

    def start(self, query: Query) -> AdaptiveState:
        """See `Strategy.start`."""
        return AdaptiveState(query=query)

    def graph(self) -> StateGraph[AdaptiveState, RunContext, AdaptiveState, AdaptiveState]:
        """See `Strategy.graph`; it ends, as no executor works twice."""
        figure = StateGraph(AdaptiveState, context_schema=RunContext)
        for node in ("look", "plan", *EXECUTORS, "gate", "finalize"):
            figure.add_node(node, getattr(self, node))
        figure.add_edge(START, "look")
        figure.add_edge("look", "plan")
        figure.add_conditional_edges("plan", _chosen, [*EXECUTORS, "finalize"])
        for executor in EXECUTORS:
            figure.add_edge(executor, "gate")
        figure.add_edge("gate", "plan")
        figure.add_edge("finalize", END)
        return figure

    async def look(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        pool = await self.search(state.query, k=self.pool, context=runtime.context)
        hits = self.to_read(pool)
        draft = await self.reader.read(state.query.text, hits, runtime.context)
        return replace(
            state,
            pool=pool,
            read=draft,
            read_ids=_ids(hits),
            situation=self.observer(state.query.text, hits, first=True),
            agreement=_agreement(hits),
            draft=draft,
            drafts=(DraftFigures.of(draft),),
        )

    async def plan(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        seen = self.observation(state, runtime.context)
        open_ = legal(state.tried, has_model=self.model_reader is not None, most=self.most)
        refused = self._refused(open_, runtime.context)
        affordable = tuple(action for action in open_ if action not in refused)
        with runtime.context.step("plan", agent="planner", inputs={"legal": affordable}) as here:
            decision = self.policy.choose(seen, open_)
            if decision.action in refused:  # the budget changes what is done, so it is told
                runtime.context.refusals.append(refused[decision.action])
                decision = self.policy.choose(seen, affordable)
            here.done(
                outputs={"action": decision.action, "probabilities": decision.probabilities},
                verdict=self.policy.name,
                reason=decision.reason,
            )
        return replace(state, decision=decision)

    async def deeper(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        question = state.query.text
        pool = await self.reranker(
            question, state.pool, keep=len(state.pool), context=runtime.context
        )
        return await self._read("deeper", state, pool, runtime.context)

    async def expand(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        text = await self.hypothesis.text(state.query.text, state.pool, runtime.context)
        query = replace(state.query, text=text)
        found = await self.search(query, k=self.pool, context=runtime.context)
        pool = fuse_hits((state.pool, found), (1.0, 1.0), WeightedSum(), self.name)
        return await self._read("expand", state, pool[: self.pool], runtime.context)

    async def bridge(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        pool = await self.following(state.query, k=self.pool, context=runtime.context)
        return await self._read("bridge", state, pool or state.pool, runtime.context)

    async def split(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        state = replace(state, tried=(*state.tried, "split"), new_hits=0.0)
        found = await self.splitter(state.query, runtime.context)
        if found is None or found.compared is False:
            return state
        said = found.draft.short_answer
        other = not answers_match(state.query.text, said, state.draft.short_answer)
        return replace(state, new=found.draft, settles=bool(found.compared and said) and other)

    async def debate(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        state = replace(state, tried=(*state.tried, "debate"), new_hits=0.0)
        if not in_conflict(state.draft):
            return state
        hits = spoken_for(state.pool, self.agents)
        done = await self.debates.hold(state.query.text, hits, runtime.context)
        draft = replace(done.draft, confidence=done.confidence)
        return replace(state, new=draft, settles=bool(draft.evidence))

    async def model(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        assert self.model_reader is not None
        hits = self.to_read(state.pool)
        draft = await self.model_reader.read(state.query.text, hits, runtime.context)
        said = draft != state.read  # else it fell back on the local reader
        tried = (*state.tried, "model")
        return replace(state, tried=tried, new=draft, new_hits=0.0, settles=said)

    async def gate(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        new = state.new
        with runtime.context.step("gate", agent="gate") as here:
            worked = state.tried[-1]
            better = new is not None and is_better(new, state.draft, settles=state.settles)
            kept = new if new is not None and better else state.draft
            here.done(
                outputs={"old": state.draft.confidence, "new": new.confidence if new else None},
                verdict="new" if better else "old",
                reason="" if new else f"{worked} had nothing to do",
            )
        return replace(
            state,
            draft=kept,
            phase=worked if better else state.phase,
            drafts=(*state.drafts, DraftFigures.of(kept)),
            same=kept.short_answer == state.draft.short_answer,
            new=None,
            settles=False,
        )

    async def finish(self, state: AdaptiveState, context: RunContext) -> Answer:
        """See `Strategy.finish`.

        Of a draft that is not sure the planner's word is not the last: where all answers are to be
        given, or a rate of errors is to be kept, the finalizer's is.
        """
        refused = state.decision is not None and state.decision.action == "abstain"
        sure = state.draft.confidence >= self.finalizer.min_confidence
        return await self.finalizer(
            state.query.text,
            state.draft,
            phase=state.phase,
            context=context,
            hits=self.to_read(state.pool),
            withheld="low_confidence" if refused and sure else None,
        )

    async def _read(
        self, executor: Action, state: AdaptiveState, pool: tuple[Hit, ...], context: RunContext
    ) -> AdaptiveState:
        """The state after an executor that ends in reading the best of a pool."""
        hits = self.to_read(pool)
        draft = await self.reader.read(state.query.text, hits, context)
        fresh = _ids(hits) - state.read_ids
        return replace(
            state,
            pool=pool,
            read=draft,
            read_ids=state.read_ids | fresh,
            new=draft,
            new_hits=round(len(fresh) / len(hits), 6) if hits else 0.0,
            tried=(*state.tried, executor),
        )

    def observation(self, state: AdaptiveState, context: RunContext) -> Observation:
        """What the planner is told of a state; time is no part of it, as it differs every time."""
        assert state.situation is not None
        return Observation(
            situation=state.situation,
            drafts=state.drafts,
            tried=state.tried,
            indonesian=question_language(state.query.text) == "id",
            agreement=state.agreement,
            new_hits=state.new_hits,
            same=state.same,
            left=context.scope.observe("left", "of the budget", lambda: _left(context)),
        )

    def _refused(self, open_: Sequence[Action], context: RunContext) -> dict[Action, str]:
        """The executors whose worst case the ledger could not set aside now, and why."""

        def refusals() -> dict[Action, str]:
            found = {each: self._refusal(each, context) for each in open_ if each not in ENDING}
            return {action: why for action, why in found.items() if why}

        return dict(context.scope.observe("refused", open_, refusals))

    def _refusal(self, action: Action, context: RunContext) -> str:
        try:
            context.ledger.reserve(self.bounds.get(action, CostBound())).release()
        except BudgetRefused as refused:
            return str(refused)
        return ""


def bounds_of(assembly: Assembly) -> dict[Action, CostBound]:
    """The most that each executor spends beside time."""
    settings, models = assembly.settings, assembly.models.language_models
    hops, questions = settings.anchor, settings.mao.questions
    searches: dict[Action, int] = {
        "expand": 1,
        "bridge": 1 + hops.workers + hops.bridges + hops.second_hop_bridges,
        "split": questions,
    }
    speaks = settings.maf.rounds * (settings.maf.agents * bool(models.of("debater")) + 1)
    calls: dict[Action, int] = {
        "expand": bool(models.of("hyde")),
        "split": bool(models.of("decomposer")) + bool(models.of("summarizer")),
        "debate": speaks if models.of("debater") or models.of("aggregator") else 0,
        "model": 1,
    }
    return {
        each: CostBound(retrievals=searches.get(each, 0), calls=calls.get(each, 0))
        for each in EXECUTORS
    }


async def _chosen(state: AdaptiveState) -> str:
    action = state.decision.action if state.decision else "stop"
    return "finalize" if action in ENDING else action


def _ids(hits: Sequence[Hit]) -> frozenset[str]:
    return frozenset(hit.chunk.id for hit in hits)


def _agreement(hits: Sequence[Hit]) -> float:
    """Share of hits that more than one retriever found."""
    return round(sum(hit.found_by > 1 for hit in hits) / len(hits), 6) if hits else 0.0


def _left(context: RunContext) -> float:
    """Share of the budget that is left, of the scarcest kind but time; 1 without a cap."""
    caps, left = context.ledger.budget, context.ledger.remaining()
    pairs = [
        (left.tokens, caps.tokens),
        (left.calls, caps.calls),
        (left.retrievals, caps.retrievals),
        (left.cost_usd, caps.cost_usd),
    ]
    shares = [0.0 if not cap else (rest or 0) / cap for rest, cap in pairs if cap is not None]
    return round(min(shares, default=1.0), 6)
