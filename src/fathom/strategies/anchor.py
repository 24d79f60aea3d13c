"""Anchors, context selection and the budget-aware uncertainty gate."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.editor import Editor, is_better, within
from fathom.agents.finalizer import Finalizer
from fathom.agents.hyde import Hypothesis
from fathom.agents.judge import Judge
from fathom.agents.reader.base import Reader
from fathom.agents.short_answer import shortened
from fathom.assembly import Assembly
from fathom.control.gate import GateProgress, GateVerdict, Signals, Thresholds, decide, wants_judge
from fathom.question.anchors import Anchor, anchors, missing
from fathom.question.form import form_of
from fathom.question.requirements import Requirements
from fathom.retrieval.context_selection import ContextSelector
from fathom.retrieval.fusion import WeightedSum, fuse_hits
from fathom.retrieval.multihop import MultiHop
from fathom.retrieval.rerank import Reranker
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.anchor import AnchorSettings
from fathom.strategies.base import GraphStrategy
from fathom.strategies.signals import RoundEvidence, TokenAllowance, judged, signals_of
from fathom.types import Answer, Draft, Hit, Query


@dataclass(frozen=True, kw_only=True)
class AnchorState:
    """What is known of a question so far.

    Attributes:
        pool: The rough ranking.
        hits: What is read of it.
        known: Ids of the chunks that earlier rounds read.
        signals: Of the draft.
        verdict: Of the gate about the draft.
        judged: The draft that the judge was last asked about.
    """

    query: Query
    anchors: tuple[Anchor, ...] = ()
    pool: tuple[Hit, ...] = ()
    hits: tuple[Hit, ...] = ()
    known: frozenset[str] = frozenset()
    draft: Draft = field(default_factory=Draft)
    judged: Draft | None = None
    signals: Signals | None = None
    progress: GateProgress = field(default_factory=GateProgress)
    verdict: GateVerdict | None = None
    answer: Answer | None = None

    @property
    def again(self) -> bool:
        """Whether a round after the first is going on."""
        return self.progress.round > 1 or self.progress.retried


@dataclass(frozen=True, kw_only=True)
class AnchorGate(GraphStrategy):
    """The study's agent with its configurations A, B and C.

    Attributes:
        multihop: Anchors' workers, and one for the whole question.
        search: For later rounds.
        reranker: Config C; `None` otherwise.
        context_selector: From the pool to what is read.
        hypothesis: What config B searches for in its second round.
    """

    multihop: MultiHop
    search: Search
    reranker: Reranker | None
    context_selector: ContextSelector
    reader: Reader
    hypothesis: Hypothesis
    judge: Judge
    finalizer: Finalizer
    allowance: TokenAllowance
    thresholds: Thresholds
    settings: AnchorSettings
    name: ClassVar[str] = "anchor"

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Made of these parts."""
        own = assembly.settings.anchor
        ask, search = assembly.settings.ask, assembly.search("hybrid")
        allowance = TokenAllowance(
            metered=assembly.models.language_models.of("reader") is not None,
            count=assembly.embedder.count,
            chunks=ask.chunks,
            overhead=own.prompt_tokens + own.answer_tokens,
            ceiling=own.ceiling,
        )
        return cls(
            multihop=assembly.multihop(search),
            search=search,
            reranker=assembly.reranker if own.config == "C" else None,
            context_selector=assembly.context_selector,
            reader=assembly.reader,
            hypothesis=assembly.hypothesis,
            judge=assembly.judge,
            finalizer=assembly.finalizer(cls.name),
            allowance=allowance,
            thresholds=Thresholds.of(own, None if allowance.metered else ask.min_confidence),
            settings=own,
        )

    def start(self, query: Query) -> AnchorState:
        """See `Strategy.start`."""
        return AnchorState(query=query)

    def graph(self) -> StateGraph[AnchorState, RunContext, AnchorState, AnchorState]:
        """See `Strategy.graph`; the gate allows at most `Thresholds.most_decisions` decisions."""
        figure = StateGraph(AnchorState, context_schema=RunContext)
        for node in (self.anchor, self.retrieve, self.rerank, self.select, self.read):
            figure.add_node(node.__name__, node)
        for later in (self.weigh, self.gate, self.retrieve_more, self.reflect, self.finalize):
            figure.add_node(later.__name__, later)
        figure.add_edge(START, "anchor")
        figure.add_edge("anchor", "retrieve")
        figure.add_edge("retrieve", "rerank")
        figure.add_edge("rerank", "select")
        figure.add_edge("select", "read")
        figure.add_edge("read", "weigh")
        figure.add_edge("weigh", "gate")
        figure.add_conditional_edges(
            "gate",
            _decision,
            {
                "RETRIEVE_MORE": "retrieve_more",
                "REFLECT": "reflect",
                "STOP": "finalize",
                "ABSTAIN": "finalize",
            },
        )
        figure.add_edge("retrieve_more", "rerank")
        figure.add_edge("reflect", "weigh")
        figure.add_edge("finalize", END)
        return figure

    async def anchor(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        with runtime.context.step("anchor", agent="anchors") as here:
            found = anchors(state.query.text, most=self.settings.anchors)
            here.done(outputs={"anchors": [[a.kind, a.text, a.score] for a in found]})
        return replace(state, anchors=found)

    async def retrieve(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        own = self.settings
        strong = [each.text for each in state.anchors if each.score >= own.min_score]
        pool = await self.multihop(
            state.query, strong[: own.workers], k=own.pool, context=runtime.context
        )
        return replace(state, pool=pool)

    async def rerank(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        if self.reranker is None:
            return state
        question, keep = state.query.text, self.settings.pool
        pool = await self.reranker(question, state.pool, keep=keep, context=runtime.context)
        return replace(state, pool=pool)

    async def select(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        left = self._left(state, runtime.context) if state.again else self.settings.context
        tokens = int(min(self.settings.context, left))
        form = form_of(state.query.text)
        hits = await self.context_selector(
            state.query.text,
            state.pool,
            listing=form == "several",
            diversity=self.settings.diversity_for(form),
            tokens=tokens,
            context=runtime.context,
        )
        return replace(state, hits=hits)

    async def read(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        new = await self.reader.read(state.query.text, state.hits, runtime.context)
        new = within(new, self.settings.answer_tokens, self.allowance.count)
        bar = self.thresholds.tau_overlap
        better = is_better(new, state.draft, self._required(state), state.hits, bar=bar)
        return replace(state, draft=new if better else state.draft)

    async def weigh(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        seen = self._seen(state, runtime.context)
        signals = signals_of(
            state.query.text, state.draft, seen, like_weight=self.settings.like_weight
        )
        if state.judged == state.draft and state.signals:
            signals = replace(signals, judge=state.signals.judge)
        elif wants_judge(signals, self.thresholds):
            word = await judged(state.query.text, state.draft, self.judge, runtime.context)
            progress = signals.progress.after_judge()
            signals = replace(signals, judge=word, progress=progress)
            state = replace(state, judged=state.draft)
        return replace(state, signals=signals, progress=signals.progress)

    async def gate(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        assert state.signals is not None
        with runtime.context.step("gate", agent="gate") as here:
            verdict = decide(state.signals, self.thresholds)
            told = {
                "support": state.signals.support,
                "coverage": state.signals.coverage,
                "contradicted": state.signals.contradicted,
                "new_hits": state.signals.new_hits,
                "judge": state.signals.judge,
            }
            here.done(outputs=told, verdict=verdict.action, reason=verdict.reason)
        return replace(state, verdict=verdict, progress=state.progress.after(verdict))

    async def retrieve_more(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        known = state.known | {hit.chunk.id for hit in state.hits}
        found = await self._more(state, runtime.context)
        pool = fuse_hits((state.pool, found), (1.0, 1.0), WeightedSum(), self.name)
        return replace(state, pool=pool[: self.settings.pool], known=known)

    async def _more(self, state: AnchorState, context: RunContext) -> tuple[Hit, ...]:
        """Hits of round 1b, all of which hold a missing anchor, or of the second round."""
        question, k = state.query.text, self.settings.pool
        if state.verdict is None or state.verdict.reason != "RETRY_MISSING_ANCHOR":
            text = await self.hypothesis.text(question, state.pool, context)
            return await self.search(replace(state.query, text=text), k=k, context=context)
        lost = self._required(state).lacks(state.draft, state.hits).missing
        text = " ".join([question, *(each.text for each in lost)])
        hits = await self.search(replace(state.query, text=text), k=k, context=context)
        return tuple(hit for hit in hits if len(missing(lost, hit.chunk.context)) < len(lost))

    async def reflect(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        bar = self.thresholds.tau_overlap
        editor = Editor(reader=self.reader, faith=self.settings.faith, bar=bar)
        required = self._required(state)
        draft = await editor(state.query.text, state.draft, required, state.hits, runtime.context)
        return replace(
            state, draft=within(draft, self.settings.answer_tokens, self.allowance.count)
        )

    async def finish(self, state: AnchorState, context: RunContext) -> Answer:
        """See `Strategy.finish`."""
        progress = state.progress
        phase = f"round {progress.round}" + ("b" if progress.retried else "")
        return await self.finalizer(
            state.query.text,
            shortened(state.query.text, state.draft),
            phase=phase,
            context=context,
            hits=state.hits,
            withheld=state.verdict.withheld if state.verdict else None,
        )

    def _required(self, state: AnchorState) -> Requirements:
        least = self.settings.required_score
        return Requirements.of(state.query.text, state.anchors, least=least)

    def _left(self, state: AnchorState, context: RunContext) -> float:
        return self.allowance.left(
            self.allowance.baseline(state.pool), self.allowance.spent(context)
        )

    def _seen(self, state: AnchorState, context: RunContext) -> RoundEvidence:
        baseline, spent = self.allowance.baseline(state.pool), self.allowance.spent(context)
        return RoundEvidence(
            requirements=self._required(state),
            hits=state.hits,
            known=state.known,
            before=state.signals,
            progress=state.progress,
            baseline=baseline,
            spent=spent,
            left=self.allowance.left(baseline, spent),
            context=self.settings.context,
            overhead=self.allowance.overhead,
        )


async def _decision(state: AnchorState) -> str:
    return state.verdict.action if state.verdict else "STOP"
