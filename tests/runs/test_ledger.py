import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fathom.runs.ledger import BudgetRefused, Ledger
from fathom.runs.reservation import NANO, CostBound, ReportedUsage, Reservation, compute_charge
from fathom.usage import Budget, Price, Usage

PRICE = Price(prompt=3.0, completion=7.0)


class ManualClock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def make_bound(tokens: int = 0, **more: int) -> CostBound:
    return CostBound(prompt_tokens=tokens, price=PRICE, **more)


def raise_error(reservation: Reservation, counted: Usage) -> None:
    with reservation:
        reservation.count(counted)
        raise ConnectionResetError


def test_the_caps_of_an_account_hold_for_all_its_runs_together() -> None:
    account = Ledger(Budget(tokens=1000))
    most: list[int] = []

    def run_once(seed: int) -> None:
        drawn = random.Random(seed)
        ledger = Ledger(Budget(tokens=700), account=account)
        for _ in range(30):
            tokens = drawn.randrange(1, 200)
            with suppress(BudgetRefused), ledger.reserve(make_bound(tokens)) as room:
                balance = account.read_balance()
                most.append(balance.spent.tokens + balance.reserved.tokens)
                room.settle(Usage(prompt_tokens=drawn.randrange(tokens + 1)))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(run_once, range(8)))
    assert 700 < max(most) <= 1000
    assert account.read_balance().reserved.tokens == 0
    remaining = account.get_remaining_budget().tokens
    assert remaining is not None
    assert Ledger(Budget(tokens=700), account=account).get_remaining_budget().tokens == min(
        700, remaining
    )


@pytest.mark.parametrize("size", [1e15, 1e300, 1.7e308])
def test_a_cap_of_any_finite_size_holds(size: float) -> None:
    count = int(size)
    caps = Budget(tokens=count, calls=count, seconds=size, cost_usd=size, retrievals=count)
    ledger = Ledger(caps, account=Ledger(caps))

    async def spend() -> None:
        async with ledger.reserve(make_bound(1000, calls=1, retrievals=1)) as room:
            room.settle(Usage(llm_calls=1, prompt_tokens=1000, retrievals=1))

    asyncio.run(spend())
    remaining = ledger.get_remaining_budget()
    assert remaining.tokens == count - 1000
    assert remaining.cost_usd == pytest.approx(size)
    with pytest.raises(BudgetRefused, match="calls would need"):
        ledger.reserve(make_bound(calls=count))


def test_a_full_day_of_bookings_adds_up() -> None:
    ledger = Ledger(Budget(tokens=1_000, calls=3, retrievals=2))

    with ledger.reserve(make_bound(600, calls=1)) as reservation:
        assert ledger.get_remaining_budget() == Budget(tokens=400, calls=2, retrievals=2)
        reservation.settle(Usage(llm_calls=1, prompt_tokens=450))
        assert ledger.get_remaining_budget().tokens == 550
    with ledger.reserve(make_bound(retrievals=2)) as reservation:
        reservation.settle(Usage(retrievals=1))

    assert ledger.get_remaining_budget() == Budget(tokens=550, calls=2, retrievals=1)
    assert ledger.read_balance().reserved == Usage()
    assert ledger.usage.tokens == 450


@pytest.mark.parametrize(
    ("budget", "step", "limit"),
    [
        (Budget(tokens=9), make_bound(10), "tokens"),
        (Budget(calls=0), make_bound(calls=1), "calls"),
        (Budget(retrievals=1), make_bound(retrievals=2), "retrievals"),
        (Budget(cost_usd=0.00002), make_bound(10), "cost_usd"),
        (Budget(seconds=0), make_bound(), "seconds"),
        (Budget(seconds=2), CostBound(least_seconds=3), "seconds"),
    ],
)
def test_a_step_that_does_not_fit_is_refused_by_name(
    budget: Budget, step: CostBound, limit: str
) -> None:
    ledger = Ledger(budget, clock=ManualClock())
    before = ledger.read_balance()

    with pytest.raises(BudgetRefused) as caught:
        ledger.reserve(step)

    assert caught.value.limit == limit
    assert "raise" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 4
    assert ledger.read_balance() == before


@pytest.mark.parametrize(
    ("budget", "step"),
    [
        (Budget(tokens=10), make_bound(10)),
        (Budget(calls=1), make_bound(calls=1)),
        (Budget(cost_usd=0.00003), make_bound(10)),
        (Budget(seconds=2), CostBound(least_seconds=2)),
        (Budget(), make_bound(10**15, calls=10**9)),
    ],
)
def test_a_step_that_fits_exactly_is_accepted(budget: Budget, step: CostBound) -> None:
    ledger = Ledger(budget, clock=ManualClock())

    with ledger.reserve(step):
        pass


