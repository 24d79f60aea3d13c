"""The ledger: nothing is started whose worst case does not fit, so no budget can be overrun.

Before a model call, a retrieval or a web call its worst case is reserved; afterwards what it
really spent is booked and the rest is freed, exactly once, also after an error or a
cancellation. In every dimension of the budget, at every instant and from any thread,
spent + reserved <= cap. Two things make that hold: the caller never takes more than it reserved
(it stops reading at the reserved tokens and at the deadline), and a server's word about usage is
believed only between our own count and the reservation.

    ledger = Ledger(Budget(tokens=5_000, seconds=20))
    last = ledger.hold_back(CostBound(calls=1, prompt_tokens=800, completion_tokens=200, seconds=5))
    ...
    async with ledger.reserve(worst) as reservation:         # cancels the body at its deadline
        reservation.count(Usage(llm_calls=1, prompt_tokens=n))     # sent, so it may be billed
        ...
        reservation.settle(own, Reported(prompt=..., completion=...))
    ...
    async with last as reservation:                               # was affordable all along
        ...
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import floor, inf
from typing import ClassVar, Literal, Protocol

from fathom.errors import RunError
from fathom.runs.reservation import NANO, Charge, CostBound, Reservation, charge
from fathom.usage import Budget, Usage

Limit = Literal["seconds", "calls", "tokens", "retrievals", "cost_usd"]

_FLAGS: dict[Limit, str] = {
    "seconds": "--deadline",
    "calls": "--max-calls",
    "tokens": "--max-tokens",
    "retrievals": "the limit of retrievals",
    "cost_usd": "--max-cost",
}


class BudgetRefused(RunError):
    """A step was not started because its worst case does not fit.

    Attributes:
        limit: The first limit that it would overrun.
        needed: Its worst case in that dimension; `None` when its cost is unknown.
        left: What may still be reserved there.
    """

    exit_code: ClassVar[int] = 4

    def __init__(self, limit: Limit, *, needed: float | None, left: float) -> None:
        super().__init__(limit, needed, left)
        self.limit = limit
        self.needed = needed
        self.left = left

    def __str__(self) -> str:
        flag = _FLAGS[self.limit]
        if self.needed is None:
            return f"budget: the cost is unknown and money is limited; add the price or drop {flag}"
        return (
            f"budget: {self.limit} would need {self.needed:.9g}, {self.left:.9g} left; raise {flag}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The ledger at one instant; seconds of `reserved` are those held back for the last step."""

    spent: Usage
    reserved: Usage


class Account(Protocol):
    """Holds the caps of several runs together: whatever a run reserves and books goes here too."""

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """Set an amount aside for a run that has this as its account.

        Raises:
            BudgetRefused: If it does not fit beside what all its runs have spent and reserved.
        """
        ...

    def book(self, amount: Charge, spent: Charge) -> None:
        """End what was drawn: so much of it was spent."""
        ...

    def left(self) -> "dict[Limit, float]":
        """What may still be reserved, cost in billionths of a USD; infinite without limit."""
        ...


