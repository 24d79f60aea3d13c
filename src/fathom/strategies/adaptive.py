"""The strategy `adaptive`: after a first look, a planner chooses executors one at a time.

An executor searches or reads further (`deeper`, `expand`, `bridge`, `split`, `debate`, `model`).
After each, the gate keeps the better draft and the planner decides whether to go on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import override

from fathom.agents.debate.aggregator import keep_readings
from fathom.agents.debate.debate import Debate
from fathom.agents.finalizer import Finalizer
from fathom.agents.hyde import Hypothesis
from fathom.agents.reader.base import Reader
from fathom.agents.reader.local import LocalReader
from fathom.agents.reader.voices import drop_stuffed
from fathom.control.draft_choice import has_conflict, is_better_draft
from fathom.planner.actions import ACTIONS, END_ACTIONS, Action, list_legal_actions
from fathom.planner.observation import DraftFeatures, Observation
from fathom.planner.policy import Decision, Policy
from fathom.planner.question_features import QuestionFeatures, QuestionObserver
from fathom.question.question import Question
from fathom.question.titles import quote_titles
from fathom.registry import HYDE, READER
from fathom.retrieval.fusion import WeightedSum, fuse_hits
from fathom.retrieval.rerank import Reranker
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.runs.reservation import CostBound
from fathom.settings.adaptive import AdaptiveSettings
from fathom.settings.anchor import AnchorSettings
from fathom.settings.maf import MafSettings
from fathom.settings.mao import MaoSettings
from fathom.strategies.base import GraphStrategy, StrategyState
from fathom.strategies.maf import select_best_per_document
from fathom.strategies.mao import AnchoredSearch
from fathom.strategies.split import Splitter
from fathom.types import Answer, Draft, Filter, Hit

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly

LOOK = "look"
"""The phase of the first look's draft; the phase of any other draft is its executor."""
EXECUTOR_ACTIONS: tuple[Action, ...] = tuple(
    action for action in ACTIONS if action not in END_ACTIONS
)
"""The actions that search or read, each a node of the graph."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveState(StrategyState):
    """The state of a question so far.

    Attributes:
        pool: The hits so far, best first; the first ones are read.
        read: The local reader's last draft.
        read_ids: The ids of the chunks that were read.
        situation: The features of the question and the first look.
        agreement: The share of the first look's hits that more than one retriever found.
        new_hits: The share of the last executor's hits that had not been read before.
        same: Whether the short answer stayed the same after the last executor.
        draft: The best supported draft so far.
        phase: The phase that produced `draft`.
        drafts: The features of the best draft after the first look and after each executor.
        new: The last executor's draft, for the gate; `None` if it had nothing to do.
        settles: Whether `new` replaces the draft in any case (`is_better_draft`).
        last: The last question of a followed chain with its hits; `None` without a chain.
        tried: The executors that have run, in order.
        decision: The planner's last decision.
    """

    pool: tuple[Hit, ...] = ()
    read: Draft = field(default_factory=Draft)
    read_ids: frozenset[str] = frozenset()
    situation: QuestionFeatures | None = None
    agreement: float = 0.0
    new_hits: float = 1.0
    same: bool = True
    phase: str = LOOK
    drafts: tuple[DraftFeatures, ...] = ()
    new: Draft | None = None
    settles: bool = False
    last: tuple[Question, tuple[Hit, ...]] | None = None
    tried: tuple[Action, ...] = ()
    decision: Decision | None = None


@dataclass(frozen=True, kw_only=True)
class Adaptive(GraphStrategy):
    """The strategy: a first look, then planner, executor and gate in turn, then the finalizer.

    Attributes:
        follow_anchors: The multi-hop search over anchors and bridges.
        reader: The reader after every search; local, so that only the executor `model` asks a
            language model.
        model_reader: The reader with a language model; `None` if none is configured.
        select_hits: The function that selects the hits of a pool to read.
        pool: The number of hits of a search.
        agents: The largest number of documents in a debate, each with an agent.
        bounds: The largest cost of each executor; one without an entry costs only time.
        most: The largest number of executors for a question.
        least_reply: The confidence below which a model's answer does not replace a surer draft; 0
            if the settings forbid the local reader as fallback.
    """

    search: Search
    follow_anchors: AnchoredSearch
    observer: QuestionObserver
    policy: Policy
    reader: Reader
    reranker: Reranker
    hypothesis: Hypothesis
    splitter: Splitter
    debates: Debate
    model_reader: Reader | None
    finalizer: Finalizer
    select_hits: Callable[[Sequence[Hit]], tuple[Hit, ...]]
    pool: int
    agents: int
    bounds: Mapping[Action, CostBound]
    most: int
    least_reply: float
    name: ClassVar[str] = "adaptive"

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly."""
        return cls.with_search(
            assembly.search(assembly.settings.get_section(AdaptiveSettings).retriever), assembly
        )

    @classmethod
    def with_search(cls, search: Search, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly with a given search."""
        settings = assembly.settings
        adaptive_settings = settings.get_section(AdaptiveSettings)
        return cls(
            search=search,
            follow_anchors=AnchoredSearch.of(assembly, search),
            observer=QuestionObserver.of(assembly),
            policy=assembly.policy,
            reader=LocalReader.of(assembly),
            reranker=Reranker.of(assembly),
            hypothesis=assembly.agent(HYDE),
            splitter=Splitter.of(assembly, search),
            debates=Debate.of(assembly, adaptive_settings.min_share),
            model_reader=assembly.agent(READER)
            if assembly.models.language_models.get_model("reader")
            else None,
            finalizer=assembly.finalizer(cls.name),
            select_hits=assembly.select_hits,
            pool=max(adaptive_settings.pool, settings.ask.chunks),
            agents=settings.get_section(MafSettings).agents,
            bounds=compute_bounds(assembly),
            most=adaptive_settings.executors,
            least_reply=settings.ask.min_confidence if settings.llm.fallback == "local" else 0.0,
        )

    def start(self, question: Question, filters: tuple[Filter, ...]) -> AdaptiveState:
        """Return the initial state of the graph."""
        return AdaptiveState(question=question, filters=filters)

    def graph(self) -> StateGraph[AdaptiveState, RunContext, AdaptiveState, AdaptiveState]:
        """Build the graph; it ends because no executor runs twice."""
        builder = StateGraph(AdaptiveState, context_schema=RunContext)
        for node in ("look", "plan", *EXECUTOR_ACTIONS, "gate", "finalize"):
            builder.add_node(node, getattr(self, node))
        builder.add_edge(START, "look")
        builder.add_edge("look", "plan")
        builder.add_conditional_edges("plan", _choose_next_node, [*EXECUTOR_ACTIONS, "finalize"])
        for executor in EXECUTOR_ACTIONS:
            builder.add_edge(executor, "gate")
        builder.add_edge("gate", "plan")
        builder.add_edge("finalize", END)
        return builder

    async def look(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Take the first look: search and read the best hits."""
        pool = await self.search(state.query, k=self.pool, context=runtime.context)
        hits = self.select_hits(pool)
        draft = await self.reader.read(state.question, hits, runtime.context)
        return replace(
            state,
            pool=pool,
            read=draft,
            read_ids=_collect_ids(hits),
            situation=self.observer(_quote_titles(state.question, pool), hits, first=True),
            agreement=_compute_agreement(hits),
            draft=draft,
            drafts=(DraftFeatures.from_draft(draft),),
        )

    async def plan(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Let the policy choose the next action within the budget."""
        observation = self.build_observation(state, runtime.context)
        actions = list_legal_actions(
            state.tried, has_model=self.model_reader is not None, most=self.most
        )
        refused = self._find_refusals(actions, runtime.context)
        affordable = tuple(action for action in actions if action not in refused)
        with runtime.context.step("plan", agent="planner", inputs={"legal": affordable}) as step:
            decision = self.policy.choose(observation, actions)
            # The budget changes the decision, so it is noted as a possible stop reason of the
            # answer.
            if decision.action in refused:
                runtime.context.refusals.append(refused[decision.action])
                decision = self.policy.choose(observation, affordable)
            step.set_outcome(
                outputs={"action": decision.action, "probabilities": decision.probabilities},
                verdict=self.policy.name,
                reason=decision.reason,
            )
        return replace(state, decision=decision)

    async def deeper(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Rerank the whole pool with the cross-reader, and read the best hits."""
        question = state.question
        pool = await self.reranker(
            question, state.pool, keep=len(state.pool), context=runtime.context
        )
        return await self._read_pool("deeper", state, pool, runtime.context)

    async def expand(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Search with a hypothetical answer, add the hits to the pool, and read the best."""
        text = await self.hypothesis.write_search_text(state.question, state.pool, runtime.context)
        query = replace(state.query, text=text)
        more = await self.search(query, k=self.pool, context=runtime.context)
        pool = fuse_hits((state.pool, more), (1.0, 1.0), WeightedSum(), self.name)
        return await self._read_pool("expand", state, pool[: self.pool], runtime.context)

    async def bridge(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Follow the anchors of the question, and read the best hits."""
        pool = await self.follow_anchors(
            state.question, state.filters, k=self.pool, context=runtime.context
        )
        return await self._read_pool("bridge", state, pool or state.pool, runtime.context)

    async def split(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Split the question, answer the sub-questions, and draft an answer from their answers."""
        state = replace(state, tried=(*state.tried, "split"), new_hits=0.0)
        question = _quote_titles(state.question, state.pool)
        split_draft = await self.splitter(question, state.filters, runtime.context)
        if split_draft is None or split_draft.compared is False:
            return state
        short_answer = split_draft.draft.short_answer
        is_other = not state.question.answers_match(short_answer, state.draft.short_answer)
        return replace(
            state,
            new=split_draft.draft,
            settles=bool(split_draft.compared and short_answer) and is_other,
            last=(split_draft.last, split_draft.hits) if split_draft.last else None,
        )

    async def debate(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Let one agent per document debate, if the draft has a conflict."""
        state = replace(state, tried=(*state.tried, "debate"), new_hits=0.0)
        # The pool belongs to the whole question; a chain's draft answers its last sub-question.
        if not has_conflict(state.draft) or state.phase == "split":
            return state
        hits = select_best_per_document(drop_stuffed(state.question, state.pool), self.agents)
        outcome = await self.debates.hold(state.question, hits, runtime.context)
        draft = keep_readings(state.question, outcome.draft, state.draft)
        draft = replace(draft, confidence=outcome.confidence)
        return replace(state, new=draft, settles=bool(draft.evidence))

    async def model(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Let the language model read the best hits."""
        assert self.model_reader is not None
        hits = self.select_hits(state.pool)
        draft = await self.model_reader.read(state.question, hits, runtime.context)
        # An equal draft means that the model failed and the local reader answered.
        is_reply = draft != state.read
        # A doubtful reply must not replace a surer answer, such as that of a chain.
        is_doubtful = draft.confidence < min(self.least_reply, state.draft.confidence)
        tried = (*state.tried, "model")
        settles = is_reply and not (draft.evidence and is_doubtful)
        return replace(state, tried=tried, new=draft, new_hits=0.0, settles=settles)

    async def gate(self, state: AdaptiveState, runtime: Runtime[RunContext]) -> AdaptiveState:
        """Keep the better of the new and the old draft."""
        new = state.new
        with runtime.context.step("gate", agent="gate") as step:
            executor = state.tried[-1]
            is_new_better = new is not None and is_better_draft(
                new, state.draft, settles=state.settles
            )
            best = new if new is not None and is_new_better else state.draft
            step.set_outcome(
                outputs={"old": state.draft.confidence, "new": new.confidence if new else None},
                verdict="new" if is_new_better else "old",
                reason="" if new else f"{executor} had nothing to do",
            )
        return replace(
            state,
            draft=best,
            phase=executor if is_new_better else state.phase,
            drafts=(*state.drafts, DraftFeatures.from_draft(best)),
            same=best.short_answer == state.draft.short_answer,
            new=None,
            settles=False,
        )

    @override
    async def finish(self, state: AdaptiveState, context: RunContext) -> Answer:
        """Return the finalizer's answer, withheld if the planner abstained from a sure draft.

        Below `min_confidence` the finalizer decides, even if the planner abstained: the user may
        want every answer, or may have set a largest error rate.
        """
        has_abstained = state.decision is not None and state.decision.action == "abstain"
        is_sure = state.draft.confidence >= self.finalizer.min_confidence
        last = state.last if state.phase == "split" else None
        question, hits = last or (None, self.select_hits(state.pool))
        return await self._make_finalizer(question)(
            state.question,
            state.draft,
            phase=state.phase,
            context=context,
            hits=hits,
            withheld="low_confidence" if has_abstained and is_sure else None,
        )

    def _make_finalizer(self, last: Question | None) -> Finalizer:
        """Return the finalizer, which judges the answer to a chain as one to its last question."""
        signals = self.finalizer.signals
        if last is None or signals is None:
            return self.finalizer
        # The quote of a chain's answer matches its last question, not the words of the whole one.
        return replace(self.finalizer, signals=replace(signals, about=last))

    async def _read_pool(
        self, executor: Action, state: AdaptiveState, pool: tuple[Hit, ...], context: RunContext
    ) -> AdaptiveState:
        """Read the best hits of an executor's pool and return the new state."""
        hits = self.select_hits(pool)
        draft = await self.reader.read(state.question, hits, context)
        fresh = _collect_ids(hits) - state.read_ids
        return replace(
            state,
            pool=pool,
            read=draft,
            read_ids=state.read_ids | fresh,
            new=draft,
            new_hits=round(len(fresh) / len(hits), 6) if hits else 0.0,
            tried=(*state.tried, executor),
        )

    def build_observation(self, state: AdaptiveState, context: RunContext) -> Observation:
        """Return the planner's view of a state; without times, which differ in every run."""
        assert state.situation is not None
        return Observation(
            situation=state.situation,
            drafts=state.drafts,
            tried=state.tried,
            indonesian=state.question.language == "id",
            agreement=state.agreement,
            new_hits=state.new_hits,
            same=state.same,
            left=context.scope.observe(
                "left", "of the budget", lambda: _compute_share_left(context)
            ),
        )

    def _find_refusals(self, actions: Sequence[Action], context: RunContext) -> dict[Action, str]:
        """Return the executors whose largest cost the budget cannot cover now, with reasons."""

        def refusals() -> dict[Action, str]:
            reasons = {
                name: self._find_refusal(name, context)
                for name in actions
                if name not in END_ACTIONS
            }
            return {action: reason for action, reason in reasons.items() if reason}

        return dict(context.scope.observe("refused", actions, refusals))

    def _find_refusal(self, action: Action, context: RunContext) -> str:
        """Return why the ledger cannot reserve an executor's largest cost; empty if it can."""
        try:
            # Released at once: this is only a test, and the executor reserves again when it runs.
            context.ledger.reserve(self.bounds.get(action, CostBound())).release()
        except BudgetRefused as refused:
            return str(refused)
        return ""


def compute_bounds(assembly: "Assembly") -> dict[Action, CostBound]:
    """Return the largest cost of each executor, in retrievals and model calls."""
    settings, models = assembly.settings, assembly.models.language_models
    anchor_settings, sub_questions = (
        settings.get_section(AnchorSettings),
        settings.get_section(MaoSettings).questions,
    )
    searches: dict[Action, int] = {
        "expand": 1,
        "bridge": 1
        + anchor_settings.workers
        + anchor_settings.bridges
        + anchor_settings.second_hop_bridges,
        "split": sub_questions,
    }
    debate_calls = settings.get_section(MafSettings).rounds * (
        settings.get_section(MafSettings).agents * bool(models.get_model("debater")) + 1
    )
    calls: dict[Action, int] = {
        "expand": bool(models.get_model("hyde")),
        "split": bool(models.get_model("decomposer")) + bool(models.get_model("summarizer")),
        "debate": debate_calls
        if models.get_model("debater") or models.get_model("aggregator")
        else 0,
        "model": 1,
    }
    return {
        action: CostBound(retrievals=searches.get(action, 0), calls=calls.get(action, 0))
        for action in EXECUTOR_ACTIONS
    }


async def _choose_next_node(state: AdaptiveState) -> str:
    """Return the node of the chosen action."""
    action = state.decision.action if state.decision else "stop"
    return "finalize" if action in END_ACTIONS else action


def _quote_titles(question: Question, hits: Sequence[Hit]) -> Question:
    """Return the question with quotation marks around titles of hits that it names."""
    return Question(quote_titles(question.text, [hit.chunk.title for hit in hits]))


def _collect_ids(hits: Sequence[Hit]) -> frozenset[str]:
    """Return the ids of the chunks of hits."""
    return frozenset(hit.chunk.id for hit in hits)


def _compute_agreement(hits: Sequence[Hit]) -> float:
    """Return the share of hits that more than one retriever found."""
    return round(sum(hit.found_by > 1 for hit in hits) / len(hits), 6) if hits else 0.0


def _compute_share_left(context: RunContext) -> float:
    """Return the smallest share left of any limit of the budget, in [0, 1]; 1 without limits.

    Time is left out because it differs in every run.
    """
    caps, remaining = context.ledger.budget, context.ledger.get_remaining_budget()
    pairs = [
        (remaining.tokens, caps.tokens),
        (remaining.calls, caps.calls),
        (remaining.retrievals, caps.retrievals),
        (remaining.cost_usd, caps.cost_usd),
    ]
    # A cap of 0 leaves nothing; kinds without a cap do not count.
    shares = [0.0 if not cap else (rest or 0) / cap for rest, cap in pairs if cap is not None]
    return round(min(shares, default=1.0), 6)
