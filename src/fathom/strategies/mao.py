"""A planner composes executors into a workflow for each question and sub-question."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Self

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fathom.agents.decomposer import Decomposer, Manner, bridge, filled
from fathom.agents.finalizer import Finalizer
from fathom.agents.reader.base import Reader
from fathom.agents.rewriter import Rewriter
from fathom.agents.selector import Selector
from fathom.agents.summarizer import SubAnswer, Summarizer
from fathom.assembly import Assembly
from fathom.planner.question_features import Observer
from fathom.planner.workflows import DEFAULT, Executor, Planner, Tried, Workflow, is_legal, legal
from fathom.question.anchors import anchors
from fathom.retrieval.fusion import ReciprocalRank, fuse_hits
from fathom.retrieval.multihop import MultiHop
from fathom.retrieval.search import Search
from fathom.runs.concurrency import side_by_side
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.strategies.base import GraphStrategy
from fathom.strategies.bus import attempt
from fathom.types import Answer, Draft, Hit, Query

NODES: dict[Executor, str] = {
    "QR": "rewrite",
    "QDS": "split_serially",
    "QDP": "split_in_parallel",
    "R": "retrieve",
    "DS": "select",
    "AG": "read",
}
"""The node of each executor."""
_LATER = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is known of a turn so far.

    Attributes:
        number: 0 is the question itself.
        question: As it stands now: slots filled, perhaps rewritten.
        look: What the first look found; `None` before it.
        look_question: The question of that look.
        coverage: Share of the question's terms that the best hit of the look holds.
        plan: The workflow that was chosen; empty before it.
        todo: What remains of it.
        questions: What QDS or QDP split the question into.
        hits: What R found and DS kept.
        draft: What AG made of it; `None` before it.
    """

    number: int
    question: str
    look: tuple[Hit, ...] | None = None
    look_question: str = ""
    coverage: float = 0.0
    plan: Workflow = ()
    todo: Workflow = ()
    questions: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    draft: Draft | None = None

    @property
    def name(self) -> str:
        """Of its steps."""
        return f"turn {self.number}"

    @property
    def next(self) -> Executor | None:
        """The executor that comes next."""
        return self.todo[0] if self.todo else None

    @property
    def answer(self) -> str:
        """What later questions get for it; see `bridge`."""
        return bridge(self.question, self.draft or Draft(), self.hits)

    @property
    def tried(self) -> Tried:
        """What a planner of later turns is told of it."""
        draft = self.draft or Draft()
        return Tried(
            question=self.question,
            workflow=self.plan,
            answer=draft.short_answer,
            confidence=draft.confidence,
        )

    @property
    def seen(self) -> tuple[Hit, ...]:
        """What was found for it, what was kept of it first."""
        kept = {hit.chunk.id for hit in self.hits}
        rest = tuple(hit for hit in self.look or () if hit.chunk.id not in kept)
        return (*self.hits, *rest)