class Ledger:
    """What one run has spent and reserved; safe from threads and tasks, without I/O."""

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        *,
        account: Account | None = None,
    ) -> None:
        """Open the books; the time of the budget starts now.

        Args:
            budget: The caps.
            clock: Seconds that never run backwards.
            account: Whose caps hold too, for all runs together that have it; whatever is
                reserved and booked here is reserved and booked there in the same step.
        """
        self.budget = budget
        self._account = account
        self._clock = clock
        self._started = clock()
        self._end = inf if budget.seconds is None else self._started + budget.seconds
        self._lock = threading.Lock()
        self._spent = Charge()
        self._open: dict[Reservation, Charge] = {}
        self._reserved = Charge()
        self._held_seconds = 0.0
        self._held: dict[Reservation, float] = {}

    def reserve(self, bound: CostBound) -> Reservation:
        """Set `bound` aside for a step that starts now.

        Raises:
            BudgetRefused: If it does not fit beside what is spent, reserved and held back.
        """
        with self._lock:
            amount = charge(bound)
            self._admit(bound, amount)
            self._draw(bound, amount)
            return self._set_aside(bound, amount, self._end - self._held_seconds)

    def hold_back(self, bound: CostBound) -> Reservation:
        """Set `bound` aside for the last step, to be entered later.

        Its seconds are kept free too: whatever else is reserved has an earlier deadline. To be
        called before anything else is reserved.

        Raises:
            BudgetRefused: If it does not fit; then only a step that costs nothing can be last.
        """
        with self._lock:
            amount = charge(bound)
            seconds = max(bound.seconds or 0.0, bound.least_seconds)
            self._admit(bound, amount, needs_s=seconds)
            self._draw(bound, amount)
            reservation = self._set_aside(bound, amount, self._end)
            self._held[reservation] = seconds
            self._held_seconds += seconds
            return reservation

    def remaining(self) -> Budget:
        """What may still be reserved, in every dimension; `None` is without limit."""
        left = self.left()
        cost = left["cost_usd"]
        return Budget(
            tokens=_whole(left["tokens"]),
            calls=_whole(left["calls"]),
            seconds=None if left["seconds"] == inf else max(0.0, left["seconds"]),
            cost_usd=None if cost == inf else cost / NANO,
            retrievals=_whole(left["retrievals"]),
        )

    def left(self) -> "dict[Limit, float]":
        """See `Account.left`."""
        with self._lock:
            left = self._left()
        if self._account is None:
            return left
        above = self._account.left()
        return {name: min(amount, above[name]) for name, amount in left.items()}

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """See `Account.draw`."""
        with self._lock:
            self._admit(bound, amount)
            self._draw(bound, amount)
            self._reserved = self._reserved.plus(amount)

    def book(self, amount: Charge, spent: Charge) -> None:
        """See `Account.book`."""
        with self._lock:
            self._reserved = self._reserved.plus(amount, -1)
            self._spent = self._spent.plus(spent)
            if self._account is not None:
                self._account.book(amount, spent)

    def balance(self) -> Balance:
        """What is spent and what is reserved, read at one instant."""
        with self._lock:
            return Balance(
                spent=self._spent.usage(self._clock() - self._started),
                reserved=self._reserved.usage(self._held_seconds),
            )

    @property
    def usage(self) -> Usage:
        """What was spent so far; seconds since the ledger was opened."""
        return self.balance().spent

    def _set_aside(self, bound: CostBound, amount: Charge, end: float) -> Reservation:
        reservation = Reservation(bound, clock=self._clock, end=end, close=self._close)
        self._open[reservation] = amount
        self._reserved = self._reserved.plus(amount)
        return reservation

    def _draw(self, bound: CostBound, amount: Charge) -> None:
        # The lock of an account is only ever taken after that of a run: no two wait in a ring.
        if self._account is not None:
            self._account.draw(bound, amount)

    def _close(self, reservation: Reservation, spent: Charge) -> bool:
        with self._lock:
            amount = self._open.pop(reservation, None)
            if amount is None:
                return False
            if self._account is not None:
                self._account.book(amount, spent)
            self._reserved = self._reserved.plus(amount, -1)
            self._spent = self._spent.plus(spent)
            self._held.pop(reservation, None)
            self._held_seconds = sum(self._held.values())
            return True

    def _left(self) -> dict[Limit, float]:
        taken = self._spent.plus(self._reserved)
        caps = self.budget
        return {
            "seconds": self._end - self._held_seconds - self._clock(),
            "calls": inf if caps.calls is None else caps.calls - taken.calls,
            "tokens": inf if caps.tokens is None else caps.tokens - taken.tokens,
            "retrievals": inf if caps.retrievals is None else caps.retrievals - taken.retrievals,
            "cost_usd": inf if caps.cost_usd is None else floor(caps.cost_usd * NANO) - taken.nano,
        }

    def _admit(self, bound: CostBound, amount: Charge, *, needs_s: float | None = None) -> None:
        left = self._left()
        least = bound.least_seconds if needs_s is None else needs_s
        if left["seconds"] < least or left["seconds"] <= 0:
            raise BudgetRefused("seconds", needed=least, left=max(0.0, left["seconds"]))
        needs: dict[Limit, int] = {
            "calls": amount.calls,
            "tokens": amount.tokens,
            "retrievals": amount.retrievals,
        }
        for limit, needed in needs.items():
            if needed > left[limit]:
                raise BudgetRefused(limit, needed=needed, left=left[limit])
        money = left["cost_usd"]
        if money != inf and amount.unpriced:
            raise BudgetRefused("cost_usd", needed=None, left=money / NANO)
        if amount.nano > money:
            raise BudgetRefused("cost_usd", needed=amount.nano / NANO, left=money / NANO)


def _whole(left: float) -> int | None:
    return None if left == inf else int(left)
