"""The strategy `maf`: vector search, enhanced search, debate and web, until one is confident.

It implements MAF-RAG. `control.cascade` decides after each phase whether to accept or escalate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import override

from fathom.agents.classifier import Classifier
from fathom.agents.debate.aggregator import keep_readings
from fathom.agents.debate.debate import Debate
from fathom.agents.finalizer import Finalizer
from fathom.agents.reader.base import Reader
from fathom.agents.reader.voices import drop_stuffed
from fathom.agents.web.search import WebSearch
from fathom.control.cascade import Cascade, CascadeVerdict
from fathom.domains.domain import ClassRetrieval
from fathom.question.question import Question
from fathom.registry import READER
from fathom.retrieval.context_selection import is_list
from fathom.retrieval.expansion import EnhancedScore, expand_query
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings.maf import MafSettings, Phase
from fathom.strategies.base import GraphStrategy, StrategyState
from fathom.types import AbstentionReason, Answer, Draft, Filter, Hit, Query

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly

NOT_ACCEPTED = ", not accepted"
"""The suffix of the phase's name if no phase was accepted and the surest draft is used."""


@dataclass(frozen=True, kw_only=True)
class MafState(StrategyState):
    """The state of a question so far.

    Attributes:
        cascade: The cascade with the thresholds of the question's class.
        retrieval: The retrieval options of the question's class.
        hits: The hits of the last search that found any, best first.
        draft: The draft with the highest confidence so far.
        phase: The phase that produced `draft`.
        conflict: Whether the documents of the hits give different answers, if that was checked.
        verdict: The cascade's verdict on the last phase.
    """

    cascade: Cascade
    retrieval: ClassRetrieval = field(default_factory=ClassRetrieval)
    hits: tuple[Hit, ...] = ()
    phase: Phase = "vor"
    conflict: bool = False
    verdict: CascadeVerdict | None = None


