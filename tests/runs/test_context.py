import asyncio
import threading
import time
from typing import Any

import pytest

from fathom.errors import RunError
from fathom.jsonable import Json
from fathom.runs.context import DeadlineOver, RunContext, open_run
from fathom.runs.ledger import BudgetRefused
from fathom.runs.recorder import Recorder
from fathom.runs.replay import RecordedEvents
from fathom.runs.reservation import CostBound
from fathom.runs.trace import Trace
from fathom.testing.doubles import run_context
from fathom.usage import Budget


def seal_trace(context: RunContext) -> Trace:
    assert isinstance(context.scope, Recorder)
    return context.scope.seal(None)


async def return_two() -> Json:
    return 2


async def wait_forever() -> Json:
    await asyncio.Event().wait()


def fail() -> Any:
    raise AssertionError("a replay asked the outside")


async def fail_async() -> Json:
    return fail()


def test_work_is_done_in_a_thread_and_repeated_in_a_replay() -> None:
    with run_context() as context:
        assert asyncio.run(context.compute("count", threading.get_ident)) != threading.get_ident()
        trace = seal_trace(context)
    with run_context(events=RecordedEvents(trace)) as again:
        assert asyncio.run(again.compute("count", lambda: 7)) == 7
    assert [(event.kind, event.value) for event in trace.events] == [("in time", True)]


def test_work_is_cut_at_the_deadline_and_so_is_its_replay() -> None:
    busy = threading.Event()
    with run_context(seconds=0.05) as context:
        began = time.monotonic()
        with pytest.raises(DeadlineOver, match="--deadline"):
            asyncio.run(context.compute("wait", busy.wait))
        assert time.monotonic() - began < 5
        busy.set()
        assert context.refusals == ["budget: the deadline is over; raise --deadline"]
        trace = seal_trace(context)
    with run_context(events=RecordedEvents(trace)) as again, pytest.raises(DeadlineOver):
        asyncio.run(again.compute("wait", fail))


def test_usage_is_booked_and_recorded() -> None:
    with run_context(Budget(retrievals=1)) as context:
        value, usage = asyncio.run(
            context.spend("search", "q", CostBound(retrievals=1), return_two)
        )
        assert (value, usage.retrievals, context.ledger.usage.retrievals) == (2, 1, 1)
        with pytest.raises(BudgetRefused, match="retrievals would need 1, 0 left"):
            asyncio.run(context.spend("search", "q2", CostBound(retrievals=1), fail_async))
        assert len(context.refusals) == 1
        trace = seal_trace(context)

    with run_context(Budget(retrievals=0), events=RecordedEvents(trace)) as again:
        replayed = again.spend("search", "q", CostBound(retrievals=1), fail_async)
        assert asyncio.run(replayed) == (2, usage)
        with pytest.raises(BudgetRefused, match="retrievals would need 1, 0 left"):
            asyncio.run(again.spend("search", "q2", CostBound(retrievals=1), fail_async))
        assert again.ledger.usage.retrievals == 0


def test_slow_work_is_cut_and_booked() -> None:
    with run_context(seconds=0.02) as context:
        with pytest.raises(DeadlineOver):
            asyncio.run(context.spend("search", "q", CostBound(retrievals=1), wait_forever))
        assert context.ledger.read_balance().spent.retrievals == 1
        assert context.ledger.read_balance().reserved.retrievals == 0
        trace = seal_trace(context)
    with run_context(events=RecordedEvents(trace)) as again, pytest.raises(DeadlineOver):
        asyncio.run(again.spend("search", "q", CostBound(retrievals=1), fail_async))


async def run_failing(_: RunContext) -> str:
    raise LookupError("nobody foresaw this")


async def run_sleeping(context: RunContext) -> str:
    await asyncio.Event().wait()
    return "never"


async def run_asking(context: RunContext) -> str:
    await context.spend("search", "q", CostBound(retrievals=1), return_two)
    return "found"


async def run_answering(context: RunContext) -> str:
    return str(await context.compute("count", lambda: 7))


def test_only_the_successful_branches_count() -> None:
    jobs = {
        "a": run_asking,
        "b": run_failing,
        "c": run_sleeping,
        "d": run_answering,
        "e": run_asking,
    }
    with run_context(Budget(retrievals=1), seconds=0.2) as context:
        outcomes = asyncio.run(context.run_branches(jobs, agent="debater"))
        assert list(outcomes.items()) == [("a", "found"), ("d", "7")]
        assert len(context.refusals) == 2
        trace = seal_trace(context)
    why = {step.name: step.reason for step in trace.steps}
    assert why["b"].startswith("LookupError in runs/test_context.py, line ")
    assert why["c"] == "budget: the deadline is over; raise --deadline"
    assert why["e"] == "budget: retrievals would need 1, 0 left; raise the limit of retrievals"

    with run_context(events=RecordedEvents(trace)) as again:
        nobody = {"b": run_failing, "c": run_sleeping}
        assert asyncio.run(again.run_branches({**jobs, **nobody})) == outcomes
        assert again.refusals == context.refusals


def test_a_branch_with_a_typed_error_ends_all_branches() -> None:
    async def run_damaged(_: RunContext) -> str:
        raise RunError("the index is damaged")

    with run_context() as context, pytest.raises(RunError, match="damaged"):
        asyncio.run(context.run_branches({"a": run_answering, "b": run_damaged}))


def test_cancelling_branches_waits_for_their_end() -> None:
    async def run_whole(context: RunContext) -> set[asyncio.Task[Any]]:
        task = asyncio.create_task(context.run_branches({"a": run_sleeping, "b": run_sleeping}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.all_tasks() - {asyncio.current_task()}

    with run_context() as context:
        assert asyncio.run(run_whole(context)) == set()


def test_a_run_without_branches_keeps_its_budget_and_its_deadline() -> None:
    with open_run("How deep?", what="judge", budget=Budget(calls=1, seconds=60.0)) as context:
        assert context.seconds_left is not None
        assert context.seconds_left <= 60.0
        context.ledger.reserve(CostBound(calls=1))
        with pytest.raises(BudgetRefused):
            context.ledger.reserve(CostBound(calls=1))
    with open_run("How deep?", what="judge", budget=Budget()) as context:
        assert context.seconds_left is None
