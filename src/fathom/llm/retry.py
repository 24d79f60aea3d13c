"""Tries again what may work the next time, within the same deadline.

A loop of our own: what decides here (waits that a server asks for, words that were shown, a budget
that refuses between two tries, the cost of all of them) would be callbacks around a library's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fathom.llm.base import Call, ChatModel, Completion, OnText
from fathom.llm.circuit_breaker import CircuitBreaker
from fathom.llm.faults import CallFailed, ModelFault
from fathom.runs.ledger import BudgetRefused
from fathom.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often to try and how long to wait in between; the same every time, without chance.

    Attributes:
        tries: At most so many calls, the first included; to ask again without an option that a
            server does not know is none.
        first_wait_s: Before the second try; doubles with each further one.
        longest_wait_s: Where the doubling ends. A server may ask for more.
        longest_asked_s: A server that asks for more than this is not waited for.
    """

    tries: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_asked_s: float = 60.0

    def wait_s(self, tried: int) -> float:
        """Seconds to wait after `tried` tries, from 1."""
        return min(self.longest_wait_s, self.first_wait_s * 2.0 ** (tried - 1))


_MOST_OPTIONS = 8
"""More than a server can refuse, one after the other."""


class Retrying:
    """A `ChatModel` that asks another one again when a fault may pass."""

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
            model: Asked at least once.
            policy: How often.
            breaker: That of the model's endpoint, to be shared by all who ask it.
            clock: The one of the deadlines.
            sleep: How to wait.
        """
        self._model = model
        self._policy = policy or RetryPolicy()
        self._breaker = breaker or CircuitBreaker()
        self._clock = clock
        self._sleep = sleep

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`; usage and faults carry what all tries cost.

        Once words have been given to `on_text` there is no other try: they cannot be taken back.

        Raises:
            BudgetRefused: If the budget does not allow the first try.
        """
        heard = _Heard(call.on_text)
        heeded = replace(call, on_text=heard if call.on_text else None)
        spent, tried, learnt, fault = Usage(), 0, 0, None
        while True:
            try:
                done = await self._try(heeded)
            except BudgetRefused:
                if fault is None:
                    raise
                raise fault from None
            except CallFailed as failed:
                fault, spent = failed, spent + failed.usage
                failed.usage = spent
                # To be asked another way, as an option is not known there, is no failed try.
                at_once = isinstance(failed, ModelFault) and failed.at_once
                learnt, tried = learnt + at_once, tried + (not at_once)
                if learnt > _MOST_OPTIONS:
                    raise
            else:
                return replace(done, usage=spent + done.usage)
            await self._sleep(self._wait(fault, tried, call.deadline, heard))

    async def _try(self, call: Call) -> Completion:
        closed_s = self._breaker.admit()
        if closed_s > 0:
            raise ModelFault(
                f"{self.name} kept failing and is left alone for {closed_s:.0f} s; try later",
                Usage(),
                retriable=False,
            )
        try:
            done = await self._model.complete(call)
        except ModelFault as fault:
            (self._breaker.succeeded if fault.at_once else self._breaker.failed)()
            raise
        except CallFailed:
            self._breaker.succeeded()
            raise
        except BaseException:
            self._breaker.gave_up()
            raise
        self._breaker.succeeded()
        return done

    def _wait(self, failed: CallFailed, tried: int, deadline: float, heard: "_Heard") -> float:
        """Seconds to wait before the next try; raises `failed` when there is to be none."""
        if not isinstance(failed, ModelFault) or not failed.retriable or heard.any:
            raise failed
        if failed.at_once:
            return 0.0
        if tried >= self._policy.tries:
            raise failed
        asked_s = failed.retry_after_s or 0.0
        wait_s = max(self._policy.wait_s(tried), asked_s)
        if asked_s > self._policy.longest_asked_s or self._clock() + wait_s >= deadline:
            raise failed
        return wait_s


class _Heard:
    """Passes words on and remembers that there were some."""

    def __init__(self, on_text: OnText | None) -> None:
        self.any = False
        self._on_text = on_text

    def __call__(self, text: str) -> None:
        self.any = True
        if self._on_text is not None:
            self._on_text(text)
