"""Nothing is sent whose worst case does not fit the budget, and what was spent is booked."""

import time
from collections.abc import Callable
from dataclasses import replace
from json import dumps
from math import inf, isfinite

from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.faults import CallFailed
from fathom.llm.tokens import most_prompt_tokens
from fathom.runs.ledger import Ledger
from fathom.runs.reservation import CostBound, Reservation
from fathom.usage import Price, Usage


class Metered:
    """A `ChatModel` that reserves each call in a ledger; wrap it in `Retrying`, not around it.

    What is booked is our own count, or the server's where that is higher and still within the
    reservation. A call that was walked away from is booked in full: nobody knows what it cost.
    """

    def __init__(
        self,
        model: ChatModel,
        ledger: Ledger,
        price: Price | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap `model`.

        Args:
            model: Makes one call per `complete`.
            ledger: That of the run.
            price: What the model charges; `None` is unknown and makes the cost unknown.
            clock: The one of the deadlines.
        """
        self._model = model
        self._ledger = ledger
        self._price = price
        self._clock = clock

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`; the usage is what was booked.

        Raises:
            BudgetRefused: If the worst case does not fit; then nothing was sent.
        """
        prompt = most_prompt_tokens(call.messages, dumps(call.schema) if call.schema else "")
        bound = CostBound(
            calls=1,
            prompt_tokens=prompt,
            completion_tokens=call.max_tokens,
            seconds=max(0.0, call.deadline - self._clock()) if isfinite(call.deadline) else None,
            price=self._price,
        )
        reservation = self._ledger.reserve(bound)
        everything = Usage(llm_calls=1, prompt_tokens=prompt, completion_tokens=call.max_tokens)
        with reservation:
            reservation.count(everything)
            try:
                end = min(call.deadline, self._end_of(reservation))
                done = await self._model.complete(replace(call, deadline=end))
            except CallFailed as failed:
                failed.usage = reservation.settle(failed.usage).usage
                raise
            return replace(done, usage=reservation.settle(done.usage, done.reported).usage)

    def _end_of(self, reservation: Reservation) -> float:
        left = reservation.seconds_left
        return inf if left is None else self._clock() + left
