"""Model replies as outside events: kept when they happen, given again when a run is replayed.

Recorded is what a question got in the end, after retries, with what all tries cost: so a replay
needs no clock, no breaker and no luck to come out the same.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict

from fathom.jsonable import Json
from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.faults import CallFailed, ModelDeclined, ModelFault, ReplyGarbled
from fathom.runs.context import RunContext
from fathom.runs.reservation import Reported
from fathom.usage import Usage

_FAILURES: Mapping[str, type[CallFailed]] = {
    kind.__name__: kind for kind in (ModelFault, ModelDeclined, ReplyGarbled)
}


class RecordedModel:
    """A `ChatModel` whose outcomes are events of a run, each with all its tries as one."""

    def __init__(self, model: ChatModel, context: RunContext) -> None:
        """Wrap `model`, which is asked only where the run has no record."""
        self._model = model
        self._context = context

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`; what is recorded comes at once, whatever the deadline.

        Raises:
            BudgetRefused: If the budget does not allow the first try.
        """
        request = {
            "model": self.name,
            "messages": call.messages,
            "schema": call.schema,
            "max_tokens": call.max_tokens,
        }
        outcome = await self._context.outside("llm", request, lambda: _outcome(self._model, call))
        if outcome.get("late"):
            late = f"{self.name} was cut at the deadline; raise --deadline"
            self._context.refusals.append(late)
        return _completion(outcome)


async def _outcome(model: ChatModel, call: Call) -> Json:
    try:
        return asdict(await model.complete(call))
    except CallFailed as failed:
        error = {"kind": type(failed).__name__, "message": str(failed)}
        late = time.monotonic() >= call.deadline
        return {"error": error, "usage": asdict(failed.usage), "late": late}


def _completion(outcome: Json) -> Completion:
    usage = Usage(**outcome["usage"])
    if "error" in outcome:
        error = outcome["error"]
        raise _FAILURES[error["kind"]](error["message"], usage)
    reported = Reported(**outcome["reported"])
    return Completion(**{**outcome, "usage": usage, "reported": reported})
