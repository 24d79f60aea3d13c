"""A reservation: the worst case of one step, and its real expense."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, inf, isfinite
from types import TracebackType
from typing import Self

from fathom.usage import Price, Usage

NANO = 1_000_000_000
"""The billionths in a whole; money is counted in billionths of a USD."""


def convert_cap(usd: float) -> int:
    """Convert a cap in USD, of any size, to whole billionths of a USD, rounded down."""
    nano = usd * NANO
    return floor(nano) if isfinite(nano) else int(usd) * NANO


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBound:
    """The largest expense of a step; the caller must not exceed it.

    Attributes:
        calls: The number of calls of language models, retries and repairs included.
        prompt_tokens: An upper bound of the tokens of all prompts, not an estimate.
        completion_tokens: The number of tokens at which the caller stops reading.
        retrievals: The number of searches of the index or of the web.
        seconds: The longest time of the step; `None` means the rest of the run's time, which is a
            limit in any case.
        least_seconds: The shortest time for which the step is worth starting, in seconds.
        price: The price of the tokens; `None` if it is unknown, which is refused if money is
            limited.
        fee_usd: The cost besides that of the tokens, such as for a web search, in USD; `None` if it
            is unknown, which is refused if money is limited.

    Raises:
        ValueError: If a number is negative or not finite.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retrievals: int = 0
    seconds: float | None = None
    least_seconds: float = 0.0
    price: Price | None = None
    fee_usd: float | None = 0.0

    def __post_init__(self) -> None:
        counts = (self.calls, self.prompt_tokens, self.completion_tokens, self.retrievals)
        for number in (*counts, self.seconds, self.least_seconds, self.fee_usd):
            if number is not None and not (isfinite(number) and number >= 0):
                raise ValueError(f"{self}: every number must be at least 0 and finite")


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount in whole numbers, so that sums are exact.

    Attributes:
        calls: The number of calls of language models.
        prompt: The number of prompt tokens.
        completion: The number of completion tokens.
        retrievals: The number of searches.
        nano: The known cost in billionths of a USD, rounded up.
        unpriced: The number of summands whose cost is unknown.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    retrievals: int = 0
    nano: int = 0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """The number of prompt and completion tokens together."""
        return self.prompt + self.completion

    def add(self, other: "Charge", sign: int = 1) -> "Charge":
        """Return the sum of two amounts, or their difference if `sign` is -1."""
        return Charge(
            self.calls + sign * other.calls,
            self.prompt + sign * other.prompt,
            self.completion + sign * other.completion,
            self.retrievals + sign * other.retrievals,
            self.nano + sign * other.nano,
            self.unpriced + sign * other.unpriced,
        )

    def to_usage(self, seconds: float) -> Usage:
        """Return the same amount as a `Usage`, with `None` as cost if any cost is unknown."""
        return Usage(
            llm_calls=self.calls,
            prompt_tokens=self.prompt,
            completion_tokens=self.completion,
            retrievals=self.retrievals,
            seconds=seconds,
            cost_usd=None if self.unpriced else self.nano / NANO,
        )


