"""Budgets hold in however many branches, whatever the models do."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from tests.factories import QUESTION, hit_of

from fathom.agents.finalizer import Finalizer
from fathom.llm.base import Call, Completion, Message
from fathom.llm.call import AbsentModel, RoleModel
from fathom.llm.faults import CallFailure, ModelFault
from fathom.llm.retry import RetryPolicy
from fathom.question.question import Question
from fathom.retrieval.quotes import QuoteLookup
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.runs.replay import RecordedEvents, is_same_answer
from fathom.runs.reservation import ReportedUsage
from fathom.runs.trace import Origin
from fathom.strategies.naive import NaiveState
from fathom.strategies.run import RunOutcome, RunResources, run_strategy
from fathom.types import Answer, Draft, Filter, Hit, Query
from fathom.usage import Budget, Price, Usage

PRICE = Price(prompt=3.0, completion=9.0)
HUGE = 10**30


@dataclass(frozen=True)
class ServerBehaviour:
    """The behaviour of an adversarial server in one call."""

    kind: str
    tokens: int
    reported: object


@dataclass
class AdversarialModel:
    """A model with many behaviours that counts its input honestly, as the real client does."""

    whims: list[ServerBehaviour]
    name: str = "openai:m"

    async def complete(self, call: Call) -> Completion:
        whim = self.whims.pop() if self.whims else ServerBehaviour("answers", 1, None)
        usage = Usage(
            llm_calls=1, prompt_tokens=5, completion_tokens=min(whim.tokens, call.max_tokens)
        )
        for _turn in range(whim.tokens % 4):
            await asyncio.sleep(0)
        if whim.kind == "fails":
            raise ModelFault("down", usage, at_once=True)
        if whim.kind == "hangs":
            raise ModelFault("cut at the deadline", usage, retriable=False)
        reported = ReportedUsage(prompt=whim.reported, completion=whim.reported)
        return Completion(text="word", model=self.name, usage=usage, reported=reported)


class FixedRetriever:
    name = "fixed"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        return [hit_of()]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Several agents at once, each of which searches and asks twice."""

    model: RoleModel
    branches: int
    name: str = "panel"

    def start(self, question: Question, filters: tuple[Filter, ...]) -> NaiveState:
        return NaiveState(question=question, filters=filters)

    def graph(self) -> StateGraph[NaiveState, RunContext, NaiveState, NaiveState]:
        figure = StateGraph(NaiveState, context_schema=RunContext)
        figure.add_node("debate", self.debate)
        figure.add_edge(START, "debate")
        figure.add_edge("debate", END)
        return figure

    async def debate(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
        turns = (self.agent(number, runtime.context) for number in range(self.branches))
        replies = await asyncio.gather(*turns)
        return replace(state, draft=Draft(short_answer=" ".join(replies)))

    async def agent(self, number: int, context: RunContext) -> str:
        search = Search(open_retriever=FixedRetriever, identity={})
        heard = ""
        with context.step(f"agent {number}") as step:
            for turn in range(2):
                try:
                    await search(Query(text=f"{turn}"), k=1, context=step)
                    call = Call([Message("user", "a word?")], max_tokens=20, deadline=step.deadline)
                    done = await self.model.bind_to_run(step).complete(call)
                    heard += done.text
                except (BudgetRefused, CallFailure) as failed:
                    heard += type(failed).__name__
        return heard

    async def finish(self, state: NaiveState, context: RunContext) -> Answer:
        finalizer = Finalizer(
            quotes=QuoteLookup(lambda _: None), strategy="panel", min_confidence=0.5
        )
        return await finalizer(
            Question(state.query.text), state.draft, phase="debate", context=context
        )


WHIMS = st.lists(
    st.builds(
        ServerBehaviour,
        kind=st.sampled_from(["answers", "fails", "hangs"]),
        tokens=st.integers(0, 40),
        reported=st.sampled_from([None, 0, -1, 7, 19, HUGE, "many", 1.5, float("nan")]),
    ),
    max_size=20,
)
BUDGETS = st.builds(
    Budget,
    tokens=st.none() | st.integers(0, 300),
    calls=st.none() | st.integers(0, 8),
    retrievals=st.none() | st.integers(0, 6),
    cost_usd=st.none() | st.floats(0, 0.002),
)


def run_panel(panel: Panel, budget: Budget, events: RecordedEvents | None = None) -> RunOutcome:
    origin = Origin(question=QUESTION, strategy="panel", budget=budget)

    async def run_whole(executor: ThreadPoolExecutor) -> RunOutcome:
        surroundings = RunResources(executor=executor, events=events)
        outcome = await run_strategy(panel, origin, surroundings)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return outcome

    with ThreadPoolExecutor(4) as executor:
        return asyncio.run(run_whole(executor))


def check_budget(whims: list[ServerBehaviour], budget: Budget, branches: int) -> None:
    threads = set(threading.enumerate())
    retry = RetryPolicy(tries=3, first_wait_s=0.0)
    model = RoleModel(chat=AdversarialModel(list(whims)), price=PRICE, retry=retry)
    first = run_panel(Panel(model=model, branches=branches), budget)
    spent = first.answer.usage
    assert budget.tokens is None or spent.tokens <= budget.tokens
    assert budget.calls is None or spent.llm_calls <= budget.calls
    assert budget.retrievals is None or spent.retrievals <= budget.retrievals
    assert spent.cost_usd is not None
    assert budget.cost_usd is None or spent.cost_usd <= budget.cost_usd
    assert first.answer.status == "abstained"

    absent = replace(model, chat=AbsentModel("openai:m"))
    again = run_panel(Panel(model=absent, branches=branches), budget, RecordedEvents(first.trace))
    assert is_same_answer(first.trace, again.answer)
    assert set(threading.enumerate()) <= threads


@given(whims=WHIMS, budget=BUDGETS, branches=st.integers(1, 4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_run_overruns_its_budget_and_each_replays(
    whims: list[ServerBehaviour], budget: Budget, branches: int
) -> None:
    check_budget(whims, budget, branches)


@pytest.mark.slow
@given(whims=WHIMS, budget=BUDGETS, branches=st.integers(1, 4))
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ten_thousand_runs_stay_within_their_budgets(
    whims: list[ServerBehaviour], budget: Budget, branches: int
) -> None:
    check_budget(whims, budget, branches)
