"""A wrapper that refuses calls whose worst case exceeds the budget, and books the usage."""

import time
from collections.abc import Callable
from dataclasses import replace
from json import dumps
from math import inf, isfinite

from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.faults import CallFailure
from fathom.llm.tokens import limit_prompt_tokens
from fathom.runs.ledger import Ledger
from fathom.runs.reservation import CostBound, Reservation
from fathom.usage import Price, Usage


class MeteredModel:
    """A `ChatModel` that reserves each call in a ledger before it is sent.

    It belongs inside of a `RetryingModel`, so that each try is reserved. The ledger books our own
    count, or the server's if that is higher and still within the reservation. A cancelled call is
    booked in full, because its cost is unknown.
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
            model: The model; each `complete` makes one call.
            ledger: The ledger of the run.
            price: The price of the model's tokens; `None` if it is unknown, and so is the cost.
            clock: The clock of the deadlines, in seconds.
        """
        self._model = model
        self._ledger = ledger
        self._price = price
        self._clock = clock

    @property
    def name(self) -> str:
        """The name, `provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """Reserve the worst case, send the call, and return the reply with the booked usage.

        Raises:
            BudgetRefused: If the worst case does not fit; then nothing was sent.
            CallFailure: If the call failed; its usage is the booked one.
        """
        prompt = limit_prompt_tokens(call.messages, dumps(call.schema) if call.schema else "")
        bound = CostBound(
            calls=1,
            prompt_tokens=prompt,
            completion_tokens=call.max_tokens,
            seconds=max(0.0, call.deadline - self._clock()) if isfinite(call.deadline) else None,
            price=self._price,
        )
        reservation = self._ledger.reserve(bound)
        worst_case = Usage(llm_calls=1, prompt_tokens=prompt, completion_tokens=call.max_tokens)
        with reservation:
            # Counted before sending, because a cancelled call must be booked in full.
            reservation.count(worst_case)
            try:
                end = min(call.deadline, self._compute_end(reservation))
                reply = await self._model.complete(replace(call, deadline=end))
            except CallFailure as failure:
                failure.usage = reservation.settle(failure.usage).usage
                raise
            return replace(reply, usage=reservation.settle(reply.usage, reply.reported).usage)

    def _compute_end(self, reservation: Reservation) -> float:
        """Return the instant at which a reservation ends; infinite without a limit."""
        seconds = reservation.seconds_left
        return inf if seconds is None else self._clock() + seconds