def test_an_unknown_cost_is_refused_only_under_a_money_limit() -> None:
    unpriced = CostBound(calls=1, prompt_tokens=10)
    with pytest.raises(BudgetRefused, match="cost is unknown"):
        Ledger(Budget(cost_usd=100)).reserve(unpriced)

    ledger = Ledger(Budget())
    with ledger.reserve(unpriced) as reservation:
        assert ledger.read_balance().reserved.cost_usd is None
        reservation.settle(Usage(llm_calls=1, prompt_tokens=10))

    assert ledger.usage.cost_usd is None
    assert ledger.read_balance().reserved.cost_usd == 0


def test_an_error_books_the_counted_usage_and_frees_the_rest_once() -> None:
    ledger = Ledger(Budget(tokens=100))

    reservation = ledger.reserve(make_bound(60, calls=1))

    with pytest.raises(ConnectionResetError):
        raise_error(reservation, Usage(llm_calls=1, prompt_tokens=10))

    assert reservation.release() is None
    assert ledger.usage.tokens == 10
    assert ledger.usage.llm_calls == 1
    assert ledger.get_remaining_budget().tokens == 90


def test_a_request_that_was_never_sent_costs_nothing() -> None:
    ledger = Ledger(Budget(calls=1, cost_usd=1))

    with ledger.reserve(CostBound(calls=1, price=PRICE, fee_usd=0.5)):
        pass

    assert ledger.get_remaining_budget() == Budget(calls=1, cost_usd=1)


def test_the_last_step_is_affordable_whatever_the_others_take() -> None:
    clock = ManualClock()
    ledger = Ledger(Budget(tokens=100, calls=10, seconds=10, cost_usd=1), clock=clock)
    last = ledger.hold_back(make_bound(30, calls=1, seconds=3))

    greedy = ledger.reserve(make_bound(70, calls=9))
    assert greedy.seconds_left == 7
    with greedy:
        greedy.settle(Usage(llm_calls=9, prompt_tokens=70))
    with pytest.raises(BudgetRefused) as caught:
        ledger.reserve(make_bound(1))
    assert caught.value.limit == "tokens"
    clock.now += 7
    with pytest.raises(BudgetRefused) as caught:
        ledger.reserve(make_bound())
    assert caught.value.limit == "seconds"

    with last:
        assert last.seconds_left == 3
        last.settle(Usage(llm_calls=1, prompt_tokens=30))
    assert ledger.usage.tokens == 100
    assert ledger.get_remaining_budget().tokens == 0


def test_an_unneeded_last_step_returns_its_room() -> None:
    ledger = Ledger(Budget(tokens=100, seconds=10), clock=ManualClock())
    last = ledger.hold_back(make_bound(30, seconds=3))
    assert ledger.get_remaining_budget() == Budget(tokens=70, seconds=7)

    last.release()

    assert ledger.get_remaining_budget() == Budget(tokens=100, seconds=10)


def test_a_last_step_that_does_not_fit_is_refused_at_the_start() -> None:
    with pytest.raises(BudgetRefused):
        Ledger(Budget(tokens=29)).hold_back(make_bound(30))
    with pytest.raises(BudgetRefused):
        Ledger(Budget(seconds=2), clock=ManualClock()).hold_back(make_bound(seconds=3))


def test_time_is_cut_to_the_remaining_seconds() -> None:
    clock = ManualClock()
    ledger = Ledger(Budget(seconds=10), clock=clock)

    assert ledger.reserve(make_bound()).seconds_left == 10
    assert ledger.reserve(make_bound(seconds=4)).seconds_left == 4
    clock.now += 8
    late = ledger.reserve(make_bound(seconds=4))
    assert late.seconds_left == 2
    clock.now += 5
    assert late.seconds_left == 0
    assert ledger.get_remaining_budget().seconds == 0
    assert Ledger(Budget()).reserve(make_bound()).seconds_left is None


