"""The strategy `mao`: a planner composes a workflow of executors for each (sub-)question.

It implements MAO-ARAG (arXiv 2508.01005). The planners are in `planner.workflows`, the executors in
`agents`.
"""

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
"""The addition to the weight of each later turn's hits, so small that it decides only ties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The state of a turn so far: the work on the question itself, or on one sub-question.

    Attributes:
        number: The number of the turn; 0 is the question itself.
        question: The question as it is now: with filled slots, and perhaps rewritten.
        look: The hits of the first look; `None` before it.
        look_question: The question that was searched for in that look; `None` before it.
        coverage: The share of the question's terms that the best hit of the look holds, in [0, 1].
        plan: The workflow that was chosen; empty before that.
        todo: The executors of the workflow that are still to come.
        questions: The sub-questions that QDS or QDP made of the question; empty without a split.
        hits: The hits that R found, or those of them that DS kept.
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
        """The name of the turn's steps in a trace."""
        return f"turn {self.number}"

    @property
    def next(self) -> Executor | None:
        """The executor that comes next; `None` before the plan and after the last executor."""
        return self.todo[0] if self.todo else None

    @property
    def answer(self) -> str:
        """The text for the slot of this turn in later sub-questions; empty if there is none."""
        return find_bridge(self.question, self.draft or Draft(), self.hits)

    @property
    def trial(self) -> TriedWorkflow:
        """The turn as the planner sees it when it plans later turns."""
        draft = self.draft or Draft()
        return TriedWorkflow(
            question=self.question,
            workflow=self.plan,
            answer=draft.short_answer,
            confidence=draft.confidence,
        )

    def with_plan(self, workflow: Workflow, situation: QuestionFeatures) -> "Turn":
        """Return the turn with a workflow to do, chosen from the features `situation`."""
        return replace(self, coverage=situation.coverage, plan=workflow, todo=workflow)

    @property
    def all_hits(self) -> tuple[Hit, ...]:
        """All hits of the turn: those of `hits`, then the others of the look."""
        kept_ids = {hit.chunk.id for hit in self.hits}
        rest = tuple(hit for hit in self.look or () if hit.chunk.id not in kept_ids)
        return (*self.hits, *rest)