def compute_charge(bound: CostBound, counted: Usage | None = None) -> Charge:
    """Compute the charge for a usage at the prices of a bound.

    Args:
        bound: The worst case, with the prices.
        counted: The usage; by default the worst case. The fee is charged if it has any call, token
            or retrieval. Its seconds and cost are ignored.
    """
    spent = counted or Usage(
        llm_calls=bound.calls,
        prompt_tokens=bound.prompt_tokens,
        completion_tokens=bound.completion_tokens,
        retrievals=bound.retrievals,
    )
    started = counted is None or spent.llm_calls + spent.tokens + spent.retrievals > 0
    fee = bound.fee_usd if started else 0.0
    tokens_usd = 0.0
    unknown = fee is None or (spent.tokens > 0 and bound.price is None)
    if bound.price is not None:
        tokens_usd = bound.price.cost(spent.prompt_tokens, spent.completion_tokens)
    return Charge(
        spent.llm_calls,
        spent.prompt_tokens,
        spent.completion_tokens,
        spent.retrievals,
        # Rounded up, so that rounding never hides an overrun.
        0 if unknown else ceil((tokens_usd + (fee or 0.0)) * NANO),
        int(unknown),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedUsage:
    """A server's own report of its usage; its values are not trusted.

    Attributes:
        prompt: The number of prompt tokens as any JSON value; `None` if not reported.
        completion: The number of completion tokens as any JSON value; `None` if not reported.
    """

    prompt: object = None
    completion: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """The result of a closed reservation.

    Attributes:
        usage: The charged usage; its cost is that of the charged tokens and the fee.
        notes: One line for each token count, the server's or our own, that was not charged as it
            is.
        overrun: Whether the caller took more than it had reserved, which is a fault of the caller;
            the reserved amount is charged then.
    """

    usage: Usage
    notes: tuple[str, ...] = ()
    overrun: bool = False


class Reservation:
    """The reserved amount of one step in a ledger, until it is settled or released.

    A `with` block releases it at its end if it was not settled. An `async with` block also cancels
    its body at the deadline and then raises `TimeoutError`.
    """

    def __init__(
        self,
        bound: CostBound,
        *,
        clock: Callable[[], float],
        end: float,
        close: Callable[["Reservation", Charge], bool],
    ) -> None:
        """Open a reservation; only ledgers do this.

        Args:
            bound: The reserved worst case.
            clock: The ledger's clock, in seconds.
            end: The instant of that clock at which the step must be over; infinite without a limit.
            close: The function that books the charge and frees the rest; it returns whether the
                reservation was still open.
        """
        self.bound = bound
        self._clock = clock
        self._end = end
        self._close = close
        self._started_at = clock()
        self._counted = Usage()
        self._closed = False
        self._timeout: asyncio.Timeout | None = None

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the step must be over, at least 0; `None` without a limit."""
        within = inf if self.bound.seconds is None else self._started_at + self.bound.seconds
        end = min(self._end, within)
        return None if end == inf else max(0.0, end - self._clock())

    def count(self, counted: Usage) -> None:
        """Set our own count so far, which is charged if the step ends by an error.

        Call this as soon as something that may be billed was sent, and again as a stream grows.

        Args:
            counted: The total of calls, tokens and retrievals; its time and cost are ignored.

        Raises:
            ValueError: If a count is negative.
        """
        self._counted = _check_counts(counted)

    def settle(self, counted: Usage, reported: ReportedUsage | None = None) -> Booking:
        """Book the expense and free the rest.

        Each charged token count is our own, or the server's if that is a whole number between our
        own and the reserved one (tokenizers differ a little). So a server can neither make a step
        free nor overrun the budget.

        Args:
            counted: Our own count of calls, tokens and retrievals; its time and cost are ignored.
            reported: The server's report, if there is one.

        Returns:
            The charged usage, with notes on counts that were not charged as they are.

        Raises:
            ValueError: If a count is negative, or the reservation is closed already.
        """
        booked, amount = self._compute_booking(_check_counts(counted), reported or ReportedUsage())
        if not self._close_with(amount):
            raise ValueError("a reservation can be settled once, and not after its release")
        return booked

    def release(self) -> Booking | None:
        """Book our own count so far and free the rest; do nothing if it is closed already.

        Returns:
            The charged usage; `None` if the reservation was closed already.
        """
        booked, amount = self._compute_booking(self._counted, ReportedUsage())
        return booked if self._close_with(amount) else None

    def _begin(self) -> None:
        """Start the time of the step; raise `ValueError` if the reservation is closed."""
        if self._closed:
            raise ValueError("this reservation is over; make a new one for another try")
        self._started_at = self._clock()

    def _close_with(self, amount: Charge) -> bool:
        """Close the reservation with a charge; return whether it was open."""
        self._closed = True
        return self._close(self, amount)

    def _compute_booking(self, counted: Usage, reported: ReportedUsage) -> tuple[Booking, Charge]:
        """Return the booking of an expense, and its amount in whole numbers."""
        bound = self.bound
        prompt, first = _choose_count(
            "prompt", counted.prompt_tokens, reported.prompt, bound.prompt_tokens
        )
        completion, second = _choose_count(
            "completion", counted.completion_tokens, reported.completion, bound.completion_tokens
        )
        charged = Usage(
            llm_calls=min(counted.llm_calls, bound.calls),
            prompt_tokens=prompt,
            completion_tokens=completion,
            retrievals=min(counted.retrievals, bound.retrievals),
        )
        amount = compute_charge(bound, charged)
        overrun = (
            counted.llm_calls > bound.calls
            or counted.prompt_tokens > bound.prompt_tokens
            or counted.completion_tokens > bound.completion_tokens
            or counted.retrievals > bound.retrievals
        )
        usage = amount.to_usage(self._clock() - self._started_at)
        notes = tuple(note for note in (first, second) if note)
        return Booking(usage=usage, notes=notes, overrun=overrun), amount

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    async def __aenter__(self) -> Self:
        self._begin()
        # The time of the body starts here, not when the step was reserved.
        self._timeout = asyncio.timeout(self.seconds_left)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            # Leaving the timeout may raise TimeoutError; the reservation must be released anyway.
            if self._timeout is not None:
                await self._timeout.__aexit__(kind, error, trace)
        finally:
            self.release()


def _check_counts(counted: Usage) -> Usage:
    """Return the counts of a usage without time and cost; raise `ValueError` if one is negative."""
    if (
        min(counted.llm_calls, counted.prompt_tokens, counted.completion_tokens, counted.retrievals)
        < 0
    ):
        raise ValueError(f"count {counted}: no count can be negative")
    return replace(counted, seconds=0.0, cost_usd=0.0)


def _choose_count(what: str, counted: int, reported: object, reserved: int) -> tuple[int, str]:
    """Choose the number of tokens to charge.

    Args:
        what: The kind of tokens, for the note.
        counted: Our own count.
        reported: The server's count as any JSON value, or `None`.
        reserved: The reserved number, which is never exceeded.

    Returns:
        The number, and a note if a count was not charged as it is; else an empty text.
    """
    if counted > reserved:
        return reserved, f"{what} tokens: counted {counted}, above the reserved {reserved}"
    if reported is None:
        return counted, ""
    if isinstance(reported, int) and not isinstance(reported, bool):
        if counted <= reported <= reserved:
            return reported, ""
        # Limited, because Python refuses to print integers of thousands of digits.
        printed = str(max(-NANO * NANO, min(NANO * NANO, reported)))
    else:
        printed = repr(reported) if isinstance(reported, float) else type(reported).__name__
    return counted, f"{what} tokens: the server reported {printed}, counted {counted}"
