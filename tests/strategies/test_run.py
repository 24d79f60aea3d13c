"""The end of a run: in time, within the budget, and the same again from the record."""

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from tests.making import FEES, QUESTION, hit_of

from fathom.agents.finalizer import Finalizer
from fathom.errors import RunError
from fathom.llm.faults import ModelFault
from fathom.retrieval.quotes import QuoteLookup
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.runs.replay import RecordedEvents, is_same_answer
from fathom.runs.trace import Origin
from fathom.strategies.naive import Naive, NaiveState
from fathom.strategies.run import RunOutcome, RunResources, run_strategy
from fathom.types import Document, Draft, Evidence, Hit, Query, Span
from fathom.usage import Budget, Usage

DOCUMENT = Document(id="d1", text=FEES, path="a", title="A")
DRAFT = Draft(evidence=(Evidence(hit=hit_of(), span=Span(0, 40), support=0.9),), confidence=0.9)
SLACK_S = 1.0  # for a machine with other work; the benchmark measures the real overrun


class Fixed:
    name = "fixed"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        return [hit_of()]


@dataclass
class Agent:
    """Does as it is told before it gives its draft."""

    sleeps: bool = False
    waits: threading.Event | None = None
    raises: Exception | None = None
    asked: list[str] = field(default_factory=list)

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        self.asked.append(question)
        if self.raises:
            raise self.raises
        if self.sleeps:
            await asyncio.Event().wait()
        if self.waits:
            await context.compute("wait", self.waits.wait)
        return DRAFT


def naive(agent: Agent, documents: Mapping[str, Document] | None = None) -> Naive:
    return Naive(
        search=Search(open_retriever=Fixed, identity={}),
        reader=agent,
        finalizer=Finalizer(
            quotes=QuoteLookup({"d1": DOCUMENT}.get if documents is None else documents.get),
            strategy="naive",
            min_confidence=0.5,
        ),
        chunks=1,
    )


def ran(strategy: Naive, budget: Budget | None = None, events: Any = None) -> RunOutcome:
    origin = Origin(question=QUESTION, strategy="naive", budget=budget or Budget())

    async def whole(executor: ThreadPoolExecutor) -> RunOutcome:
        surroundings = RunResources(executor=executor, events=events)
        outcome = await run_strategy(strategy, Query(text=QUESTION), origin, surroundings)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"
        return outcome

    with ThreadPoolExecutor(2) as executor:
        return asyncio.run(whole(executor))


def test_an_answer_and_its_replay() -> None:
    first = ran(naive(Agent()))
    assert first.answer.answer == "A mooring permit costs 40 crowns a year. [1]"
    assert first.answer.stop_reason == "answered"
    again = ran(naive(Agent(), documents={}), events=RecordedEvents(first.trace))
    assert is_same_answer(first.trace, again.answer)


@pytest.mark.parametrize("kind", ["sleeps", "waits"])
def test_who_does_not_end_is_cut_at_the_deadline(kind: str) -> None:
    busy = threading.Event()
    threading.Timer(1.0, busy.set).start()
    agent = Agent(sleeps=True) if kind == "sleeps" else Agent(waits=busy)
    began = time.monotonic()
    first = ran(naive(agent), Budget(seconds=0.3))
    assert first.answer.usage.seconds < 0.3 + SLACK_S
    assert time.monotonic() - began < 3
    assert (first.answer.status, first.answer.stop_reason) == ("abstained", "budget")

    stuck = ran(naive(agent), Budget(seconds=0.3), events=RecordedEvents(first.trace))
    assert is_same_answer(first.trace, stuck.answer)


@pytest.mark.parametrize(
    ("budget", "searches", "readings"),
    [(Budget(retrievals=0), 0, 0), (Budget(seconds=0.0), 0, 0), (Budget(tokens=0, calls=0), 1, 1)],
)
def test_what_the_budget_does_not_allow_is_not_done(
    budget: Budget, searches: int, readings: int
) -> None:
    agent = Agent()
    outcome = ran(naive(agent), budget)
    assert (outcome.answer.usage.retrievals, len(agent.asked)) == (searches, readings)
    assert outcome.answer.stop_reason == ("answered" if readings else "budget")
    assert outcome.answer.budget == budget
    assert is_same_answer(
        outcome.trace, ran(naive(agent), budget, RecordedEvents(outcome.trace)).answer
    )


def test_a_language_model_that_must_answer_and_fails_is_a_failed_answer() -> None:
    down = ModelFault("openai:m is down; try later", Usage(llm_calls=1))
    answer = ran(naive(Agent(raises=down))).answer
    assert (answer.status, answer.stop_reason) == ("failed", "openai:m is down; try later")
    assert answer.answer == ""


