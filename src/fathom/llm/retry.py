"""A wrapper that tries a failed call again within the same deadline.

The loop is our own. The conditions here (waits that a server asks for, text that was shown already,
a budget that refuses between two tries, the cost of all tries) would be callbacks around the loop
of a library.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fathom.llm.base import Call, ChatModel, Completion, OnText
from fathom.llm.circuit_breaker import CircuitBreaker
from fathom.llm.faults import CallFailure, ModelFault
from fathom.runs.ledger import BudgetRefused
from fathom.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The number of tries and the waits between them, always the same and without chance.

    Attributes:
        tries: The most calls, the first included. A call without an option that the server does not
            know is not counted as a new try.
        first_wait_s: The seconds before the second try; the wait doubles with each further try.
        longest_wait_s: The wait at which the doubling ends. A server may ask for a longer one.
        longest_asked_s: The longest wait that a server may ask for; beyond it there is no other
            try.
    """

    tries: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_asked_s: float = 60.0

    def compute_wait(self, tries: int) -> float:
        """Return the seconds to wait after so many tries, counted from 1."""
        return min(self.longest_wait_s, self.first_wait_s * 2.0 ** (tries - 1))

    def choose_wait(self, failure: CallFailure, tries: int) -> float:
        """Return the seconds until the next try, or raise the failure if there must be none."""
        if not isinstance(failure, ModelFault) or not failure.retriable or tries >= self.tries:
            raise failure
        requested_s = failure.retry_after_s or 0.0
        if requested_s > self.longest_asked_s:
            raise failure
        return max(self.compute_wait(tries), requested_s)


_MOST_OPTIONS = 8
"""More options than a server can refuse, one after the other."""


class RetryingModel:
    """A `ChatModel` that asks another one again after a fault that may pass."""

    def __init__(
        self,
        model: ChatModel,
        *,
        policy: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Wrap `model`.

        Args:
            model: The model, which is asked at least once.
            policy: The number of tries and their waits.
            breaker: The circuit breaker of the model's endpoint, shared by all that call it.
            clock: The clock of the deadlines.
            sleep: The function that waits.
        """
        self._model = model
        self._policy = policy or RetryPolicy()
        self._breaker = breaker or CircuitBreaker()
        self._clock = clock
        self._sleep = sleep

    @property
    def name(self) -> str:
        """The name, `provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """Return the first usable reply; its usage, and that of a fault, is the cost of all tries.

        Once text has been passed to `on_text` there is no other try, as text cannot be taken back.

        Raises:
            BudgetRefused: If the budget does not allow the first try.
        """
        monitor = _TextMonitor(call.on_text)
        monitored_call = replace(call, on_text=monitor if call.on_text else None)
        spent, tries, options_dropped, fault = Usage(), 0, 0, None
        while True:
            try:
                reply = await self._try_call(monitored_call)
            except BudgetRefused:
                if fault is None:
                    raise
                raise fault from None
            except CallFailure as failure:
                fault, spent = failure, spent + failure.usage
                failure.usage = spent
                # A request that drops an option unknown to the server is not a failed try.
                at_once = isinstance(failure, ModelFault) and failure.at_once
                options_dropped, tries = options_dropped + at_once, tries + (not at_once)
                if options_dropped > _MOST_OPTIONS:
                    raise
            else:
                return replace(reply, usage=spent + reply.usage)
            await self._sleep(self._compute_wait(fault, tries, call.deadline, monitor))

    async def _try_call(self, call: Call) -> Completion:
        rest_s = self._breaker.admit()
        if rest_s > 0:
            raise ModelFault(
                f"{self.name} kept failing and is left alone for {rest_s:.0f} s; try later",
                Usage(),
                retriable=False,
            )
        try:
            reply = await self._model.complete(call)
        except ModelFault as fault:
            (self._breaker.record_success if fault.at_once else self._breaker.record_failure)()
            raise
        except CallFailure:
            self._breaker.record_success()
            raise
        # Cancellation says nothing about the endpoint, so a probe must be admitted again.
        except BaseException:
            self._breaker.record_cancellation()
            raise
        self._breaker.record_success()
        return reply

    def _compute_wait(
        self, failure: CallFailure, tries: int, deadline: float, monitor: "_TextMonitor"
    ) -> float:
        """Return the seconds until the next try, or raise `failure` if there must be none."""
        if monitor.has_text:
            raise failure
        if isinstance(failure, ModelFault) and failure.retriable and failure.at_once:
            return 0.0
        wait_s = self._policy.choose_wait(failure, tries)
        if self._clock() + wait_s >= deadline:
            raise failure
        return wait_s


class _TextMonitor:
    """A callback that passes text on and remembers whether there was any."""

    def __init__(self, on_text: OnText | None) -> None:
        self.has_text = False
        self._on_text = on_text

    def __call__(self, text: str) -> None:
        self.has_text = True
        if self._on_text is not None:
            self._on_text(text)
