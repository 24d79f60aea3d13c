"""Model replies as outside events: recorded when they happen, returned again in a replay.

The record holds the final outcome, after all retries, with the cost of all tries. So a replay needs
no clock, no circuit breaker and no luck to come out the same.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict

from fathom.jsonable import Json
from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.faults import CallFailure, ModelDeclined, ModelFault, ReplyGarbled
from fathom.runs.context import RunContext
from fathom.runs.reservation import ReportedUsage
from fathom.usage import Usage

KIND = "llm"
# Traces hold these names, so the classes must keep them.
_FAILURES: Mapping[str, type[CallFailure]] = {
    kind.__name__: kind for kind in (ModelFault, ModelDeclined, ReplyGarbled)
}


class RecordedModel:
    """A `ChatModel` whose outcomes are events of a run, one event for a call with all its tries."""

    def __init__(self, model: ChatModel, context: RunContext) -> None:
        """Wrap `model`, which is called only if the run has no record of the reply."""
        self._model = model
        self._context = context

    @property
    def name(self) -> str:
        """The name, `provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """Return the recorded reply, or ask the model and record its reply.

        A recorded reply comes at once, whatever the deadline.

        Raises:
            BudgetRefused: If the budget does not allow the first try.
        """
        request = describe_call(self.name, call)
        outcome = await self._context.ask_outside(
            KIND, request, lambda: _record_outcome(self._model, call)
        )
        if outcome.get("late"):
            message = f"{self.name} was cut at the deadline; raise --deadline"
            self._context.refusals.append(message)
        return _restore_completion(outcome)


def describe_call(model: str, call: Call) -> Json:
    """Return all that the reply to a call depends on."""
    return {
        "model": model,
        "messages": call.messages,
        "schema": call.schema,
        "max_tokens": call.max_tokens,
    }


async def _record_outcome(model: ChatModel, call: Call) -> Json:
    try:
        return asdict(await model.complete(call))
    except CallFailure as failure:
        error = {"kind": type(failure).__name__, "message": str(failure)}
        # Recorded, because a replay has no clock to find it out.
        is_late = time.monotonic() >= call.deadline
        return {"error": error, "usage": asdict(failure.usage), "late": is_late}


def _restore_completion(outcome: Json) -> Completion:
    usage = Usage(**outcome["usage"])
    if "error" in outcome:
        error = outcome["error"]
        raise _FAILURES[error["kind"]](error["message"], usage)
    reported = ReportedUsage(**outcome["reported"])
    return Completion(**{**outcome, "usage": usage, "reported": reported})
