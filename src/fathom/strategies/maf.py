"""A ladder of confidence: vector search, enhanced search, debate, web."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.classifier import Classifier
from fathom.agents.debate.debate import Debate
from fathom.agents.finalizer import Finalizer
from fathom.agents.reader.base import Reader
from fathom.agents.web.search import WebSearch
from fathom.assembly import Assembly
from fathom.control.cascade import Cascade, CascadeVerdict
from fathom.retrieval.expansion import EnhancedScore, expanded
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.maf import MafSettings, Phase
from fathom.strategies.base import GraphStrategy
from fathom.text.language import detect
from fathom.types import AbstentionReason, Answer, Draft, Hit, Query

NOT_ACCEPTED = ", not accepted"
"""Behind the phase of the surest draft, where no rung of the ladder accepted any."""


@dataclass(frozen=True, kw_only=True)
class MafState:
    """What is known of a question so far.

    Attributes:
        cascade: With the thresholds of the question's class.
        hits: Of the last search that found any, best first.
        draft: The surest so far.
        phase: Where it comes from.
        conflict: Whether the documents of the hits give different answers, where that matters.
        verdict: Of the ladder, about the last phase.
    """

    query: Query
    cascade: Cascade
    hits: tuple[Hit, ...] = ()
    draft: Draft = field(default_factory=Draft)
    phase: Phase = "vor"
    conflict: bool = False
    verdict: CascadeVerdict | None = None
    answer: Answer | None = None


@dataclass(frozen=True, kw_only=True)
class Maf(GraphStrategy):
    """Multi-agent fallback (the paper's figure 2, its Table I and algorithm 1).

    Attributes:
        search: Vector search.
        foreign: The search for questions in a language that the embedder was not made for.
        web: `None` where there is none.
    """

    classifier: Classifier
    search: Search
    foreign: Search
    enhanced: EnhancedScore
    reader: Reader
    debate: Debate
    web: WebSearch | None
    finalizer: Finalizer
    cascade: Cascade
    settings: MafSettings
    name: ClassVar[str] = "maf"

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Made of these parts."""
        own = assembly.settings.maf
        return cls(
            classifier=assembly.classifier,
            search=assembly.search("vector"),
            foreign=assembly.search(own.foreign_retriever),
            enhanced=EnhancedScore(
                terms=assembly.terms, weight=own.evr_weight, floor=own.evr_floor
            ),
            reader=assembly.reader,
            debate=assembly.debate,
            web=assembly.web,
            finalizer=assembly.finalizer(cls.name),
            cascade=Cascade.of(own, web=assembly.web is not None),
            settings=own,
        )

    def start(self, query: Query) -> MafState:
        """See `Strategy.start`."""
        return MafState(query=query, cascade=self.cascade)

    def graph(self) -> StateGraph[MafState, RunContext, MafState, MafState]:
        """See `Strategy.graph`; every edge leads up the ladder."""
        figure = StateGraph(MafState, context_schema=RunContext)
        figure.add_node("classify", self.classify)
        figure.add_edge(START, "classify")
        figure.add_edge("classify", self.cascade.phases[0])
        for phase in self.cascade.phases:
            figure.add_node(phase, getattr(self, f"in_{phase}"))
            figure.add_conditional_edges(
                phase, self.climbs, [*self.cascade.leads_to(phase), "finalize"]
            )
        figure.add_node("finalize", self.finalize)
        figure.add_edge("finalize", END)
        return figure

    async def climbs(self, state: MafState) -> str:
        """The phase that the ladder leads to, or the end."""
        return (state.verdict and state.verdict.to) or "finalize"

    async def classify(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        found = await self.classifier.classify(state.query.text, runtime.context)
        return replace(state, cascade=state.cascade.overridden(found.thresholds))

    async def in_vor(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        with runtime.context.step("vor", agent="maf") as here:
            hits = await self._search(state.query, self.settings.vor_k, here)
            return await self._read(state, "vor", hits, self.settings.vor_read, here)

    async def in_evr(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        with runtime.context.step("evr", agent="maf") as here:
            text = expanded(state.query.text, self.classifier.domain.synonyms)
            query = replace(state.query, text=text)
            found = await self._search(query, self.settings.evr_k, here)
            hits = self.enhanced(text, found)
            return await self._read(state, "evr", hits, self.settings.evr_read, here)

    async def in_debate(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        with runtime.context.step("debate phase", agent="maf") as here:
            hits = spoken_for(state.hits, self.settings.agents)
            done = await self.debate.hold(state.query.text, hits, here)
            draft, reached = done.draft, done.share
            if self.settings.confidence == "reader":
                draft, reached = replace(draft, confidence=done.confidence), done.verdict
            if state.conflict and draft.evidence:  # what one of them says is no longer the surest
                state = replace(state, draft=Draft())
            return self._weighed(state, "debate", draft, reached, here)

    async def in_web(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        with runtime.context.step("web phase", agent="maf") as here:
            hits = await self.web(state.query.text, here) if self.web else ()
            draft = await self.reader.read(state.query.text, hits, here)
            return self._weighed(state, "web", draft, draft.confidence, here)

    async def finish(self, state: MafState, context: RunContext) -> Answer:
        """See `Strategy.finish`; what the ladder did not accept the finalizer judges."""
        verdict, finalizer, phase = state.verdict, self.finalizer, str(state.phase)
        withheld: AbstentionReason | None = None
        if verdict and verdict.action == "accept":
            finalizer = replace(finalizer, min_confidence=0.0)
            phase += ", low confidence" if verdict.low_confidence else ""
        else:
            phase += NOT_ACCEPTED
            if state.conflict and state.draft.confidence < finalizer.min_confidence:
                withheld = "conflict"
        return await finalizer(
            state.query.text,
            state.draft,
            phase=phase,
            context=context,
            hits=state.hits,
            withheld=withheld,
        )

    async def _search(self, query: Query, k: int, context: RunContext) -> tuple[Hit, ...]:
        foreign = detect(query.text) not in {"en", "und"}
        return await (self.foreign if foreign else self.search)(query, k=k, context=context)

    async def _read(
        self, state: MafState, phase: Phase, hits: tuple[Hit, ...], most: int, context: RunContext
    ) -> MafState:
        draft = await self.reader.read(state.query.text, hits[:most], context)
        confidence = draft.confidence
        if self.settings.confidence == "top1":
            confidence = max(0.0, min(1.0, hits[0].score)) if hits else 0.0
        state = replace(state, hits=hits or state.hits)
        if state.cascade.looks_for_conflict(phase):
            agents = spoken_for(state.hits, self.settings.agents)
            conflict = await self.debate.differ(state.query.text, agents, context)
            state = replace(state, conflict=conflict)
        return self._weighed(state, phase, draft, confidence, context)

    def _weighed(
        self, state: MafState, phase: Phase, draft: Draft, confidence: float, context: RunContext
    ) -> MafState:
        """The state with the ladder's verdict; the surest draft stays, unless this is accepted."""
        by_hits = phase in {"vor", "evr"} and self.settings.confidence == "top1"
        unknown = by_hits and draft.confidence < self.settings.known_from
        verdict = state.cascade.decide(
            phase,
            confidence,
            known=bool(draft.evidence) and not unknown,
            conflict=state.conflict,
        )
        context.done(
            outputs={"confidence": confidence, "to": verdict.to},
            verdict=verdict.action,
            reason=verdict.reason,
        )
        state = replace(state, verdict=verdict)
        if verdict.action == "accept" or draft.confidence > state.draft.confidence:
            return replace(state, draft=draft, phase=phase)
        return state


def spoken_for(hits: Sequence[Hit], agents: int) -> tuple[Hit, ...]:
    """The best hit of each of the first `agents` documents."""
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.chunk.document_id, hit)
    return tuple(best.values())[:agents]
