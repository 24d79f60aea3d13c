"""The ledger: nothing starts whose worst case does not fit, so no budget can be overrun.

Before a model call, a retrieval or a web call its worst case is reserved. Afterwards the real
expense is booked and the rest is freed, exactly once, also after an error or a cancellation. In
every dimension of the budget, at every instant and from any thread, spent + reserved <= cap. Two
things make that hold: the caller never takes more than it reserved (it stops reading at the
reserved tokens and at the deadline), and a server's report of its usage is believed only between
our own count and the reservation.

    ledger = Ledger(Budget(tokens=5_000, seconds=20))
    last = ledger.hold_back(CostBound(calls=1, prompt_tokens=800, completion_tokens=200, seconds=5))
    ...
    async with ledger.reserve(worst) as reservation:         # cancels the body at its deadline
        reservation.count(Usage(llm_calls=1, prompt_tokens=n))     # sent, so it may be billed
        ...
        reservation.settle(counted, ReportedUsage(prompt=..., completion=...))
    ...
    async with last as reservation:                               # was affordable all along
        ...
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal, Protocol

from fathom.errors import RunError
from fathom.runs.reservation import (
    NANO,
    Charge,
    CostBound,
    Reservation,
    compute_charge,
    convert_cap,
)
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
    """A step that was not started, because its worst case does not fit.

    Attributes:
        limit: The first limit that the step would overrun.
        needed: The worst case in that dimension; `None` if its cost is unknown.
        left: The amount that may still be reserved there.
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
    """The ledger at one instant; the seconds of `reserved` are held back for the last step."""

    spent: Usage
    reserved: Usage


class Account(Protocol):
    """The caps of several runs together: all that a run reserves and books is entered here too."""

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """Set an amount aside for a run that has this as its account.

        Raises:
            BudgetRefused: If it does not fit beside the expenses and reservations of all its runs.
        """
        ...

    def book(self, amount: Charge, spent: Charge) -> None:
        """End a drawing of `amount`, of which `spent` was spent."""
        ...

    def get_remaining(self) -> "dict[Limit, float]":
        """Return what may still be reserved, cost in billionths of a USD; infinite if unlimited."""
        ...


