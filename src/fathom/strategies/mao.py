"""The strategy `mao`: a planner composes a workflow of executors for each (sub-)question."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import override

from fathom.agents.decomposer import Decomposer, Manner, fill_slots, find_bridge
from fathom.agents.finalizer import Finalizer
from fathom.agents.reader.base import Reader
from fathom.agents.rewriter import Rewriter
from fathom.agents.selector import Selector
from fathom.agents.summarizer import SubAnswer, Summarizer
from fathom.planner.question_features import QuestionFeatures, QuestionObserver
from fathom.planner.workflows import (
    DEFAULT,
    Executor,
    Planner,
    TriedWorkflow,
    Workflow,
    is_legal_workflow,
    list_legal_workflows,
)
from fathom.question.question import Question
from fathom.registry import DECOMPOSER, PLANNER, READER, REWRITER, SELECTOR, SUMMARIZER
from fathom.retrieval.fusion import ReciprocalRank, fuse_hits
from fathom.retrieval.multihop import MultiHop
from fathom.retrieval.search import Search
from fathom.runs.concurrency import gather_all
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.settings.anchor import AnchorSettings
from fathom.settings.mao import MaoSettings
from fathom.strategies.base import GraphStrategy, StrategyState
from fathom.strategies.bus import attempt_work
from fathom.types import Answer, Draft, Filter, Hit, Query

if TYPE_CHECKING:  # the assembly makes the strategy, and imports every part
    from fathom.assembly import Assembly

NODES: dict[Executor, str] = {
    "QR": "rewrite",
    "QDS": "split_serially",
    "QDP": "split_in_parallel",
    "R": "retrieve",
    "DS": "select",
    "AG": "read",
}
"""The node of each executor."""
_LATER_TURN_BONUS = 0.01
"""The bonus in weight of each later turn, too small to decide more than ties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The state of a turn so far.

    Attributes:
        number: The number of the turn; 0 is the question itself.
        question: The question as it stands now: slots filled, perhaps rewritten.
        look: The hits of the first look; `None` before it.
        look_question: The question of that look.
        coverage: Share of the question's terms that the best hit of the look holds.
        plan: The workflow that was chosen; empty before it.
        todo: The rest of the workflow.
        questions: The sub-questions that QDS or QDP split the question into.
        hits: The hits that R found and DS kept.
        draft: The draft of AG; `None` before it.
    """

    number: int
    question: Question
    look: tuple[Hit, ...] | None = None
    look_question: Question | None = None
    coverage: float = 0.0
    plan: Workflow = ()
    todo: Workflow = ()
    questions: tuple[Question, ...] = ()
    hits: tuple[Hit, ...] = ()
    draft: Draft | None = None

    @property
    def name(self) -> str:
        """The name of the turn's steps."""
        return f"turn {self.number}"

    @property
    def next(self) -> Executor | None:
        """The executor that comes next; `None` after the last."""
        return self.todo[0] if self.todo else None

    @property
    def answer(self) -> str:
        """The answer that later questions get in place of a slot."""
        return find_bridge(self.question, self.draft or Draft(), self.hits)

    @property
    def trial(self) -> TriedWorkflow:
        """The turn as the planner of later turns sees it."""
        draft = self.draft or Draft()
        return TriedWorkflow(
            question=self.question,
            workflow=self.plan,
            answer=draft.short_answer,
            confidence=draft.confidence,
        )

    def with_plan(self, workflow: Workflow, situation: QuestionFeatures) -> "Turn":
        """Return the turn with the workflow chosen in this situation, none of it done yet."""
        return replace(self, coverage=situation.coverage, plan=workflow, todo=workflow)

    @property
    def all_hits(self) -> tuple[Hit, ...]:
        """All hits of the turn, the kept ones first."""
        kept_ids = {hit.chunk.id for hit in self.hits}
        rest = tuple(hit for hit in self.look or () if hit.chunk.id not in kept_ids)
        return (*self.hits, *rest)