def test_a_deadline_cancels_and_books() -> None:
    ledger = Ledger(Budget(tokens=50, seconds=0.01))
    ended = False

    async def wait_for_ever() -> None:
        nonlocal ended
        async with ledger.reserve(make_bound(40, calls=1)) as reservation:
            reservation.count(Usage(llm_calls=1, prompt_tokens=25))
            try:
                await asyncio.Event().wait()
            finally:
                ended = True

    with pytest.raises(TimeoutError):
        asyncio.run(wait_for_ever())

    assert ended
    assert ledger.usage.tokens == 25
    assert ledger.get_remaining_budget().tokens == 25


def test_a_cancelled_task_frees_its_room() -> None:
    async def cancel_step() -> Ledger:
        ledger = Ledger(Budget(tokens=50))
        started = asyncio.Event()

        async def step() -> None:
            async with ledger.reserve(make_bound(40)):
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(step())
        await started.wait()
        assert ledger.get_remaining_budget().tokens == 10
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ledger

    assert asyncio.run(cancel_step()).get_remaining_budget().tokens == 50


def test_threads_share_one_cap() -> None:
    ledger = Ledger(Budget(tokens=1_000, calls=1_000))
    gate = threading.Barrier(8)

    def spend() -> int:
        gate.wait()
        done = 0
        for _ in range(300):
            try:
                reservation = ledger.reserve(make_bound(3, calls=1))
            except BudgetRefused:
                continue
            reservation.settle(Usage(llm_calls=1, prompt_tokens=3))
            done += 1
        return done

    with ThreadPoolExecutor(8) as pool:
        done = sum(future.result() for future in [pool.submit(spend) for _ in range(8)])

    # 1,000 tokens hold 333 steps of 3, and refusals while others are open are not tried again.
    assert ledger.usage.tokens == 3 * done <= 1_000
    assert ledger.read_balance().reserved == Usage()


def assert_within(ledger: Ledger) -> None:
    balance, caps = ledger.read_balance(), ledger.budget
    assert caps.tokens is not None
    assert caps.calls is not None
    assert caps.cost_usd is not None
    assert caps.retrievals is not None
    assert balance.spent.tokens + balance.reserved.tokens <= caps.tokens
    assert balance.spent.llm_calls + balance.reserved.llm_calls <= caps.calls
    assert balance.spent.retrievals + balance.reserved.retrievals <= caps.retrievals
    assert balance.spent.cost_usd is not None
    assert balance.reserved.cost_usd is not None
    nano = round(balance.spent.cost_usd * NANO) + round(balance.reserved.cost_usd * NANO)
    assert nano <= round(caps.cost_usd * NANO)


COUNTS = st.integers(0, 60)
REPORTS = st.one_of(st.none(), st.integers(), st.floats(allow_nan=True), st.text(max_size=3))
WORSTS = st.builds(
    CostBound,
    calls=st.integers(0, 2),
    prompt_tokens=COUNTS,
    completion_tokens=COUNTS,
    retrievals=st.integers(0, 2),
    seconds=st.none() | st.floats(0, 5),
    least_seconds=st.floats(0, 2),
    price=st.just(PRICE),
    fee_usd=st.sampled_from([0.0, 0.0001]),
)