class Ledger:
    """The expenses and reservations of one run; safe from threads and tasks, without I/O."""

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        *,
        account: Account | None = None,
    ) -> None:
        """Open the ledger; the time of the budget starts now.

        Args:
            budget: The caps.
            clock: The seconds of a clock that never runs backwards.
            account: An account whose caps hold too, for all of its runs together. Whatever is
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
        self._held_back: dict[Reservation, float] = {}

    def reserve(self, bound: CostBound) -> Reservation:
        """Set `bound` aside for a step that starts now.

        Raises:
            BudgetRefused: If it does not fit beside all that is spent, reserved and held back.
        """
        with self._lock:
            amount = compute_charge(bound)
            self._admit(bound, amount)
            self._draw_from_account(bound, amount)
            # The seconds that are held back belong to the last step alone.
            return self._set_aside(bound, amount, self._end - self._held_seconds)

    def hold_back(self, bound: CostBound) -> Reservation:
        """Set `bound` aside for the last step, which is entered later.

        Its seconds stay free too: every other reservation has an earlier deadline. Call this before
        anything else is reserved.

        Raises:
            BudgetRefused: If it does not fit; then only a step that costs nothing can be last.
        """
        with self._lock:
            amount = compute_charge(bound)
            seconds = max(bound.seconds or 0.0, bound.least_seconds)
            self._admit(bound, amount, needs_s=seconds)
            self._draw_from_account(bound, amount)
            reservation = self._set_aside(bound, amount, self._end)
            self._held_back[reservation] = seconds
            self._held_seconds += seconds
            return reservation

    def get_remaining_budget(self) -> Budget:
        """Return what may still be reserved, in every dimension; `None` is without limit."""
        rest = self.get_remaining()
        cost = rest["cost_usd"]
        return Budget(
            tokens=_to_count(rest["tokens"]),
            calls=_to_count(rest["calls"]),
            seconds=None if rest["seconds"] == inf else max(0.0, rest["seconds"]),
            cost_usd=None if cost == inf else cost / NANO,
            retrievals=_to_count(rest["retrievals"]),
        )

    def get_remaining(self) -> "dict[Limit, float]":
        """Return what may still be reserved, here and in the account."""
        with self._lock:
            rest = self._compute_remaining()
        if self._account is None:
            return rest
        account_rest = self._account.get_remaining()
        return {name: min(amount, account_rest[name]) for name, amount in rest.items()}

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """Set an amount aside for a run that has this ledger as its account."""
        with self._lock:
            self._admit(bound, amount)
            self._draw_from_account(bound, amount)
            self._reserved = self._reserved.add(amount)

    def book(self, amount: Charge, spent: Charge) -> None:
        """End a drawing of `amount`, of which `spent` was spent."""
        with self._lock:
            self._reserved = self._reserved.add(amount, -1)
            self._spent = self._spent.add(spent)
            if self._account is not None:
                self._account.book(amount, spent)

    def read_balance(self) -> Balance:
        """Return what is spent and what is reserved, read at one instant."""
        with self._lock:
            return Balance(
                spent=self._spent.to_usage(self._clock() - self._started),
                reserved=self._reserved.to_usage(self._held_seconds),
            )

    @property
    def usage(self) -> Usage:
        """The expenses so far; the seconds count from the opening of the ledger."""
        return self.read_balance().spent

    def _set_aside(self, bound: CostBound, amount: Charge, end: float) -> Reservation:
        reservation = Reservation(bound, clock=self._clock, end=end, close=self._close)
        self._open[reservation] = amount
        self._reserved = self._reserved.add(amount)
        return reservation

    def _draw_from_account(self, bound: CostBound, amount: Charge) -> None:
        # The lock of an account is always taken after that of a run, so there is no deadlock.
        if self._account is not None:
            self._account.draw(bound, amount)

    def _close(self, reservation: Reservation, spent: Charge) -> bool:
        with self._lock:
            # Popping makes the booking happen once, whoever closes the reservation first.
            amount = self._open.pop(reservation, None)
            if amount is None:
                return False
            if self._account is not None:
                self._account.book(amount, spent)
            self._reserved = self._reserved.add(amount, -1)
            self._spent = self._spent.add(spent)
            self._held_back.pop(reservation, None)
            self._held_seconds = sum(self._held_back.values())
            return True

    def _compute_remaining(self) -> dict[Limit, float]:
        used = self._spent.add(self._reserved)
        caps = self.budget
        return {
            "seconds": self._end - self._held_seconds - self._clock(),
            "calls": inf if caps.calls is None else caps.calls - used.calls,
            "tokens": inf if caps.tokens is None else caps.tokens - used.tokens,
            "retrievals": inf if caps.retrievals is None else caps.retrievals - used.retrievals,
            "cost_usd": inf if caps.cost_usd is None else convert_cap(caps.cost_usd) - used.nano,
        }

    def _admit(self, bound: CostBound, amount: Charge, *, needs_s: float | None = None) -> None:
        rest = self._compute_remaining()
        least = bound.least_seconds if needs_s is None else needs_s
        # Even a step that needs no time must not start after the deadline.
        if rest["seconds"] < least or rest["seconds"] <= 0:
            raise BudgetRefused("seconds", needed=least, left=max(0.0, rest["seconds"]))
        needs: dict[Limit, int] = {
            "calls": amount.calls,
            "tokens": amount.tokens,
            "retrievals": amount.retrievals,
        }
        for limit, needed in needs.items():
            if needed > rest[limit]:
                raise BudgetRefused(limit, needed=needed, left=rest[limit])
        money = rest["cost_usd"]
        # An unknown cost could be any cost, so no limit of money could hold.
        if money != inf and amount.unpriced:
            raise BudgetRefused("cost_usd", needed=None, left=money / NANO)
        if amount.nano > money:
            raise BudgetRefused("cost_usd", needed=amount.nano / NANO, left=money / NANO)


def _to_count(amount: float) -> int | None:
    return None if amount == inf else int(amount)
