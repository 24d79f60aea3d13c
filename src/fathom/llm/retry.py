"""A wrapper that tries a failed call again within the same deadline.

The loop is our own, because a library's loop would need callbacks for all that this one regards:
waits that a server asks for, text that was already shown, a budget that refuses between two tries,
and the usage of all tries.
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
    """The number of tries and the waits between them, without random jitter.

    Attributes:
        tries: The largest number of tries, the first included. A call that is repeated without an
            option that the server does not know counts as the same try.
        first_wait_s: The seconds before the second try; the wait doubles with each further try.
        longest_wait_s: The seconds at which the doubling ends. A server may ask for a longer wait.
        longest_asked_s: The longest wait in seconds that a server may ask for. If it asks for a
            longer one, there is no other try.
    """

    tries: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_asked_s: float = 60.0

    def compute_wait(self, tries: int) -> float:
        """Return the seconds to wait after the failure of the try number `tries`, from 1."""
        return min(self.longest_wait_s, self.first_wait_s * 2.0 ** (tries - 1))

    def choose_wait(self, failure: CallFailure, tries: int) -> float:
        """Return the seconds until the next try.

        Args:
            failure: The failure of the last try.
            tries: The number of tries so far, at least 1.

        Raises:
            CallFailure: The given failure, if there must be no other try.
        """
        if not isinstance(failure, ModelFault) or not failure.retriable or tries >= self.tries:
            raise failure
        requested_s = failure.retry_after_s or 0.0
        if requested_s > self.longest_asked_s:
            raise failure
        return max(self.compute_wait(tries), requested_s)


_MOST_OPTIONS = 8
"""A bound on the number of options that a server refuses, one after the other; there are fewer."""


class RetryingModel:
    """A `ChatModel` that asks another one again after a temporary fault."""

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
            model: The model.
            policy: The number of tries and their waits.
            breaker: The circuit breaker of the model's endpoint, shared by all its callers.
            clock: The clock of the deadlines, in seconds.
            sleep: The function that waits a number of seconds.
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
        """Return the first usable reply, with the usage of all tries.

        Once text has been passed to `on_text`, there is no other try, because shown text cannot be
        taken back.

        Raises:
            BudgetRefused: If the budget does not allow the first try.
            CallFailure: If no try succeeds; the failure of the last try, with the usage of all.
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
                # A request without an option that the server does not know is not another try.
                at_once = isinstance(failure, ModelFault) and failure.at_once
                options_dropped, tries = options_dropped + at_once, tries + (not at_once)
                if options_dropped > _MOST_OPTIONS:
                    raise
            else:
                return replace(reply, usage=spent + reply.usage)
            await self._sleep(self._compute_wait(fault, tries, call.deadline, monitor))

    async def _try_call(self, call: Call) -> Completion:
        """Make one call if the circuit breaker admits it, and report its outcome to the breaker.

        Raises:
            BudgetRefused: If the budget does not allow the call.
            CallFailure: If the call fails, or the breaker does not admit it.
        """
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
        # A cancellation or a refusal of the budget says nothing about the endpoint, so the breaker
        # must admit a probe again.
        except BaseException:
            self._breaker.record_cancellation()
            raise
        self._breaker.record_success()
        return reply

    def _compute_wait(
        self, failure: CallFailure, tries: int, deadline: float, monitor: "_TextMonitor"
    ) -> float:
        """Return the seconds until the next try.

        Args:
            failure: The failure of the last try.
            tries: The number of tries so far, without those that dropped an option.
            deadline: The instant before which the next try must begin.
            monitor: The callback that knows whether text was passed on.

        Raises:
            CallFailure: The given failure, if there must be no other try.
        """
        if monitor.has_text:
            raise failure
        if isinstance(failure, ModelFault) and failure.retriable and failure.at_once:
            return 0.0
        wait_s = self._policy.choose_wait(failure, tries)
        if self._clock() + wait_s >= deadline:
            raise failure
        return wait_s


class _TextMonitor:
    """A callback that passes text on and remembers whether there was any text."""

    def __init__(self, on_text: OnText | None) -> None:
        self.has_text = False
        self._on_text = on_text

    def __call__(self, text: str) -> None:
        self.has_text = True
        if self._on_text is not None:
            self._on_text(text)