@dataclass(frozen=True, kw_only=True)
class MaoState(StrategyState):
    """The state of a question so far.

    Attributes:
        turns: The turns so far: that of the question itself, then those of sub-questions in order.
        manner: The manner of the split: serial or parallel; `None` without one.
        sub_questions: All sub-questions of the split, with unfilled slots.
    """

    turns: tuple[Turn, ...]
    manner: Manner | None = None
    sub_questions: tuple[Question, ...] = ()

    @property
    def sub_turns(self) -> tuple[Turn, ...]:
        """The turns of the sub-questions."""
        return self.turns[1:]

    def list_waiting(self, most: int) -> tuple[Question, ...]:
        """Return the sub-questions that have no turn yet and can still have one.

        Args:
            most: The largest number of turns, that of the question itself included.
        """
        return self.sub_questions[len(self.sub_turns) : most - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredSearch:
    """The multi-hop search of `anchor`, from the anchors of a question that are strong enough.

    Attributes:
        multihop: The multi-hop search.
        most: The largest number of anchors of a question that are considered.
        workers: The largest number of these that are followed.
        min_score: The least score of an anchor that is followed, in [0, 1].
    """

    multihop: MultiHop
    most: int
    workers: int
    min_score: float

    @classmethod
    def of(cls, assembly: "Assembly", search: Search) -> Self:
        """Build the search from the assembly and the settings of `anchor`."""
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
        """Return at most `k` hits for a question, best first, as one step of the run."""
        candidates = question.anchors[: self.most]
        strong = [anchor.text for anchor in candidates if anchor.score >= self.min_score]
        query = Query(text=question.text, filters=filters)
        return await self.multihop(query, strong[: self.workers], k=k, context=context)


@dataclass(frozen=True, kw_only=True)
class Mao(GraphStrategy):
    """MAO-ARAG (arXiv 2508.01005, section 3.1 and figure 2).

    Attributes:
        search: The search of the looks and of R.
        follow_anchors: The search of R for the question itself if its look does not cover it;
            `None` if R always takes `search`.
        observer: The extractor of the features that the planner sees.
        hits: The number of hits of a look and of R.
        turns: The largest number of turns, that of the question itself included.
        coverage_threshold: A look covers a question if its best hit holds at least this share of
            the question's terms, in [0, 1].
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
        """Build the strategy from the assembly, with another search in place of the settings'."""
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

        Its loops end: every executor removes itself from its turn's workflow, a turn is planned
        once, and the number of turns is bounded.
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
        """Return the node of the next executor of a turn, else `follow`, else the last nodes.

        `follow` comes if a sub-question has no turn yet, and `summarize` only after a split.
        """
        due = {turn.next for turn in state.turns}
        # The order of `NODES` is that of the usual workflow. A turn that is behind catches up, and
        # turns that have the same executor next do its work at the same time.
        for executor, node in NODES.items():
            if executor in due:
                return node
        if state.list_waiting(self.turns):
            return "follow"
        return "summarize" if state.manner else "finalize"

    async def look(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Take the first look of every turn that has none yet."""
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
        """Split the question into sub-questions that need the answers to earlier ones (QDS)."""
        return await self._split("QDS", "serial", state, runtime.context)

    async def split_in_parallel(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Split the question into independent sub-questions (QDP)."""
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
            # Only a serial split has slots; elsewhere "#2" is a word of the user, as in "room #2".
            questions = (
                [fill_slots(question, earlier) for question in opened]
                if state.manner == "serial"
                else list(opened)
            )
            step.set_outcome(outputs={"questions": [question.text for question in questions]})
        turns = tuple(
            Turn(number=number, question=question)
            for number, question in enumerate(questions, start=len(state.turns))
        )
        return replace(state, turns=(*state.turns, *turns))

    async def summarize(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        """Draft an answer from the answers to the sub-questions (the paper's AS)."""
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
        """Return the features of a turn and its look, from which the planner chooses."""
        return self.observer(turn.question, turn.look or (), first=turn.number == 0)

    async def _look(self, turn: Turn, query: Query, context: RunContext) -> Turn:
        """Take the first look at a turn's question."""
        hits = await self._search(turn, query, context)
        return replace(turn, look=hits, look_question=turn.question)

    async def _plan_turn(
        self, tried: Sequence[TriedWorkflow], turn: Turn, _: Query, context: RunContext
    ) -> Turn:
        """Choose the workflow of a turn; the default replaces an illegal or failed choice."""
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
        # A language model may plan an illegal workflow, and the planner may fail.
        if is_legal_workflow(workflow, first=first):
            return turn.with_plan(workflow, situation)
        with context.step("refuse", agent="grammar") as step:
            step.set_outcome(outputs={"workflow": DEFAULT}, verdict="illegal", reason="the default")
        return turn.with_plan(DEFAULT, situation)

    async def _rewrite(self, turn: Turn, _: Query, context: RunContext) -> Turn:
        """Rewrite the question of a turn; it stays unchanged if that fails."""
        outcome = await attempt_work("QR", partial(self.rewriter.rewrite, turn.question), context)
        return replace(turn, question=outcome.value or turn.question)

    async def _split(
        self, executor: Executor, manner: Manner, state: MaoState, context: RunContext
    ) -> MaoState:
        """Split the question; one that cannot be split goes on with the default workflow."""
        state = await _execute(
            executor, state, partial(self._split_turn, executor, manner), context
        )
        questions = state.turns[0].questions
        return replace(state, manner=manner, sub_questions=questions) if questions else state

    async def _split_turn(
        self, executor: Executor, manner: Manner, turn: Turn, _: Query, context: RunContext
    ) -> Turn:
        """Return the turn with its sub-questions; without any, with the default workflow to do."""
        split_question = partial(self.decomposer.split, turn.question, manner)
        outcome = await attempt_work(executor, split_question, context)
        questions = tuple(outcome.value or ())
        if len(questions) > 1:
            return replace(turn, questions=questions)
        # `_execute` removes the executor right after this.
        return replace(turn, todo=(executor, *DEFAULT))

    async def _retrieve(self, turn: Turn, query: Query, context: RunContext) -> Turn:
        """Retrieve hits for a turn.

        Anchors are followed if the look does not cover the question itself. Otherwise the hits of
        the look are taken if the question is still the same, and a new search is made if not.
        """
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
        """Search for a turn; if the budget refuses, it has no hits, but other turns still count."""
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
    """Work on all due turns at the same time, each as one step, and return the new state.

    An error in one of them is raised after all have ended.

    Args:
        state: The state.
        due: A function that returns whether a turn is due.
        work: The work on one turn.
        context: The run that records the steps.
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
    """Let an executor work on every turn where it comes next, and return the new state.

    It is removed from the workflow of these turns.
    """

    async def execute(turn: Turn, query: Query, step: RunContext) -> Turn:
        next_turn = await work(turn, query, step)
        return replace(next_turn, todo=next_turn.todo[1:])

    return await _work_on_turns(state, lambda turn: turn.next == executor, execute, context)


def gather_hits(turns: Sequence[Turn]) -> tuple[Hit, ...]:
    """Return the hits of all turns in one ranking: the best of each turn, then the second ones.

    A chunk that several turns found gains by each of them. At equal ranks later turns come first,
    because their questions are simpler.
    """
    weights = [1 + _LATER_TURN_BONUS * turn.number for turn in turns]
    return fuse_hits([turn.all_hits for turn in turns], weights, ReciprocalRank(0), "mao")


def _list_next_nodes(node: str) -> list[str]:
    """Return the nodes that may follow `plan` or an executor's node.

    `follow`, `summarize` and `finalize` come only when no turn has an executor left to run.
    """
    splits = {NODES["QDS"], NODES["QDP"]}
    if node in splits:
        return ["follow", NODES["R"]]
    if node == NODES["AG"]:
        return ["follow", "summarize", "finalize"]
    split_nodes = splits if node == "plan" else set()
    others = {NODES["QR"], NODES["R"], NODES["DS"], NODES["AG"]}
    return sorted((others | split_nodes) - {node})
