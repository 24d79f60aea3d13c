"""Model replies as outside events: kept when they happen, given again when a run is replayed.

Recorded is what a question got in the end, after retries, with what all tries cost: so a replay
needs no clock, no breaker and no luck to come out the same.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from fathom.errors import ModelUnavailable
from fathom.ledger import BudgetRefused
from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.faults import CallFailed, ModelDeclined, ModelFault, ReplyGarbled
from fathom.reservation import Reported
from fathom.usage import Usage

Event = Mapping[str, Any]

_FAILURES: Mapping[str, type[CallFailed]] = {
    kind.__name__: kind for kind in (ModelFault, ModelDeclined, ReplyGarbled)
}


class Keys:
    """Names requests by their content; the same request again is another event."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, model: str, call: Call) -> str:
        """The name of the next request with this content: `llm:<sha256>:<n>`, n from 1."""
        turns = [[message.role, message.text] for message in call.messages]
        whole = json.dumps([model, turns, call.schema, call.max_tokens], sort_keys=True)
        digest = hashlib.sha256(whole.encode()).hexdigest()
        self._seen[digest] += 1
        return f"llm:{digest}:{self._seen[digest]}"


class Recorded:
    """A `ChatModel` that hands every outcome of another one to `record`, under its key."""

    def __init__(self, model: ChatModel, record: Callable[[str, Event], None]) -> None:
        """Wrap `model`; one instance per run."""
        self._model = model
        self._record = record
        self._keys = Keys()

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`."""
        key = self._keys.of(self.name, call)
        try:
            done = await self._model.complete(call)
        except BudgetRefused as refused:
            limit = {"limit": refused.limit, "needed": refused.needed, "left": refused.left}
            self._record(key, {"refused": limit})
            raise
        except CallFailed as failed:
            error = {"kind": type(failed).__name__, "message": str(failed)}
            self._record(key, {"error": error, "usage": asdict(failed.usage)})
            raise
        self._record(key, asdict(done))
        return done


class Replayed:
    """A `ChatModel` that answers from recorded events and opens no socket."""

    def __init__(
        self,
        name: str,
        lookup: Callable[[str], Event | None],
        book: Callable[[Usage], None],
    ) -> None:
        """Answer as the model called `name` did.

        Args:
            name: `provider:model`.
            lookup: The event under a key; `None` where there is none.
            book: Charges the run's ledger with what the outcome had cost.
        """
        self._name = name
        self._lookup = lookup
        self._book = book
        self._keys = Keys()

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._name

    async def complete(self, call: Call) -> Completion:
        """See `ChatModel.complete`; what is recorded comes at once, whatever the deadline.

        Raises:
            ModelUnavailable: Also if the trace holds no outcome for this request.
        """
        event = self._lookup(self._keys.of(self._name, call))
        if event is None:
            raise ModelUnavailable(f"{self._name}: the trace holds no reply to this request")
        if "refused" in event:
            limit = event["refused"]
            raise BudgetRefused(limit["limit"], needed=limit["needed"], left=limit["left"])
        usage = Usage(**event["usage"])
        self._book(usage)
        if "error" in event:
            error = event["error"]
            raise _FAILURES[error["kind"]](error["message"], usage)
        done = Completion(**{**event, "usage": usage, "reported": Reported(**event["reported"])})
        if call.on_text is not None and done.text:
            call.on_text(done.text)
        return done
