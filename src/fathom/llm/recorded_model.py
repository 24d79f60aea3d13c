"""A wrapper that records the replies of a model, and returns them again in a replay.

The record holds the final outcome, after all retries, with the usage of all tries. So a replay
needs neither a clock nor a circuit breaker to come out the same.
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
# Traces hold the names of these classes, so the names must not change.
_FAILURES: Mapping[str, type[CallFailure]] = {
    kind.__name__: kind for kind in (ModelFault, ModelDeclined, ReplyGarbled)
}


class RecordedModel:
    """A `ChatModel` whose outcomes are events of a run, one event for a call with all its tries."""

    def __init__(self, model: ChatModel, context: RunContext) -> None:
        """Wrap a model, which is called only if the run has no record of the reply.

        Args:
            model: The model.
            context: The context of the run, which has the records in a replay.
        """
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
            CallFailure: If the call failed, or its record is a failure.
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
    """Return all that the reply to a call depends on, as the key of its record.

    The deadline is not part of it.
    """
    return {
        "model": model,
        "messages": call.messages,
        "schema": call.schema,
        "max_tokens": call.max_tokens,
    }


async def _record_outcome(model: ChatModel, call: Call) -> Json:
    """Return the reply or the failure of a call as JSON."""
    try:
        return asdict(await model.complete(call))
    except CallFailure as failure:
        error = {"kind": type(failure).__name__, "message": str(failure)}
        # Recorded, because a replay cannot find it out without a clock.
        is_late = time.monotonic() >= call.deadline
        return {"error": error, "usage": asdict(failure.usage), "late": is_late}


def _restore_completion(outcome: Json) -> Completion:
    """Return the reply of a recorded outcome.

    Raises:
        CallFailure: If the outcome is a failure.
    """
    usage = Usage(**outcome["usage"])
    if "error" in outcome:
        error = outcome["error"]
        raise _FAILURES[error["kind"]](error["message"], usage)
    reported = ReportedUsage(**outcome["reported"])
    return Completion(**{**outcome, "usage": usage, "reported": reported})
