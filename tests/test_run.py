import asyncio
import threading
import time
from typing import Any

import pytest
from tests.making import run_of

from fathom.errors import RunError
from fathom.ledger import BudgetRefused
from fathom.plain import Json
from fathom.reservation import Worst
from fathom.run import DeadlineOver, Listener, Run
from fathom.tracing.recorder import Recorder
from fathom.tracing.replay import Recorded
from fathom.tracing.trace import Trace
from fathom.usage import Budget


def sealed(run: Run) -> Trace:
    assert isinstance(run.scope, Recorder)
    return run.scope.seal(None)


async def two() -> Json:
    return 2


async def forever() -> Json:
    await asyncio.Event().wait()


def nobody() -> Any:
    raise AssertionError("a replay asked the outside")


async def nobody_async() -> Json:
    return nobody()


def test_work_is_done_in_a_thread_and_again_in_a_replay() -> None:
    with run_of() as run:
        assert asyncio.run(run.compute("count", threading.get_ident)) != threading.get_ident()
        trace = sealed(run)
    with run_of(events=Recorded(trace)) as again:
        assert asyncio.run(again.compute("count", lambda: 7)) == 7
    assert [(event.kind, event.value) for event in trace.events] == [("in time", True)]


def test_work_is_cut_at_the_deadline_and_so_is_its_replay() -> None:
    busy = threading.Event()
    with run_of(seconds=0.05) as run:
        began = time.monotonic()
        with pytest.raises(DeadlineOver, match="--deadline"):
            asyncio.run(run.compute("wait", busy.wait))
        assert time.monotonic() - began < 5
        busy.set()
        assert run.refusals == ["budget: the deadline is over; raise --deadline"]
        trace = sealed(run)
    with run_of(events=Recorded(trace)) as again, pytest.raises(DeadlineOver):
        asyncio.run(again.compute("wait", nobody))


def test_what_is_spent_is_booked_and_recorded() -> None:
    with run_of(Budget(retrievals=1)) as run:
        value, usage = asyncio.run(run.spend("search", "q", Worst(retrievals=1), two))
        assert (value, usage.retrievals, run.ledger.usage.retrievals) == (2, 1, 1)
        with pytest.raises(BudgetRefused, match="retrievals would need 1, 0 left"):
            asyncio.run(run.spend("search", "q2", Worst(retrievals=1), nobody_async))
        assert len(run.refusals) == 1
        trace = sealed(run)

    with run_of(Budget(retrievals=0), events=Recorded(trace)) as again:
        replayed = again.spend("search", "q", Worst(retrievals=1), nobody_async)
        assert asyncio.run(replayed) == (2, usage)
        with pytest.raises(BudgetRefused, match="retrievals would need 1, 0 left"):
            asyncio.run(again.spend("search", "q2", Worst(retrievals=1), nobody_async))
        assert again.ledger.usage.retrievals == 0


def test_what_takes_too_long_is_cut_and_booked() -> None:
    with run_of(seconds=0.02) as run:
        with pytest.raises(DeadlineOver):
            asyncio.run(run.spend("search", "q", Worst(retrievals=1), forever))
        assert run.ledger.balance().spent.retrievals == 1
        assert run.ledger.balance().reserved.retrievals == 0
        trace = sealed(run)
    with run_of(events=Recorded(trace)) as again, pytest.raises(DeadlineOver):
        asyncio.run(again.spend("search", "q", Worst(retrievals=1), nobody_async))


def test_the_listener_hears_of_each_step() -> None:
    heard: list[tuple[str, str]] = []

    class Ear(Listener):
        def step(self, name: str, news: str) -> None:
            heard.append((name, news))

    with run_of() as quiet:
        run = Run(ledger=quiet.ledger, scope=quiet.scope, executor=quiet.executor, listener=Ear())
        with run.step("read", agent="reader") as here, here.step("ask") as inner:
            inner.done(reason="said")
            here.done(verdict="model")
        assert [step.id for step in sealed(run).steps] == ["read/ask", "read"]
    assert heard == [("read", ""), ("ask", ""), ("ask", "said"), ("read", "model")]


async def fails(_: Run) -> str:
    raise LookupError("nobody foresaw this")


async def sleeps(run: Run) -> str:
    await asyncio.Event().wait()
    return "never"


async def asks(run: Run) -> str:
    await run.spend("search", "q", Worst(retrievals=1), two)
    return "found"


async def answers(run: Run) -> str:
    return str(await run.compute("count", lambda: 7))


def test_of_several_branches_those_that_come_through_count() -> None:
    jobs = {"a": asks, "b": fails, "c": sleeps, "d": answers, "e": asks}
    with run_of(Budget(retrievals=1), seconds=0.2) as run:
        found = asyncio.run(run.branches(jobs, agent="debater"))
        assert list(found.items()) == [("a", "found"), ("d", "7")]
        assert len(run.refusals) == 2
        trace = sealed(run)
    why = {step.name: step.reason for step in trace.steps}
    assert why["b"].startswith("LookupError in tests/test_run.py, line ")
    assert why["c"] == "budget: the deadline is over; raise --deadline"
    assert why["e"] == "budget: retrievals would need 1, 0 left; raise the limit of retrievals"

    with run_of(events=Recorded(trace)) as again:
        nobody = {"b": fails, "c": sleeps}
        assert asyncio.run(again.branches({**jobs, **nobody})) == found
        assert again.refusals == run.refusals


def test_a_branch_that_meets_a_known_error_ends_them_all() -> None:
    async def damaged(_: Run) -> str:
        raise RunError("the index is damaged")

    with run_of() as run, pytest.raises(RunError, match="damaged"):
        asyncio.run(run.branches({"a": answers, "b": damaged}))


def test_who_cancels_branches_waits_for_their_end() -> None:
    async def whole(run: Run) -> set[asyncio.Task[Any]]:
        task = asyncio.create_task(run.branches({"a": sleeps, "b": sleeps}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.all_tasks() - {asyncio.current_task()}

    with run_of() as run:
        assert asyncio.run(whole(run)) == set()