class LedgerMachine(RuleBasedStateMachine):
    """Any order of reserving, counting, settling, releasing and waiting, with a lying server."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.ledger = Ledger(
            Budget(tokens=300, calls=6, seconds=20, cost_usd=0.0015, retrievals=6),
            clock=self.clock,
        )
        self.last = self.ledger.hold_back(make_bound(40, calls=1, seconds=2))
        self.open: list[Reservation] = []
        self.truth = Usage()

    @rule(step=WORSTS)
    def reserve(self, step: CostBound) -> None:
        before = self.ledger.read_balance()
        try:
            self.open.append(self.ledger.reserve(step))
        except BudgetRefused:
            assert self.ledger.read_balance() == before

    @precondition(lambda self: self.open)
    @rule(data=st.data(), share=st.floats(0, 1.5), reported=REPORTS)
    def settle(self, data: st.DataObject, share: float, reported: object) -> None:
        reservation = self.take(data)
        counted = scale_bound(reservation.bound, share)
        booked = reservation.settle(counted, ReportedUsage(prompt=reported, completion=reported))
        assert booked.overrun is (counted != scale_bound(reservation.bound, min(share, 1.0)))
        self.truth += booked.usage

    @precondition(lambda self: self.open)
    @rule(data=st.data(), share=st.floats(0, 1))
    def fail(self, data: st.DataObject, share: float) -> None:
        reservation = self.take(data)
        counted = scale_bound(reservation.bound, share)
        with pytest.raises(ConnectionResetError):
            raise_error(reservation, counted)
        self.truth += Usage(
            llm_calls=counted.llm_calls,
            prompt_tokens=counted.prompt_tokens,
            completion_tokens=counted.completion_tokens,
            retrievals=counted.retrievals,
        )

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def release_twice(self, data: st.DataObject) -> None:
        reservation = self.take(data)
        assert reservation.release() is not None
        assert reservation.release() is None
        with pytest.raises(ValueError, match="once"):
            reservation.settle(Usage())

    @rule(seconds=st.floats(0, 3))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    def take(self, data: st.DataObject) -> Reservation:
        return self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))

    @invariant()
    def check_no_overrun(self) -> None:
        assert_within(self.ledger)
        for reservation in self.open:
            seconds_left = reservation.seconds_left
            assert seconds_left is not None
            assert seconds_left == 0 or self.clock.now + seconds_left <= 100 + 20 - 2 + 1e-9

    @invariant()
    def check_every_token_is_booked(self) -> None:
        balance = self.ledger.read_balance()
        assert balance.spent.tokens == self.truth.tokens
        assert balance.spent.llm_calls == self.truth.llm_calls
        assert balance.spent.retrievals == self.truth.retrievals
        waiting = [compute_charge(r.bound).tokens for r in self.open]
        assert balance.reserved.tokens == sum(waiting) + 40

    def teardown(self) -> None:
        """Check that the last step is always affordable and leaves no reservation behind."""
        with self.last:
            booked = self.last.settle(Usage(llm_calls=1, prompt_tokens=40))
        assert not booked.overrun
        assert_within(self.ledger)
        for reservation in self.open:
            reservation.release()
        assert self.ledger.read_balance().reserved == Usage()


def scale_bound(whole: CostBound, share: float) -> Usage:
    return Usage(
        llm_calls=int(whole.calls * share),
        prompt_tokens=int(whole.prompt_tokens * share),
        completion_tokens=int(whole.completion_tokens * share),
        retrievals=int(whole.retrievals * share),
    )


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


class BranchingRun:
    """Parallel steps that retry, fail, hang, are cut off and open branches of their own."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.checks = 0
        self.ledger = Ledger(
            Budget(
                tokens=self.dice.randint(0, 800),
                calls=self.dice.randint(0, 12),
                retrievals=self.dice.randint(0, 8),
                cost_usd=self.dice.randint(0, 4_000) / 1_000_000,
            )
        )

    async def run(self) -> None:
        tasks = [asyncio.create_task(self.branch(depth=2)) for _ in range(4)]
        for _ in range(12):
            await asyncio.sleep(0)
            self.check()
            if self.dice.random() < 0.1:
                self.dice.choice(tasks).cancel()
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError)
        assert self.ledger.read_balance().reserved == Usage()

    async def branch(self, depth: int) -> None:
        for _ in range(self.dice.randint(1, 3)):
            with suppress(BudgetRefused, ConnectionResetError):
                await self.step()
            self.check()
            if depth and self.dice.random() < 0.5:
                await asyncio.gather(self.branch(depth - 1), self.branch(depth - 1))

    async def step(self) -> None:
        dice = self.dice
        step = CostBound(
            calls=1,
            prompt_tokens=dice.randint(0, 60),
            completion_tokens=dice.randint(0, 60),
            retrievals=dice.randint(0, 1),
            price=PRICE,
        )
        async with self.ledger.reserve(step) as reservation:
            self.check()
            counted = scale_bound(step, dice.random())
            reservation.count(counted)
            await asyncio.sleep(0)
            if dice.random() < 0.2:
                raise ConnectionResetError
            if dice.random() < 0.2:
                await asyncio.Event().wait()
            lie = dice.choice([None, -1, 0, 10**12, float("nan"), 1])
            reservation.settle(counted, ReportedUsage(prompt=lie, completion=lie))

    def check(self) -> None:
        self.checks += 1
        assert_within(self.ledger)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@given(seed=st.integers())
@settings(max_examples=300, deadline=None)
def test_parallel_branches_never_overshoot(loop: asyncio.Runner, seed: int) -> None:
    loop.run(BranchingRun(seed).run())


@pytest.mark.slow
@given(seed=st.integers())
@settings(
    max_examples=10_000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # it counts all examples
)
def test_parallel_branches_never_overshoot_in_many_runs(
    loop: asyncio.Runner, count_probes: Callable[[int], None], seed: int
) -> None:
    count_probes(1)
    loop.run(BranchingRun(seed).run())