@dataclass(frozen=True, kw_only=True)
class MaoState:
    """What is known of a question so far.

    Attributes:
        turns: The first is the question itself; sub-questions follow in their order.
        manner: How the question was split, if it was.
        sub_questions: The sub-questions of the split, with slots.
    """

    query: Query
    turns: tuple[Turn, ...]
    manner: Manner | None = None
    sub_questions: tuple[str, ...] = ()
    draft: Draft = field(default_factory=Draft)
    answer: Answer | None = None

    @property
    def subs(self) -> tuple[Turn, ...]:
        """The turns of sub-questions."""
        return self.turns[1:]

    def waiting(self, most: int) -> tuple[str, ...]:
        """The sub-questions that have no turn yet, as far as turns are left."""
        return self.sub_questions[len(self.subs) : most - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredSearch:
    """MultiHop from the anchors that are strong enough; see `MultiHop`.

    Attributes:
        most: So many anchors are looked for.
        workers: So many of them are followed.
        min_score: Weaker ones are not.
    """

    multihop: MultiHop
    most: int
    workers: int
    min_score: float

    @classmethod
    def of(cls, assembly: Assembly, search: Search) -> Self:
        """Made of the settings that `anchor` has too."""
        own = assembly.settings.anchor
        return cls(
            multihop=assembly.multihop(search),
            most=own.anchors,
            workers=own.workers,
            min_score=own.min_score,
        )

    async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
        """At most `k` hits, best first; see `MultiHop`."""
        found = anchors(query.text, most=self.most)
        strong = [each.text for each in found if each.score >= self.min_score]
        return await self.multihop(query, strong[: self.workers], k=k, context=context)


@dataclass(frozen=True, kw_only=True)
class Mao(GraphStrategy):
    """MAO-ARAG (arXiv 2508.01005, section 3.1 and figure 2).

    Attributes:
        following: R for the question itself, where the look does not cover it; `None` never.
        coverage_threshold: From this share of its terms in the best hit on a question is covered.
        hits: So many R gives.
        turns: At most so many, the first included.
    """

    search: Search
    following: AnchoredSearch | None
    observer: Observer
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
    def of(cls, assembly: Assembly) -> Self:
        """Made of these parts."""
        own = assembly.settings.mao
        search = assembly.search(own.retriever)
        return cls(
            search=search,
            following=AnchoredSearch.of(assembly, search) if own.coverage_threshold else None,
            observer=assembly.observer,
            planner=assembly.planner,
            rewriter=assembly.rewriter,
            decomposer=assembly.decomposer,
            selector=assembly.selector,
            reader=assembly.reader,
            summarizer=assembly.summarizer,
            finalizer=assembly.finalizer(cls.name),
            hits=own.retrieve,
            turns=own.turns,
            coverage_threshold=own.coverage_threshold,
        )

    def start(self, query: Query) -> MaoState:
        """See `Strategy.start`."""
        return MaoState(query=query, turns=(Turn(number=0, question=query.text),))

    def graph(self) -> StateGraph[MaoState, RunContext, MaoState, MaoState]:
        """See `Strategy.graph`.

        It ends: every executor takes itself off its turn's workflow, no workflow is chosen
        twice, and turns are bounded.
        """
        figure = StateGraph(MaoState, context_schema=RunContext)
        executors = tuple(NODES.values())
        for node in ("look", "plan", *executors, "follow", "summarize", "finalize"):
            figure.add_node(node, getattr(self, node))
        figure.add_edge(START, "look")
        figure.add_edge("look", "plan")
        for node in ("plan", *executors):
            figure.add_conditional_edges(node, self.goes_on, _after(node))
        figure.add_edge("follow", "look")
        figure.add_edge("summarize", "finalize")
        figure.add_edge("finalize", END)
        return figure

    async def goes_on(self, state: MaoState) -> str:
        """The next executor of any turn; else the next sub-question; else the end."""
        wanted = {turn.next for turn in state.turns}
        for executor, node in NODES.items():
            if executor in wanted:
                return node
        if state.waiting(self.turns):
            return "follow"
        return "summarize" if state.manner else "finalize"

    async def look(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        return await _each(state, lambda turn: turn.look is None, self._look, runtime.context)

    async def plan(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        work = partial(self._plan, [turn.tried for turn in state.turns if turn.plan])
        return await _each(state, lambda turn: not turn.plan, work, runtime.context)

    async def rewrite(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        return await _execute("QR", state, self._rewrite, runtime.context)

    async def split_serially(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        return await self._split("QDS", "serial", state, runtime.context)

    async def split_in_parallel(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        return await self._split("QDP", "parallel", state, runtime.context)

    async def retrieve(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        return await _execute("R", state, self._retrieve, runtime.context)

    async def select(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        return await _execute("DS", state, self._select, runtime.context)

    async def read(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        state = await _execute("AG", state, self._read, runtime.context)
        return replace(state, draft=state.turns[0].draft or Draft())

    async def follow(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        waiting = state.waiting(self.turns)
        opened = waiting[:1] if state.manner == "serial" else waiting
        earlier = [(turn.question, turn.answer) for turn in state.subs]
        with runtime.context.step("follow", agent="decomposer") as here:
            questions = [filled(question, earlier) for question in opened]
            here.done(outputs={"questions": questions})
        turns = tuple(
            Turn(number=number, question=question)
            for number, question in enumerate(questions, start=len(state.turns))
        )
        return replace(state, turns=(*state.turns, *turns))

    async def summarize(self, state: MaoState, runtime: Runtime[RunContext]) -> MaoState:
        draft = await self.summarizer.summarize(
            state.query.text,
            state.manner or "parallel",
            [SubAnswer(question=turn.question, draft=turn.draft or Draft()) for turn in state.subs],
            gathered(state.turns),
            runtime.context,
        )
        return replace(state, draft=draft)

    async def finish(self, state: MaoState, context: RunContext) -> Answer:
        """See `Strategy.finish`."""
        phase = ",".join(state.turns[0].plan)
        hits = dict.fromkeys(hit for turn in state.turns for hit in turn.hits)
        return await self.finalizer(
            state.query.text, state.draft, phase=phase, context=context, hits=tuple(hits)
        )

    # What is done to one turn.

    async def _look(self, turn: Turn, query: Query, context: RunContext) -> Turn:
        hits = await self._search(turn, query, context)
        return replace(turn, look=hits, look_question=turn.question)

    async def _plan(
        self, tried: Sequence[Tried], turn: Turn, _: Query, context: RunContext
    ) -> Turn:
        first = turn.number == 0
        situation = self.observer(turn.question, turn.look or (), first=first)
        choose = partial(
            self.planner.plan, turn.question, situation, legal(first=first), tried=tried
        )
        turn = replace(turn, coverage=situation.coverage)
        done = await attempt("plan", choose, context)
        workflow = done.value.workflow if done.value else ()
        if is_legal(workflow, first=first):
            return replace(turn, plan=workflow, todo=workflow)
        with context.step("refuse", agent="grammar") as here:
            here.done(outputs={"workflow": DEFAULT}, verdict="illegal", reason="the default")
        return replace(turn, plan=DEFAULT, todo=DEFAULT)

    async def _rewrite(self, turn: Turn, _: Query, context: RunContext) -> Turn:
        done = await attempt("QR", partial(self.rewriter.rewrite, turn.question), context)
        return replace(turn, question=done.value or turn.question)

    async def _split(
        self, executor: Executor, manner: Manner, state: MaoState, context: RunContext
    ) -> MaoState:
        """What cannot be split is answered as it is."""
        state = await _execute(executor, state, partial(self._divide, executor, manner), context)
        questions = state.turns[0].questions
        return replace(state, manner=manner, sub_questions=questions) if questions else state

    async def _divide(
        self, executor: Executor, manner: Manner, turn: Turn, _: Query, context: RunContext
    ) -> Turn:
        ask = partial(self.decomposer.split, turn.question, manner)
        done = await attempt(executor, ask, context)
        questions = tuple(done.value or ())
        if len(questions) > 1:
            return replace(turn, questions=questions)
        return replace(turn, todo=(executor, *DEFAULT))

    async def _retrieve(self, turn: Turn, query: Query, context: RunContext) -> Turn:
        if self.following and turn.number == 0 and turn.coverage < self.coverage_threshold:
            asked = replace(query, text=turn.question)
            return replace(turn, hits=await self.following(asked, k=self.hits, context=context))
        if turn.look is not None and turn.look_question == turn.question:
            return replace(turn, hits=turn.look)
        return replace(turn, hits=await self._search(turn, query, context))

    async def _select(self, turn: Turn, _: Query, context: RunContext) -> Turn:
        choose = partial(self.selector.select, turn.question, turn.hits)
        done = await attempt("DS", choose, context)
        return replace(turn, hits=turn.hits if done.value is None else done.value)

    async def _read(self, turn: Turn, _: Query, context: RunContext) -> Turn:
        return replace(turn, draft=await self.reader.read(turn.question, turn.hits, context))

    async def _search(self, turn: Turn, query: Query, context: RunContext) -> tuple[Hit, ...]:
        """Nothing where the budget does not allow it: the others still count."""
        asked = replace(query, text=turn.question)
        try:
            return await self.search(asked, k=self.hits, context=context)
        except BudgetRefused:
            return ()


Work = Callable[[Turn, Query, RunContext], Awaitable[Turn]]


async def _each(
    state: MaoState, due: Callable[[Turn], bool], work: Work, context: RunContext
) -> MaoState:
    """The state after the work on each turn that is due, all at the same time, each as one step.

    What one of them raises is raised when all have ended.
    """

    async def one(turn: Turn) -> Turn:
        if not due(turn):
            return turn
        with context.step(turn.name) as here:
            return await work(turn, state.query, here)

    return replace(state, turns=tuple(await side_by_side(map(one, state.turns))))


async def _execute(
    executor: Executor, state: MaoState, work: Work, context: RunContext
) -> MaoState:
    """The state after an executor's work on every turn where it comes next."""

    async def execute(turn: Turn, query: Query, here: RunContext) -> Turn:
        done = await work(turn, query, here)
        return replace(done, todo=done.todo[1:])

    return await _each(state, lambda turn: turn.next == executor, execute, context)


def gathered(turns: Sequence[Turn]) -> tuple[Hit, ...]:
    """What all turns found as one ranking: the best hit of each turn first, then the seconds.

    A chunk that several turns found counts for each of them. At equal rank later turns come
    first, for their questions are the plainer ones.
    """
    weights = [1 + _LATER * turn.number for turn in turns]
    return fuse_hits([turn.seen for turn in turns], weights, ReciprocalRank(0), "mao")


def _after(node: str) -> list[str]:
    """Where the graph can go from a node: what comes last waits until nothing else is left."""
    splits = {NODES["QDS"], NODES["QDP"]}
    if node in splits:
        return ["follow", NODES["R"]]
    if node == NODES["AG"]:
        return ["follow", "summarize", "finalize"]
    begins = splits if node == "plan" else set()
    rest = {NODES["QR"], NODES["R"], NODES["DS"], NODES["AG"]}
    return sorted((rest | begins) - {node})
