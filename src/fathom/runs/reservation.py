"""One reservation: the worst case of a step, and what of it was really spent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite
from types import TracebackType
from typing import Self

from fathom.usage import Price, Usage

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBound:
    """The most that a step can spend; the caller must hold itself to it.

    Attributes:
        calls: Calls of language models, retries and repairs included.
        prompt_tokens: An upper bound, not an estimate.
        completion_tokens: Where the caller stops reading.
        retrievals: Searches of the index or of the web.
        seconds: The longest it may take; what is left of the run's time when that is shorter,
            and when `None`.
        least_seconds: With less time than this it is not worth starting.
        price: What the tokens cost; `None` is unknown, and refused where money is limited.
        fee_usd: Money beside the tokens, such as for a web search; `None` is unknown.

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
        nano: Billionths of a USD, rounded up.
        unpriced: How many parts have a cost that nobody knows.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    retrievals: int = 0
    nano: int = 0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    def plus(self, other: "Charge", sign: int = 1) -> "Charge":
        """The sum, or with `sign` -1 the difference."""
        return Charge(
            self.calls + sign * other.calls,
            self.prompt + sign * other.prompt,
            self.completion + sign * other.completion,
            self.retrievals + sign * other.retrievals,
            self.nano + sign * other.nano,
            self.unpriced + sign * other.unpriced,
        )

    def usage(self, seconds: float) -> Usage:
        """The same amount as others read it."""
        return Usage(
            llm_calls=self.calls,
            prompt_tokens=self.prompt,
            completion_tokens=self.completion,
            retrievals=self.retrievals,
            seconds=seconds,
            cost_usd=None if self.unpriced else self.nano / NANO,
        )


def charge(bound: CostBound, own: Usage | None = None) -> Charge:
    """What `own` costs at the prices of `bound`; without `own`, the worst case itself."""
    spent = own or Usage(
        llm_calls=bound.calls,
        prompt_tokens=bound.prompt_tokens,
        completion_tokens=bound.completion_tokens,
        retrievals=bound.retrievals,
    )
    started = own is None or spent.llm_calls + spent.tokens + spent.retrievals > 0
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
        0 if unknown else ceil((tokens_usd + (fee or 0.0)) * NANO),
        int(unknown),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a server says it used: anything that can stand in a JSON reply, or `None`."""

    prompt: object = None
    completion: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Booked:
    """What a reservation ended with.

    Attributes:
        usage: What was charged; its cost follows from the charged tokens.
        notes: Where the server's word or our own count was not followed, one line each.
        overrun: The caller took more than it had reserved: a fault of the caller. Charged is
            the reservation.
    """

    usage: Usage
    notes: tuple[str, ...] = ()
    overrun: bool = False


class Reservation:
    """Room for one step in the ledger, until it is settled or released.

    `with` releases at the end what was not settled; `async with` also cancels the body at the
    deadline, which then raises `TimeoutError`.
    """

    def __init__(
        self,
        bound: CostBound,
        *,
        clock: Callable[[], float],
        end: float,
        close: Callable[["Reservation", Charge], bool],
    ) -> None:
        """Made by the ledger.

        Args:
            bound: What is reserved.
            clock: The ledger's clock.
            end: When it must be over, as the clock reads; infinite without a limit.
            close: Books the charge and frees the rest; says whether it had been open.
        """
        self.bound = bound
        self._clock = clock
        self._end = end
        self._close = close
        self._begun = clock()
        self._own = Usage()
        self._closed = False
        self._timeout: asyncio.Timeout | None = None

    @property
    def seconds_left(self) -> float | None:
        """Time until the body must be over; `None` without a limit."""
        within = inf if self.bound.seconds is None else self._begun + self.bound.seconds
        end = min(self._end, within)
        return None if end == inf else max(0.0, end - self._clock())

    def count(self, own: Usage) -> None:
        """Our own count so far, as a total: what is charged if the step ends by an error.

        To be called as soon as something that may be billed has left, and as a stream grows.
        """
        self._own = _checked(own)

    def settle(self, own: Usage, reported: Reported | None = None) -> Booked:
        """Book what was spent and free the rest.

        Each token count that is charged is our own; the server's is taken where it is a whole
        number between our own and the reserved one (tokenizers differ a little). So a server can
        neither make a step free nor overrun the budget.

        Args:
            own: Our own count of calls, tokens and retrievals; its time and money are ignored.
            reported: What the server says.

        Raises:
            ValueError: If a count is negative, or the reservation is closed already.
        """
        booked, amount = self._weigh(_checked(own), reported or Reported())
        if not self._end_with(amount):
            raise ValueError("a reservation can be settled once, and not after its release")
        return booked

    def release(self) -> Booked | None:
        """Book what was counted so far and free the rest; `None` if it was closed already."""
        booked, amount = self._weigh(self._own, Reported())
        return booked if self._end_with(amount) else None

    def _begin(self) -> None:
        if self._closed:
            raise ValueError("this reservation is over; make a new one for another try")
        self._begun = self._clock()

    def _end_with(self, amount: Charge) -> bool:
        self._closed = True
        return self._close(self, amount)

    def _weigh(self, own: Usage, reported: Reported) -> tuple[Booked, Charge]:
        bound = self.bound
        prompt, first = _believe("prompt", own.prompt_tokens, reported.prompt, bound.prompt_tokens)
        completion, second = _believe(
            "completion", own.completion_tokens, reported.completion, bound.completion_tokens
        )
        spent = Usage(
            llm_calls=min(own.llm_calls, bound.calls),
            prompt_tokens=prompt,
            completion_tokens=completion,
            retrievals=min(own.retrievals, bound.retrievals),
        )
        amount = charge(bound, spent)
        overrun = (
            own.llm_calls > bound.calls
            or own.prompt_tokens > bound.prompt_tokens
            or own.completion_tokens > bound.completion_tokens
            or own.retrievals > bound.retrievals
        )
        usage = amount.usage(self._clock() - self._begun)
        notes = tuple(note for note in (first, second) if note)
        return Booked(usage=usage, notes=notes, overrun=overrun), amount

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    async def __aenter__(self) -> Self:
        self._begin()
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
            if self._timeout is not None:
                await self._timeout.__aexit__(kind, error, trace)
        finally:
            self.release()


def _checked(own: Usage) -> Usage:
    if min(own.llm_calls, own.prompt_tokens, own.completion_tokens, own.retrievals) < 0:
        raise ValueError(f"own count {own}: no count can be negative")
    return replace(own, seconds=0.0, cost_usd=0.0)


def _believe(what: str, own: int, reported: object, reserved: int) -> tuple[int, str]:
    if own > reserved:
        return reserved, f"{what} tokens: counted {own}, above the reserved {reserved}"
    if reported is None:
        return own, ""
    if isinstance(reported, int) and not isinstance(reported, bool):
        if own <= reported <= reserved:
            return reported, ""
        # Python refuses to print integers of thousands of digits.
        word = str(max(-NANO * NANO, min(NANO * NANO, reported)))
    else:
        word = repr(reported) if isinstance(reported, float) else type(reported).__name__
    return own, f"{what} tokens: the server reported {word}, counted {own}"