@dataclass(frozen=True, kw_only=True)
class MaoState(StrategyState):
    """The state of a question so far.

    Attributes:
        turns: The turns; the first is the question itself, and sub-questions follow in order.
        manner: The manner in which the question was split, if it was.
        sub_questions: The sub-questions of the split, with slots.
    """

    turns: tuple[Turn, ...]
    manner: Manner | None = None
    sub_questions: tuple[Question, ...] = ()

    @property
    def sub_turns(self) -> tuple[Turn, ...]:
        """The turns of sub-questions."""
        return self.turns[1:]

    def list_waiting(self, most: int) -> tuple[Question, ...]:
        """Return the sub-questions that have no turn yet, as far as turns are left."""
        return self.sub_questions[len(self.sub_turns) : most - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredSearch:
    """The multi-hop search from the anchors that are strong enough.

    Attributes:
        most: The number of anchors that are looked for.
        workers: The number of anchors that are followed.
        min_score: The least score of an anchor that is followed.
    """

    multihop: MultiHop
    most: int
    workers: int
    min_score: float

    @classmethod
    def of(cls, assembly: "Assembly", search: Search) -> Self:
        """Build the search from the settings of `anchor`."""
        settings = assembly.settings.get_section(AnchorSettings)
        return cls(
            multihop=assembly.multihop(search),
            most=settings.anchors,
            workers=settings.workers,
            min_score=settings.min_score,
        )

    async def __call__(
        self, question: Question, filters: tuple[Filter, ...], *, k: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """Return at most `k` hits, best first."""
        candidates = question.anchors[: self.most]
        strong = [anchor.text for anchor in candidates if anchor.score >= self.min_score]
        query = Query(text=question.text, filters=filters)
        return await self.multihop(query, strong[: self.workers], k=k, context=context)


@dataclass(frozen=True, kw_only=True)
class Mao(GraphStrategy):
    """MAO-ARAG (arXiv 2508.01005, section 3.1 and figure 2).

    Attributes:
        follow_anchors: R for the question itself, where the look does not cover it; with `None` R
            is always the plain search.
        coverage_threshold: The least share of its terms in the best hit at which a question is
            covered.
        hits: The number of hits that R gives.
        turns: The largest number of turns, the first included.
    """

    search: Search
    follow_anchors: AnchoredSearch | None
    observer: QuestionObserver
    planner: Planner
    rewriter: Rewriter
    decomposer: Decomposer
    selector: Selector
    reader: Reader
    summarizer: Summarizer
    finalizer: Finalizer
    hits: int
    turns: int
    coverage_threshold: float
    name: ClassVar[str] = "mao"

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly."""
        return cls.with_search(
            assembly.search(assembly.settings.get_section(MaoSettings).retriever), assembly
        )

    @classmethod
    def with_search(cls, search: Search, assembly: "Assembly") -> Self:
        """Build the strategy from the assembly, with this search."""
        settings = assembly.settings.get_section(MaoSettings)
        return cls(
            search=search,
            follow_anchors=AnchoredSearch.of(assembly, search)
            if settings.coverage_threshold
            else None,
            observer=QuestionObserver.of(assembly),
            planner=assembly.agent(PLANNER),
            rewriter=assembly.agent(REWRITER),
            decomposer=assembly.agent(DECOMPOSER),
            selector=assembly.agent(SELECTOR),
            reader=assembly.agent(READER),
            summarizer=assembly.agent(SUMMARIZER),
            finalizer=assembly.finalizer(cls.name),
            hits=settings.retrieve,
            turns=settings.turns,
            coverage_threshold=settings.coverage_threshold,
        )

    def start(self, question: Question, filters: tuple[Filter, ...]) -> MaoState:
        """Return the state in which the graph begins."""
        return MaoState(
            question=question, filters=filters, turns=(Turn(number=0, question=question),)
        )

    def graph(self) -> StateGraph[MaoState, RunContext, MaoState, MaoState]:
        """Build the graph.

        It ends: every executor takes itself off its turn's workflow, no workflow is chosen twice,
        and turns are bounded.
        """
        builder = StateGraph(MaoState, context_schema=RunContext)
        executors = tuple(NODES.values())
        for node in ("look", "plan", *executors, "follow", "summarize", "finalize"):
            builder.add_node(node, getattr(self, node))
        builder.add_edge(START, "look")
        builder.add_edge("look", "plan")
        for node in ("plan", *executors):
            builder.add_conditional_edges(node, self.choose_next_node, _list_next_nodes(node))
        builder.add_edge("follow", "look")
        builder.add_edge("summarize", "finalize")
        builder.add_edge("finalize", END)
        return builder

    async def choose_next_node(self, state: MaoState) -> str:
        """Return the node of the next executor of any turn, else of the next turn, else the end."""
        due = {turn.next for turn in state.turns}
        # In the order of `NODES`, so that turns whose workflows meet at an executor share its node.
        for executor, node in NODES.items():
            if executor in due:
                return node
        if state.list_waiting(self.turns):
            return "follow"
        return "summarize" if state.manner else "finalize"

    async def look(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Search for every turn that has had no look yet."""
        return await _work_on_turns(
            state, lambda turn: turn.look is None, self._look, runtime.context
        )

    async def plan(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Choose a workflow for every turn that has none yet."""
        work = partial(self._plan_turn, [turn.trial for turn in state.turns if turn.plan])
        return await _work_on_turns(state, lambda turn: not turn.plan, work, runtime.context)

    async def rewrite(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Rewrite the questions of the turns where QR comes next."""
        return await _execute("QR", state, self._rewrite, runtime.context)

    async def split_serially(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Split the question into sub-questions that need each other's answers."""
        return await self._split("QDS", "serial", state, runtime.context)

    async def split_in_parallel(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Split the question into independent sub-questions."""
        return await self._split("QDP", "parallel", state, runtime.context)

    async def retrieve(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Retrieve hits for the turns where R comes next."""
        return await _execute("R", state, self._retrieve, runtime.context)

    async def select(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Select the useful hits of the turns where DS comes next."""
        return await _execute("DS", state, self._select, runtime.context)

    async def read(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Read the hits of the turns where AG comes next."""
        state = await _execute("AG", state, self._read, runtime.context)
        return replace(state, draft=state.turns[0].draft or Draft())

    async def follow(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Open a turn for the next sub-question, or for all of them if they are independent."""
        waiting = state.list_waiting(self.turns)
        # A serial sub-question waits for the answer that fills its slot.
        opened = waiting[:1] if state.manner == "serial" else waiting
        earlier = [(turn.question, turn.answer) for turn in state.sub_turns]
        with runtime.context.step("follow", agent="decomposer") as step:
            questions = [fill_slots(question, earlier) for question in opened]
            step.set_outcome(outputs={"questions": [question.text for question in questions]})
        turns = tuple(
            Turn(number=number, question=question)
            for number, question in enumerate(questions, start=len(state.turns))
        )
        return replace(state, turns=(*state.turns, *turns))

    async def summarize(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Draft an answer from the answers to the sub-questions."""
        draft = await self.summarizer.summarize(
            state.question,
            state.manner or "parallel",
            [
                SubAnswer(question=turn.question, draft=turn.draft or Draft())
                for turn in state.sub_turns
            ],
            gather_hits(state.turns),
            runtime.context,
        )
        return replace(state, draft=draft)

    @override
    async def finish(self, state: MaoState, context: RunContext) -> Answer:
        phase = ",".join(state.turns[0].plan)
        hits = dict.fromkeys(hit for turn in state.turns for hit in turn.hits)
        return await self.finalizer(
            state.question, state.draft, phase=phase, context=context, hits=tuple(hits)
        )

    # The work on one turn.

    def observe_turn(self, turn: Turn) -> QuestionFeatures:
        """Return the features of a turn and its look, from which its workflow is chosen."""
        return self.observer(turn.question, turn.look or (), first=turn.number == 0)

    async def _look(self, turn: Turn, query: Query, context: RunContext) -> Turn:
        """Take the first look at a turn's question."""
        hits = await self._search(turn, query, context)
        return replace(turn, look=hits, look_question=turn.question)

    async def _plan_turn(
        self, tried: Sequence[TriedWorkflow], turn: Turn, _: Query, context: RunContext
    ) -> Turn:
        """Choose the workflow of a turn; the default replaces an illegal one."""
        first = turn.number == 0
        situation = self.observe_turn(turn)
        choose = partial(
            self.planner.plan,
            turn.question,
            situation,
            list_legal_workflows(first=first),
            tried=tried,
        )
        outcome = await attempt_work("plan", choose, context)
        workflow = outcome.value.workflow if outcome.value else ()
        # A language model may plan outside of the grammar.
        if is_legal_workflow(workflow, first=first):
            return turn.with_plan(workflow, situation)
        with context.step("refuse", agent="grammar") as step:
            step.set_outcome(outputs={"workflow": DEFAULT}, verdict="illegal", reason="the default")
        return turn.with_plan(DEFAULT, situation)

    async def _rewrite(self, turn: Turn, _: Query, context: RunContext) -> Turn:
        """Rewrite the question of a turn; it stays as it is if that fails."""
        outcome = await attempt_work("QR", partial(self.rewriter.rewrite, turn.question), context)
        return replace(turn, question=outcome.value or turn.question)

    async def _split(
        self, executor: Executor, manner: Manner, state: MaoState, context: RunContext
    ) -> MaoState:
        """Split the question; a question that cannot be split is answered as it is."""
        state = await _execute(
            executor, state, partial(self._split_turn, executor, manner), context
        )
        questions = state.turns[0].questions
        return replace(state, manner=manner, sub_questions=questions) if questions else state

    async def _split_turn(
        self, executor: Executor, manner: Manner, turn: Turn, _: Query, context: RunContext
    ) -> Turn:
        """Return the turn with its sub-questions, or with the default workflow without any."""
        split_question = partial(self.decomposer.split, turn.question, manner)
        outcome = await attempt_work(executor, split_question, context)
        questions = tuple(outcome.value or ())
        if len(questions) > 1:
            return replace(turn, questions=questions)
        # The executor itself is taken off right after its work.
        return replace(turn, todo=(executor, *DEFAULT))

    async def _retrieve(self, turn: Turn, query: Query, context: RunContext) -> Turn:
        """Retrieve hits for a turn; the look's hits serve where the question is still the same."""
        if self.follow_anchors and turn.number == 0 and turn.coverage < self.coverage_threshold:
            hits = await self.follow_anchors(
                turn.question, query.filters, k=self.hits, context=context
            )
            return replace(turn, hits=hits)
        if turn.look is not None and turn.look_question == turn.question:
            return replace(turn, hits=turn.look)
        return replace(turn, hits=await self._search(turn, query, context))

    async def _select(self, turn: Turn, _: Query, context: RunContext) -> Turn:
        """Select the useful hits of a turn; all of them stay if that fails."""
        choose = partial(self.selector.select, turn.question, turn.hits)
        outcome = await attempt_work("DS", choose, context)
        return replace(turn, hits=turn.hits if outcome.value is None else outcome.value)

    async def _read(self, turn: Turn, _: Query, context: RunContext) -> Turn:
        """Read the hits of a turn into a draft."""
        return replace(turn, draft=await self.reader.read(turn.question, turn.hits, context))

    async def _search(self, turn: Turn, query: Query, context: RunContext) -> tuple[Hit, ...]:
        """Search for a turn; no hits where the budget refuses, as the other turns still count."""
        turn_query = replace(query, text=turn.question.text)
        try:
            return await self.search(turn_query, k=self.hits, context=context)
        except BudgetRefused:
            return ()


Work = Callable[[Turn, Query, RunContext], Awaitable[Turn]]
"""The work of an executor on one turn."""


async def _work_on_turns(
    state: MaoState, due: Callable[[Turn], bool], work: Work, context: RunContext
) -> MaoState:
    """Return the state after the work on each due turn, all at the same time, each as one step.

    An error in one of them is raised when all have ended.
    """

    async def work_if_due(turn: Turn) -> Turn:
        if not due(turn):
            return turn
        with context.step(turn.name) as step:
            return await work(turn, state.query, step)

    return replace(state, turns=tuple(await gather_all(map(work_if_due, state.turns))))


async def _execute(
    executor: Executor, state: MaoState, work: Work, context: RunContext
) -> MaoState:
    """Return the state after an executor's work on every turn where it comes next."""

    async def execute(turn: Turn, query: Query, step: RunContext) -> Turn:
        next_turn = await work(turn, query, step)
        return replace(next_turn, todo=next_turn.todo[1:])

    return await _work_on_turns(state, lambda turn: turn.next == executor, execute, context)


def gather_hits(turns: Sequence[Turn]) -> tuple[Hit, ...]:
    """Return the hits of all turns in one ranking: the best of each turn first, then the seconds.

    A chunk that several turns found counts for each of them. At equal rank later turns come first,
    for their questions are simpler.
    """
    weights = [1 + _LATER_TURN_BONUS * turn.number for turn in turns]
    return fuse_hits([turn.all_hits for turn in turns], weights, ReciprocalRank(0), "mao")


def _list_next_nodes(node: str) -> list[str]:
    """Return the nodes that may follow a node; the last ones wait until nothing else is left."""
    splits = {NODES["QDS"], NODES["QDP"]}
    if node in splits:
        return ["follow", NODES["R"]]
    if node == NODES["AG"]:
        return ["follow", "summarize", "finalize"]
    split_nodes = splits if node == "plan" else set()
    others = {NODES["QR"], NODES["R"], NODES["DS"], NODES["AG"]}
    return sorted((others | split_nodes) - {node})