def test_other_errors_come_out_as_they_are() -> None:
    with pytest.raises(RunError, match="damaged"):
        ran(naive(Agent(raises=RunError("the index is damaged"))))


def test_a_draft_whose_quote_is_not_there_is_no_answer() -> None:
    other = replace(DOCUMENT, text="Something else.")
    answer = ran(naive(Agent(), documents={"d1": other})).answer
    assert (answer.status, answer.stop_reason) == ("abstained", "no_evidence")


def test_langsmith_is_told_nothing_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from langsmith.run_helpers import get_tracing_context

    seen: list[object] = []

    class Nosy(Agent):
        async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
            seen.append(get_tracing_context()["enabled"])
            return DRAFT

    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    threads = set(threading.enumerate())
    ran(naive(Nosy()))
    assert seen == [False]
    assert set(threading.enumerate()) <= threads


@pytest.mark.parametrize("error", [KeyError("secret"), TimeoutError(), RecursionError("deep")])
def test_an_agent_that_raises_is_named_and_its_run_kept(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = ran(naive(Agent(raises=error)))
    answer = outcome.answer
    assert (answer.status, answer.answer) == ("failed", "")
    assert answer.stop_reason.startswith(f"{type(error).__name__} in strategies/test_run.py, line ")
    assert type(error).__name__ in str(caplog.records[0].exc_info)
    again = ran(naive(Agent()), events=RecordedEvents(outcome.trace))
    assert is_same_answer(outcome.trace, again.answer)


@dataclass(frozen=True, kw_only=True)
class Twice(Naive):
    """Reads, then does what may break."""

    second: Any

    def graph(self) -> Any:
        figure = StateGraph(NaiveState, context_schema=RunContext)
        for node in (self.retrieve, self.read, self.more):
            figure.add_node(node.__name__, node)
        figure.add_edge(START, "retrieve")
        figure.add_edge("retrieve", "read")
        figure.add_edge("read", "more")
        figure.add_conditional_edges("more", lambda _: "more")
        return figure

    async def more(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
        self.second()
        return state


def twice(second: Any, agent: Agent) -> Twice:
    plain = naive(agent)
    return Twice(
        search=plain.search, reader=agent, finalizer=plain.finalizer, chunks=1, second=second
    )


def broken() -> None:
    raise LookupError("nobody foresaw this")


@pytest.mark.parametrize(
    ("second", "why"), [(broken, "LookupError in "), (int, "naive did not end within 200 steps")]
)
def test_the_best_draft_outlives_what_breaks_later(second: Any, why: str) -> None:
    outcome = ran(twice(second, Agent()))
    assert outcome.answer.answer == "A mooring permit costs 40 crowns a year. [1]"
    assert outcome.answer.status == "answered"
    assert outcome.answer.stop_reason.startswith(why)
    again = ran(twice(int, Agent()), events=RecordedEvents(outcome.trace))
    assert is_same_answer(outcome.trace, again.answer)


def test_a_finalizer_that_breaks_at_the_deadline_is_named() -> None:
    class Lost(Naive):
        async def finish(self, state: NaiveState, context: RunContext) -> Any:
            raise LookupError

    plain = naive(Agent(sleeps=True))
    lost = Lost(search=plain.search, reader=plain.reader, finalizer=plain.finalizer, chunks=1)
    for seconds in (0.2, 0.0):
        outcome = ran(lost, Budget(seconds=seconds))
        assert outcome.answer.status == "failed"
        assert outcome.answer.stop_reason.startswith("LookupError in strategies/test_run.py")


def test_a_last_step_that_was_cut_is_done_again_and_replays() -> None:
    class Slow(Naive):
        async def finalize(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
            with runtime.context.step("finalize") as here:
                await here.scope.aobserve("quotes", [["d1", 0, 40]], asyncio.Event().wait)
            return state

    plain = naive(Agent())
    slow = Slow(search=plain.search, reader=plain.reader, finalizer=plain.finalizer, chunks=1)
    first = ran(slow, Budget(seconds=0.5))
    assert first.answer.stop_reason == "answered"
    again = ran(slow, Budget(seconds=0.5), events=RecordedEvents(first.trace))
    assert is_same_answer(first.trace, again.answer)


def test_where_the_finalizer_breaks_too_the_answer_is_a_failed_one() -> None:
    def lost(_: str) -> Document:
        raise ZeroDivisionError

    strategy = naive(Agent())
    strategy = replace(strategy, finalizer=replace(strategy.finalizer, quotes=QuoteLookup(lost)))
    outcome = ran(strategy)
    assert outcome.answer.status == "failed"
    assert outcome.answer.stop_reason.startswith("ZeroDivisionError in ")