@dataclass(frozen=True, kw_only=True)
class Maf(GraphStrategy):
    """Multi-agent fallback (MAF-RAG, figure 2, Table I and algorithm 1).

    Attributes:
        search: The vector search.
        foreign: The search for questions in a language that the embedder was not made for.
        class_searches: The searches of question classes that name a retriever, by its name.
        web: The web search; `None` if none is configured.
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
    class_searches: Mapping[str, Search] = field(default_factory=dict)
    name: ClassVar[str] = "maf"

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly."""
        settings = assembly.settings.get_section(MafSettings)
        classifier = Classifier.of(assembly)
        retrievers = {entry.retrieval.retriever for entry in classifier.domain.classes} - {""}
        return cls(
            classifier=classifier,
            search=assembly.search("vector"),
            foreign=assembly.search(settings.foreign_retriever),
            enhanced=EnhancedScore(
                extract_terms=assembly.terms, weight=settings.evr_weight, floor=settings.evr_floor
            ),
            reader=assembly.agent(READER),
            debate=Debate.of(assembly),
            web=assembly.web,
            finalizer=assembly.finalizer(cls.name),
            cascade=Cascade.from_settings(settings, web=assembly.web is not None),
            settings=settings,
            class_searches={name: assembly.search(name) for name in sorted(retrievers)},
        )

    def start(self, question: Question, filters: tuple[Filter, ...]) -> MafState:
        """Return the state in which the graph begins."""
        return MafState(question=question, filters=filters, cascade=self.cascade)

    def graph(self) -> StateGraph[MafState, RunContext, MafState, MafState]:
        """Build the graph; every edge leads to a later phase or to the end."""
        builder = StateGraph(MafState, context_schema=RunContext)
        builder.add_node("classify", self.classify)
        builder.add_edge(START, "classify")
        builder.add_edge("classify", self.cascade.phases[0])
        for phase in self.cascade.phases:
            builder.add_node(phase, getattr(self, f"run_{phase}"))
            builder.add_conditional_edges(
                phase, self.choose_next_phase, [*self.cascade.list_next_phases(phase), "finalize"]
            )
        builder.add_node("finalize", self.finalize)
        builder.add_edge("finalize", END)
        return builder

    async def choose_next_phase(self, state: MafState) -> str:
        """Return the next phase by the cascade's verdict, or "finalize"."""
        return (state.verdict and state.verdict.to) or "finalize"

    async def classify(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        """Classify the question, and set the thresholds and retrieval options of its class."""
        question_class = await self.classifier.classify(state.question, runtime.context)
        return replace(
            state,
            cascade=state.cascade.override_thresholds(question_class.thresholds),
            retrieval=question_class.retrieval,
        )

    async def run_vor(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        """Run the phase VOR: vector search, then reading."""
        with runtime.context.step("vor", agent="maf") as step:
            numbers = self._choose_numbers(state)
            hits = await self._search(state.query, state, numbers.vor_k, step)
            return await self._read(state, "vor", hits, numbers.vor_read, step)

    async def run_evr(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        """Run the phase EVR: search with synonyms, score the hits again, then read the best."""
        with runtime.context.step("evr", agent="maf") as step:
            text = expand_query(state.question.text, self.classifier.domain.synonyms)
            query = replace(state.query, text=text)
            numbers = self._choose_numbers(state)
            candidates = await self._search(query, state, numbers.evr_k, step)
            hits = self.enhanced(text, candidates)
            return await self._read(state, "evr", hits, numbers.evr_read, step)

    async def run_debate(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        """Run the debate, with one agent for each document."""
        with runtime.context.step("debate phase", agent="maf") as step:
            hits = select_best_per_document(
                drop_stuffed(state.question, state.hits), self.settings.agents
            )
            outcome = await self.debate.hold(state.question, hits, step)
            draft = keep_readings(state.question, outcome.draft, state.draft)
            confidence = outcome.share
            if self.settings.confidence == "reader":
                draft = replace(draft, confidence=outcome.confidence)
                confidence = outcome.verdict
            # After a debate, the earlier draft of one side must not win by its confidence.
            if state.conflict and draft.evidence:
                state = replace(state, draft=Draft())
            return self._apply_verdict(state, "debate", draft, confidence, step)

    async def run_web(self, state: MafState, runtime: Runtime[RunContext]) -> MafState:
        """Run the web phase: search the web and read its hits."""
        with runtime.context.step("web phase", agent="maf") as step:
            hits = await self.web(state.question, step) if self.web else ()
            draft = await self.reader.read(state.question, hits, step)
            return self._apply_verdict(state, "web", draft, draft.confidence, step)

    @override
    async def finish(self, state: MafState, context: RunContext) -> Answer:
        """Answer from the draft; one that the cascade accepted has no second threshold."""
        verdict, finalizer, phase = state.verdict, self.finalizer, str(state.phase)
        withheld: AbstentionReason | None = None
        if verdict and verdict.action == "accept":
            # The cascade has decided; the finalizer's threshold could withhold what it accepted.
            finalizer = replace(finalizer, min_confidence=0.0)
            phase += ", low confidence" if verdict.low_confidence else ""
        else:
            phase += NOT_ACCEPTED
            if state.conflict and state.draft.confidence < finalizer.min_confidence:
                withheld = "conflict"
        return await finalizer(
            state.question,
            state.draft,
            phase=phase,
            context=context,
            hits=state.hits,
            withheld=withheld,
        )

    def _choose_numbers(self, state: MafState) -> MafSettings:
        """Return the settings with the numbers of hits of the question's class filled in."""
        return self.settings.model_copy(update=state.retrieval.get_numbers())

    async def _search(
        self, query: Query, state: MafState, k: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """Search with the retriever for the class and language of the question.

        The class's filters apply unless no document meets them.
        """
        search = self._choose_search(Question(query.text), state.retrieval)
        if state.retrieval.filters:
            narrow = replace(query, filters=(*query.filters, *state.retrieval.filters))
            if hits := await search(narrow, k=k, context=context):
                return hits
        return await search(query, k=k, context=context)

    def _choose_search(self, question: Question, retrieval: ClassRetrieval) -> Search:
        """Return the search for a question; a class's own only if scores need not be cosines."""
        usual = self.foreign if question.language == "id" else self.search
        if self.settings.confidence == "top1":
            return usual
        return self.class_searches.get(retrieval.retriever, usual)

    async def _read(
        self, state: MafState, phase: Phase, hits: tuple[Hit, ...], most: int, context: RunContext
    ) -> MafState:
        """Read the best hits, check for a conflict if needed, and apply the cascade's verdict."""
        best = reserve_lists(hits, most, state.retrieval.lists)
        draft = await self.reader.read(state.question, best, context)
        confidence = draft.confidence
        if self.settings.confidence == "top1":
            # The paper's confidence: the similarity of the best hit.
            confidence = max(0.0, min(1.0, hits[0].score)) if hits else 0.0
        state = replace(state, hits=hits or state.hits)
        if state.cascade.looks_for_conflict(phase):
            agents = select_best_per_document(
                drop_stuffed(state.question, state.hits), self.settings.agents
            )
            conflict = await self.debate.answers_differ(state.question, agents, context)
            state = replace(state, conflict=conflict)
        return self._apply_verdict(state, phase, draft, confidence, context)

    def _apply_verdict(
        self, state: MafState, phase: Phase, draft: Draft, confidence: float, context: RunContext
    ) -> MafState:
        """Return the state with the cascade's verdict on a phase.

        The draft with the highest confidence stays, unless the new one is accepted.
        """
        is_by_hits = phase in {"vor", "evr"} and self.settings.confidence == "top1"
        is_unknown = is_by_hits and draft.confidence < self.settings.known_from
        verdict = state.cascade.decide(
            phase,
            confidence,
            has_answer=bool(draft.evidence) and not is_unknown,
            conflict=state.conflict,
        )
        context.set_outcome(
            outputs={"confidence": confidence, "to": verdict.to},
            verdict=verdict.action,
            reason=verdict.reason,
        )
        state = replace(state, verdict=verdict)
        if verdict.action == "accept" or draft.confidence > state.draft.confidence:
            return replace(state, draft=draft, phase=phase)
        return state


def reserve_lists(hits: Sequence[Hit], most: int, places: int) -> tuple[Hit, ...]:
    """Return the hits to read, best first, with room reserved for chunks with lists.

    Args:
        hits: The hits, best first.
        most: The number of hits to read.
        places: The number of them that is reserved for chunks with lists.
    """
    lists = [hit for hit in hits if is_list(hit.chunk.text)][: min(places, most)]
    others = [hit for hit in hits if hit not in lists][: most - len(lists)]
    return tuple(sorted((*lists, *others), key=lambda hit: hit.rank))


def select_best_per_document(hits: Sequence[Hit], agents: int) -> tuple[Hit, ...]:
    """Return the best hit of each of the first `agents` documents."""
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.chunk.document_id, hit)
    return tuple(best.values())[:agents]
