"""The strategy `anchor`: anchors, context selection and the budget-aware uncertainty gate.

It implements the study of anchors and BAUG with its configurations A, B and C. `control.gate`
decides, `anchor_signals` measures what it decides from.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import override

from fathom.agents.editor import Editor, is_better, shorten_to_tokens
from fathom.agents.finalizer import Finalizer
from fathom.agents.hyde import Hypothesis
from fathom.agents.judge import Judge
from fathom.agents.reader.base import Reader
from fathom.agents.short_answer import fill_short_answer
from fathom.control.gate import (
    GateProgress,
    GateSignals,
    GateThresholds,
    GateVerdict,
    decide,
    wants_judge,
)
from fathom.question.anchors import Anchor, find_missing
from fathom.question.question import Question
from fathom.question.requirements import Requirements
from fathom.registry import HYDE, JUDGE, READER
from fathom.retrieval.context_selection import ContextSelector
from fathom.retrieval.fusion import WeightedSum, fuse_hits
from fathom.retrieval.multihop import MultiHop
from fathom.retrieval.rerank import Reranker
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.anchor import AnchorSettings
from fathom.strategies.anchor_signals import (
    RoundEvidence,
    TokenAllowance,
    judge_draft,
    measure_signals,
)
from fathom.strategies.base import GraphStrategy, StrategyState
from fathom.types import Answer, Draft, Filter, Hit

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly


@dataclass(frozen=True, kw_only=True)
class AnchorState(StrategyState):
    """The state of a question so far.

    Attributes:
        anchors: The anchors of the question, at most `settings.anchors`.
        pool: The retrieved hits, best first.
        hits: The hits of the pool that are read.
        read_ids: The ids of the chunks that earlier rounds read.
        signals: The signals of the draft.
        verdict: The gate's verdict on the draft.
        judged: The draft that the judge was last asked about.
    """

    anchors: tuple[Anchor, ...] = ()
    pool: tuple[Hit, ...] = ()
    hits: tuple[Hit, ...] = ()
    read_ids: frozenset[str] = frozenset()
    judged: Draft | None = None
    signals: GateSignals | None = None
    progress: GateProgress = field(default_factory=GateProgress)
    verdict: GateVerdict | None = None

    @property
    def is_later_round(self) -> bool:
        """True in round 1b and in any round after the first."""
        return self.progress.round > 1 or self.progress.retried


@dataclass(frozen=True, kw_only=True)
class AnchorGate(GraphStrategy):
    """The strategy of the study with its configurations A, B and C.

    Attributes:
        multihop: The first search: one worker for each anchor and one for the whole question.
        search: The search of later rounds.
        reranker: The reranker of configuration C; `None` otherwise.
        context_selector: The role that selects the hits to read from the pool.
        hypothesis: The role that writes the query of configuration B's second round.
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
    thresholds: GateThresholds
    settings: AnchorSettings
    name: ClassVar[str] = "anchor"

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly."""
        settings = assembly.settings.get_section(AnchorSettings)
        ask, search = assembly.settings.ask, assembly.search("hybrid")
        allowance = TokenAllowance(
            metered=assembly.models.language_models.get_model("reader") is not None,
            count_tokens=assembly.embedder.count,
            chunks=ask.chunks,
            evidence=assembly.settings.llm.evidence_tokens,
            overhead=settings.prompt_tokens + settings.answer_tokens,
            ceiling=settings.ceiling,
        )
        return cls(
            multihop=assembly.multihop(search),
            search=search,
            reranker=Reranker.of(assembly) if settings.config == "C" else None,
            context_selector=assembly.context_selector,
            reader=assembly.agent(READER),
            hypothesis=assembly.agent(HYDE),
            judge=assembly.agent(JUDGE),
            finalizer=assembly.finalizer(cls.name),
            allowance=allowance,
            thresholds=GateThresholds.from_settings(
                settings, None if allowance.metered else ask.min_confidence
            ),
            settings=settings,
        )

    def start(self, question: Question, filters: tuple[Filter, ...]) -> AnchorState:
        """Return the state in which the graph begins."""
        return AnchorState(question=question, filters=filters)

    def graph(self) -> StateGraph[AnchorState, RunContext, AnchorState, AnchorState]:
        """Build the graph; the gate allows at most `GateThresholds.max_decisions` decisions."""
        builder = StateGraph(AnchorState, context_schema=RunContext)
        for node in (self.anchor, self.retrieve, self.rerank, self.select, self.read):
            builder.add_node(node.__name__, node)
        for later in (self.weigh, self.gate, self.retrieve_more, self.reflect, self.finalize):
            builder.add_node(later.__name__, later)
        builder.add_edge(START, "anchor")
        builder.add_edge("anchor", "retrieve")
        builder.add_edge("retrieve", "rerank")
        builder.add_edge("rerank", "select")
        builder.add_edge("select", "read")
        builder.add_edge("read", "weigh")
        builder.add_edge("weigh", "gate")
        builder.add_conditional_edges(
            "gate",
            _choose_next_node,
            {
                "RETRIEVE_MORE": "retrieve_more",
                "REFLECT": "reflect",
                "STOP": "finalize",
                "ABSTAIN": "finalize",
            },
        )
        builder.add_edge("retrieve_more", "rerank")
        builder.add_edge("reflect", "weigh")
        builder.add_edge("finalize", END)
        return builder

    async def anchor(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Find the anchors of the question."""
        with runtime.context.step("anchor", agent="anchors") as step:
            question_anchors = state.question.anchors[: self.settings.anchors]
            step.set_outcome(
                outputs={
                    "anchors": [
                        [anchor.kind, anchor.text, anchor.score] for anchor in question_anchors
                    ]
                }
            )
        return replace(state, anchors=question_anchors)

    async def retrieve(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Retrieve the pool with one worker per strong anchor, and one for the whole question."""
        settings = self.settings
        # Weak anchors hardly narrow a search, so they get no worker.
        strong = [anchor.text for anchor in state.anchors if anchor.score >= settings.min_score]
        pool = await self.multihop(
            state.query, strong[: settings.workers], k=settings.pool, context=runtime.context
        )
        return replace(state, pool=pool)

    async def rerank(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Rerank the pool in configuration C; otherwise leave it."""
        if self.reranker is None:
            return state
        question, keep = state.question, self.settings.pool
        pool = await self.reranker(question, state.pool, keep=keep, context=runtime.context)
        return replace(state, pool=pool)

    async def select(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Select the hits to read from the pool."""
        available = (
            self._count_tokens_left(state, runtime.context)
            if state.is_later_round
            else self.settings.context
        )
        # Later rounds get only the tokens that the allowance still has.
        tokens = int(min(self.settings.context, available))
        hits = await self.context_selector(
            state.question,
            state.pool,
            diversity=self.settings.get_diversity(state.question.form),
            tokens=tokens,
            context=runtime.context,
        )
        return replace(state, hits=hits)

    async def read(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Read the hits and keep the better of the new and the old draft."""
        new = await self.reader.read(state.question, state.hits, runtime.context)
        new = shorten_to_tokens(new, self.settings.answer_tokens, self.allowance.count_tokens)
        bar = self.thresholds.tau_overlap
        is_new_better = is_better(
            new, state.draft, self._build_requirements(state), state.hits, bar=bar
        )
        return replace(state, draft=new if is_new_better else state.draft)

    async def weigh(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Measure the signals of the draft, and ask the judge if the gate needs it."""
        evidence = self._gather_evidence(state, runtime.context)
        signals = measure_signals(
            state.question, state.draft, evidence, like_weight=self.settings.like_weight
        )
        # An unchanged draft keeps its score, so that the judge is not paid twice for it.
        if state.judged == state.draft and state.signals:
            signals = replace(signals, judge=state.signals.judge)
        elif wants_judge(signals, self.thresholds):
            support = await judge_draft(state.question, state.draft, self.judge, runtime.context)
            progress = signals.progress.record_judge_call()
            signals = replace(signals, judge=support, progress=progress)
            state = replace(state, judged=state.draft)
        return replace(state, signals=signals, progress=signals.progress)

    async def gate(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Decide: stop, search again, edit or abstain."""
        assert state.signals is not None
        with runtime.context.step("gate", agent="gate") as step:
            verdict = decide(state.signals, self.thresholds)
            outputs = {
                "support": state.signals.support,
                "coverage": state.signals.coverage,
                "contradicted": state.signals.contradicted,
                "new_hits": state.signals.new_hits,
                "judge": state.signals.judge,
            }
            step.set_outcome(outputs=outputs, verdict=verdict.action, reason=verdict.reason)
        return replace(state, verdict=verdict, progress=state.progress.record_verdict(verdict))

    async def retrieve_more(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Add the hits of another search to the pool."""
        read_ids = state.read_ids | {hit.chunk.id for hit in state.hits}
        more = await self._search_again(state, runtime.context)
        # Old hits stay in the pool, because a round may find less than the one before.
        pool = fuse_hits((state.pool, more), (1.0, 1.0), WeightedSum(), self.name)
        return replace(state, pool=pool[: self.settings.pool], read_ids=read_ids)

    async def _search_again(self, state: AnchorState, context: RunContext) -> tuple[Hit, ...]:
        """Return the hits of round 1b, each with a missing anchor, or of the second round."""
        question, k = state.question, self.settings.pool
        if state.verdict is None or state.verdict.reason != "RETRY_MISSING_ANCHOR":
            text = await self.hypothesis.write_search_text(question, state.pool, context)
            return await self.search(replace(state.query, text=text), k=k, context=context)
        missing_anchors = self._build_requirements(state).find_gap(state.draft, state.hits).missing
        text = " ".join([question.text, *(anchor.text for anchor in missing_anchors)])
        hits = await self.search(replace(state.query, text=text), k=k, context=context)
        return tuple(
            hit
            for hit in hits
            if len(find_missing(missing_anchors, hit.chunk.context)) < len(missing_anchors)
        )

    async def reflect(self, state: AnchorState, runtime: Runtime[RunContext]) -> AnchorState:
        """Let the editor correct the draft once."""
        bar = self.thresholds.tau_overlap
        editor = Editor(reader=self.reader, faith=self.settings.faith, bar=bar)
        required = self._build_requirements(state)
        draft = await editor(state.question, state.draft, required, state.hits, runtime.context)
        return replace(
            state,
            draft=shorten_to_tokens(
                draft, self.settings.answer_tokens, self.allowance.count_tokens
            ),
        )

    @override
    async def finish(self, state: AnchorState, context: RunContext) -> Answer:
        progress = state.progress
        phase = f"round {progress.round}" + ("b" if progress.retried else "")
        return await self.finalizer(
            state.question,
            fill_short_answer(state.question, state.draft),
            phase=phase,
            context=context,
            hits=state.hits,
            withheld=state.verdict.abstention_reason if state.verdict else None,
        )

    def _build_requirements(self, state: AnchorState) -> Requirements:
        """Return the requirements of the question for a draft."""
        least = self.settings.required_score
        return Requirements.of(state.question, state.anchors, least=least)

    def _count_tokens_left(self, state: AnchorState, context: RunContext) -> float:
        """Return the number of tokens that the chunks of one more call may have."""
        return self.allowance.compute_tokens_left(
            self.allowance.estimate_baseline(state.pool), self.allowance.count_spent(context)
        )

    def _gather_evidence(self, state: AnchorState, context: RunContext) -> RoundEvidence:
        """Collect the facts of this round for the signals."""
        baseline, spent = (
            self.allowance.estimate_baseline(state.pool),
            self.allowance.count_spent(context),
        )
        return RoundEvidence(
            requirements=self._build_requirements(state),
            hits=state.hits,
            read_ids=state.read_ids,
            before=state.signals,
            progress=state.progress,
            baseline=baseline,
            spent=spent,
            left=self.allowance.compute_tokens_left(baseline, spent),
            context=self.settings.context,
            overhead=self.allowance.overhead,
        )


async def _choose_next_node(state: AnchorState) -> str:
    """Return the gate's action, by which the graph chooses the next node."""
    return state.verdict.action if state.verdict else "STOP"
