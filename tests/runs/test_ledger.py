import asyncio
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fathom.runs.ledger import BudgetRefused, Ledger
from fathom.runs.reservation import NANO, CostBound, ReportedUsage, Reservation, compute_charge
from fathom.usage import Budget, Price, Usage

PRICE = Price(prompt=3.0, completion=7.0)


class Hands:
    """A clock that somebody turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def worst(tokens: int = 0, **more: int) -> CostBound:
    return CostBound(prompt_tokens=tokens, price=PRICE, **more)


def break_off(reservation: Reservation, own: Usage) -> None:
    with reservation:
        reservation.count(own)
        raise ConnectionResetError


def test_the_caps_of_an_account_hold_for_all_its_runs_together() -> None:
    account = Ledger(Budget(tokens=1000))
    most: list[int] = []

    def run(seed: int) -> None:
        drawn = random.Random(seed)
        ledger = Ledger(Budget(tokens=700), account=account)
        for _ in range(30):
            wanted = drawn.randrange(1, 200)
            with suppress(BudgetRefused), ledger.reserve(worst(wanted)) as room:
                balance = account.read_balance()
                most.append(balance.spent.tokens + balance.reserved.tokens)
                room.settle(Usage(prompt_tokens=drawn.randrange(wanted + 1)))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(run, range(8)))
    assert 700 < max(most) <= 1000
    assert account.read_balance().reserved.tokens == 0
    left = account.get_remaining_budget().tokens
    assert left is not None
    assert Ledger(Budget(tokens=700), account=account).get_remaining_budget().tokens == min(
        700, left
    )


def test_a_day_in_the_books() -> None:
    ledger = Ledger(Budget(tokens=1_000, calls=3, retrievals=2))

    with ledger.reserve(worst(600, calls=1)) as reservation:
        assert ledger.get_remaining_budget() == Budget(tokens=400, calls=2, retrievals=2)
        reservation.settle(Usage(llm_calls=1, prompt_tokens=450))
        assert ledger.get_remaining_budget().tokens == 550
    with ledger.reserve(worst(retrievals=2)) as reservation:
        reservation.settle(Usage(retrievals=1))

    assert ledger.get_remaining_budget() == Budget(tokens=550, calls=2, retrievals=1)
    assert ledger.read_balance().reserved == Usage()
    assert ledger.usage.tokens == 450


@pytest.mark.parametrize(
    ("budget", "step", "limit"),
    [
        (Budget(tokens=9), worst(10), "tokens"),
        (Budget(calls=0), worst(calls=1), "calls"),
        (Budget(retrievals=1), worst(retrievals=2), "retrievals"),
        (Budget(cost_usd=0.00002), worst(10), "cost_usd"),
        (Budget(seconds=0), worst(), "seconds"),
        (Budget(seconds=2), CostBound(least_seconds=3), "seconds"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(budget: Budget, step: CostBound, limit: str) -> None:
    ledger = Ledger(budget, clock=Hands())
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
        (Budget(tokens=10), worst(10)),
        (Budget(calls=1), worst(calls=1)),
        (Budget(cost_usd=0.00003), worst(10)),
        (Budget(seconds=2), CostBound(least_seconds=2)),
        (Budget(), worst(10**15, calls=10**9)),
    ],
)
def test_what_fits_exactly_fits(budget: Budget, step: CostBound) -> None:
    ledger = Ledger(budget, clock=Hands())

    with ledger.reserve(step):
        pass


def test_an_unknown_cost_is_refused_where_money_is_limited_and_unknown_where_it_is_not() -> None:
    unpriced = CostBound(calls=1, prompt_tokens=10)
    with pytest.raises(BudgetRefused, match="cost is unknown"):
        Ledger(Budget(cost_usd=100)).reserve(unpriced)

    ledger = Ledger(Budget())
    with ledger.reserve(unpriced) as reservation:
        assert ledger.read_balance().reserved.cost_usd is None
        reservation.settle(Usage(llm_calls=1, prompt_tokens=10))

    assert ledger.usage.cost_usd is None
    assert ledger.read_balance().reserved.cost_usd == 0


def test_an_error_books_what_was_counted_and_frees_the_rest_once() -> None:
    ledger = Ledger(Budget(tokens=100))

    reservation = ledger.reserve(worst(60, calls=1))

    with pytest.raises(ConnectionResetError):
        break_off(reservation, Usage(llm_calls=1, prompt_tokens=10))

    assert reservation.release() is None
    assert ledger.usage.tokens == 10
    assert ledger.usage.llm_calls == 1
    assert ledger.get_remaining_budget().tokens == 90


def test_what_was_never_sent_costs_nothing() -> None:
    ledger = Ledger(Budget(calls=1, cost_usd=1))

    with ledger.reserve(CostBound(calls=1, price=PRICE, fee_usd=0.5)):
        pass

    assert ledger.get_remaining_budget() == Budget(calls=1, cost_usd=1)


def test_the_last_step_is_affordable_whatever_the_others_take() -> None:
    clock = Hands()
    ledger = Ledger(Budget(tokens=100, calls=10, seconds=10, cost_usd=1), clock=clock)
    last = ledger.hold_back(worst(30, calls=1, seconds=3))

    greedy = ledger.reserve(worst(70, calls=9))
    assert greedy.seconds_left == 7
    with greedy:
        greedy.settle(Usage(llm_calls=9, prompt_tokens=70))
    with pytest.raises(BudgetRefused) as caught:
        ledger.reserve(worst(1))
    assert caught.value.limit == "tokens"
    clock.now += 7
    with pytest.raises(BudgetRefused) as caught:
        ledger.reserve(worst())
    assert caught.value.limit == "seconds"

    with last:
        assert last.seconds_left == 3
        last.settle(Usage(llm_calls=1, prompt_tokens=30))
    assert ledger.usage.tokens == 100
    assert ledger.get_remaining_budget().tokens == 0


def test_a_last_step_that_is_not_needed_gives_its_room_back() -> None:
    ledger = Ledger(Budget(tokens=100, seconds=10), clock=Hands())
    last = ledger.hold_back(worst(30, seconds=3))
    assert ledger.get_remaining_budget() == Budget(tokens=70, seconds=7)

    last.release()

    assert ledger.get_remaining_budget() == Budget(tokens=100, seconds=10)


def test_a_last_step_that_does_not_fit_is_refused_at_the_start() -> None:
    with pytest.raises(BudgetRefused):
        Ledger(Budget(tokens=29)).hold_back(worst(30))
    with pytest.raises(BudgetRefused):
        Ledger(Budget(seconds=2), clock=Hands()).hold_back(worst(seconds=3))


def test_time_is_cut_to_what_is_left() -> None:
    clock = Hands()
    ledger = Ledger(Budget(seconds=10), clock=clock)

    assert ledger.reserve(worst()).seconds_left == 10
    assert ledger.reserve(worst(seconds=4)).seconds_left == 4
    clock.now += 8
    late = ledger.reserve(worst(seconds=4))
    assert late.seconds_left == 2
    clock.now += 5
    assert late.seconds_left == 0
    assert ledger.get_remaining_budget().seconds == 0
    assert Ledger(Budget()).reserve(worst()).seconds_left is None


def test_a_deadline_cancels_and_books() -> None:
    ledger = Ledger(Budget(tokens=50, seconds=0.01))
    ended = False

    async def wait_for_ever() -> None:
        nonlocal ended
        async with ledger.reserve(worst(40, calls=1)) as reservation:
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
    async def scene() -> Ledger:
        ledger = Ledger(Budget(tokens=50))
        started = asyncio.Event()

        async def step() -> None:
            async with ledger.reserve(worst(40)):
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(step())
        await started.wait()
        assert ledger.get_remaining_budget().tokens == 10
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ledger

    assert asyncio.run(scene()).get_remaining_budget().tokens == 50


def test_threads_share_one_cap() -> None:
    ledger = Ledger(Budget(tokens=1_000, calls=1_000))
    gate = threading.Barrier(8)

    def spend() -> int:
        gate.wait()
        done = 0
        for _ in range(300):
            try:
                reservation = ledger.reserve(worst(3, calls=1))
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


class Books(RuleBasedStateMachine):
    """Any order of reserving, counting, settling, releasing and waiting, with a lying server."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Hands()
        self.ledger = Ledger(
            Budget(tokens=300, calls=6, seconds=20, cost_usd=0.0015, retrievals=6),
            clock=self.clock,
        )
        self.last = self.ledger.hold_back(worst(40, calls=1, seconds=2))
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
        own = part(reservation.bound, share)
        booked = reservation.settle(own, ReportedUsage(prompt=reported, completion=reported))
        assert booked.overrun is (own != part(reservation.bound, min(share, 1.0)))
        self.truth += booked.usage

    @precondition(lambda self: self.open)
    @rule(data=st.data(), share=st.floats(0, 1))
    def fail(self, data: st.DataObject, share: float) -> None:
        reservation = self.take(data)
        own = part(reservation.bound, share)
        with pytest.raises(ConnectionResetError):
            break_off(reservation, own)
        self.truth += Usage(
            llm_calls=own.llm_calls,
            prompt_tokens=own.prompt_tokens,
            completion_tokens=own.completion_tokens,
            retrievals=own.retrievals,
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
    def nothing_is_overrun(self) -> None:
        assert_within(self.ledger)
        for reservation in self.open:
            left = reservation.seconds_left
            assert left is not None
            assert left == 0 or self.clock.now + left <= 100 + 20 - 2 + 1e-9

    @invariant()
    def every_token_is_in_the_books(self) -> None:
        balance = self.ledger.read_balance()
        assert balance.spent.tokens == self.truth.tokens
        assert balance.spent.llm_calls == self.truth.llm_calls
        assert balance.spent.retrievals == self.truth.retrievals
        waiting = [compute_charge(r.bound).tokens for r in self.open]
        assert balance.reserved.tokens == sum(waiting) + 40

    def teardown(self) -> None:
        """The last step is affordable at any time, and leaves no reservation behind."""
        with self.last:
            booked = self.last.settle(Usage(llm_calls=1, prompt_tokens=40))
        assert not booked.overrun
        assert_within(self.ledger)
        for reservation in self.open:
            reservation.release()
        assert self.ledger.read_balance().reserved == Usage()


def part(whole: CostBound, share: float) -> Usage:
    return Usage(
        llm_calls=int(whole.calls * share),
        prompt_tokens=int(whole.prompt_tokens * share),
        completion_tokens=int(whole.completion_tokens * share),
        retrievals=int(whole.retrievals * share),
    )


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


class Branches:
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
            own = part(step, dice.random())
            reservation.count(own)
            await asyncio.sleep(0)
            if dice.random() < 0.2:
                raise ConnectionResetError
            if dice.random() < 0.2:
                await asyncio.Event().wait()
            lie = dice.choice([None, -1, 0, 10**12, float("nan"), 1])
            reservation.settle(own, ReportedUsage(prompt=lie, completion=lie))

    def check(self) -> None:
        self.checks += 1
        assert_within(self.ledger)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@given(seed=st.integers())
@settings(max_examples=1_000, deadline=None)
def test_parallel_branches_never_overshoot(loop: asyncio.Runner, seed: int) -> None:
    loop.run(Branches(seed).run())


@pytest.mark.slow
@given(seed=st.integers())
@settings(max_examples=10_000, deadline=None)
def test_parallel_branches_never_overshoot_in_many_runs(loop: asyncio.Runner, seed: int) -> None:
    loop.run(Branches(seed).run())
