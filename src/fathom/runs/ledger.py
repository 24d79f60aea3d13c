"""The ledger: a step starts only if its worst case fits, so that no budget is overrun.

Before a model call, a retrieval or a web call its worst case is reserved. Afterwards the real
expense is booked and the rest is freed, exactly once, also after an error or a cancellation. In
every dimension of the budget, at every instant and from any thread, spent + reserved <= cap. This
rests on two conditions. The caller never takes more than it reserved: it stops reading at the
reserved tokens and at the deadline. And a server's report of its usage is accepted only between our
own count and the reservation.

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
    """An error of a step that was not started because its worst case does not fit.

    Attributes:
        limit: The first limit that the step would overrun.
        needed: The worst case in the unit of the limit (seconds, calls, tokens, retrievals, USD);
            `None` if the cost is unknown.
        left: The amount that may still be reserved, in the same unit.
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
    """The state of a ledger at one instant.

    Attributes:
        spent: The expenses so far; the seconds since the opening of the ledger.
        reserved: The open reservations; the seconds that are held back for the last step.
    """

    spent: Usage
    reserved: Usage


class Account(Protocol):
    """The protocol of an account with caps for several runs together.

    Whatever one of its runs reserves or books is reserved or booked here too.
    """

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """Reserve an amount for a run that has this account.

        Args:
            bound: The worst case of the step.
            amount: The same worst case in whole numbers (`compute_charge`).

        Raises:
            BudgetRefused: If it does not fit with the expenses and reservations of all its runs.
        """
        ...

    def book(self, amount: Charge, spent: Charge) -> None:
        """End the reservation of `amount` and book `spent`."""
        ...

    def get_remaining(self) -> "dict[Limit, float]":
        """Return the amount that may still be reserved, for each limit.

        The cost is in billionths of a USD, the time in seconds; infinite without a limit.
        """
        ...


class Ledger:
    """The expenses and reservations of one run; safe for threads and tasks, without I/O."""

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        *,
        account: Account | None = None,
    ) -> None:
        """Open the ledger; the seconds of the budget start now.

        Args:
            budget: The caps.
            clock: A clock that returns seconds and never runs backwards.
            account: An account with caps for several runs together, or `None`. Whatever is reserved
                or booked here is reserved or booked there at the same time.
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
        """Reserve the worst case of a step that starts now.

        Args:
            bound: The worst case.

        Raises:
            BudgetRefused: If it does not fit with everything spent, reserved and held back.
        """
        with self._lock:
            amount = compute_charge(bound)
            self._admit(bound, amount)
            self._draw_from_account(bound, amount)
            # The seconds that are held back are for the last step only.
            return self._set_aside(bound, amount, self._end - self._held_seconds)

    def hold_back(self, bound: CostBound) -> Reservation:
        """Reserve the worst case of the last step, which is entered later.

        Its seconds are kept free too, because every other reservation gets an earlier deadline.
        Call this before anything else is reserved.

        Args:
            bound: The worst case.

        Raises:
            BudgetRefused: If it does not fit; then only a step without cost can be the last.
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
        """Return the amounts that may still be reserved, as a budget; `None` means no limit."""
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
        """Return the amount that may still be reserved here and in the account, for each limit.

        The cost is in billionths of a USD, the time in seconds; infinite without a limit.
        """
        with self._lock:
            rest = self._compute_remaining()
        if self._account is None:
            return rest
        account_rest = self._account.get_remaining()
        return {name: min(amount, account_rest[name]) for name, amount in rest.items()}

    def draw(self, bound: CostBound, amount: Charge) -> None:
        """Reserve an amount for a run that has this ledger as its account (`Account.draw`)."""
        with self._lock:
            self._admit(bound, amount)
            self._draw_from_account(bound, amount)
            self._reserved = self._reserved.add(amount)

    def book(self, amount: Charge, spent: Charge) -> None:
        """End the reservation of `amount` and book `spent` (`Account.book`)."""
        with self._lock:
            self._reserved = self._reserved.add(amount, -1)
            self._spent = self._spent.add(spent)
            if self._account is not None:
                self._account.book(amount, spent)

    def read_balance(self) -> Balance:
        """Return the expenses and reservations, read at one instant."""
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
        """Open a reservation that must be over at the instant `end` of the ledger's clock."""
        reservation = Reservation(bound, clock=self._clock, end=end, close=self._close)
        self._open[reservation] = amount
        self._reserved = self._reserved.add(amount)
        return reservation

    def _draw_from_account(self, bound: CostBound, amount: Charge) -> None:
        """Reserve an amount in the account too, if there is one."""
        # The lock of an account is always taken after the lock of a run, so there is no deadlock.
        if self._account is not None:
            self._account.draw(bound, amount)

    def _close(self, reservation: Reservation, spent: Charge) -> bool:
        """Book the expense of a reservation and free the rest; return whether it was open."""
        with self._lock:
            # The reservation is removed, so that only the first to close it books it.
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
        """Return the amounts that may still be reserved in this ledger; the lock must be held."""
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
        """Check that a worst case fits into the budget; the lock must be held.

        Args:
            bound: The worst case.
            amount: The same worst case in whole numbers.
            needs_s: The seconds that must be left; by default the bound's `least_seconds`.

        Raises:
            BudgetRefused: If it does not fit.
        """
        rest = self._compute_remaining()
        least = bound.least_seconds if needs_s is None else needs_s
        # A step that needs no time must not start after the deadline either.
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
        # An unknown cost could be of any size, so no limit on money would hold.
        if money != inf and amount.unpriced:
            raise BudgetRefused("cost_usd", needed=None, left=money / NANO)
        if amount.nano > money:
            raise BudgetRefused("cost_usd", needed=amount.nano / NANO, left=money / NANO)


def _to_count(amount: float) -> int | None:
    """Return an amount as a whole number; `None` for an infinite one."""
    return None if amount == inf else int(amount)
