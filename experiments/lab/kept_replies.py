"""Replies of language models that are kept: a model is not asked the same twice.

Strategies that find the same evidence send the same prompt. With its reply kept, a table of six
strategies costs little more than that of the most thorough one. A reply is kept under the key of
its event in a trace, so those of earlier runs can be taken over.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path

from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.jsonable import Cleaner, Json, dump_canonical, hash_text
from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.recorded_model import KIND, describe_call
from fathom.llm.role_models import Connect, RoleModels
from fathom.models.runtime import count_physical_cores
from fathom.runs.reservation import ReportedUsage
from fathom.settings import Settings
from fathom.usage import Usage


class KeptReplies:
    """Replies by the hash of their request, in a file of one JSON object a line.

    A reply whose line has no time was made on another machine, whose time tells nothing here.

    Attributes:
        saved_seconds: The time that the replies which were found took when they were made.
        untimed: The number of replies which were found and have no time.
    """

    def __init__(self, file: Path) -> None:
        """Read the file, which need not exist."""
        self.saved_seconds = 0.0
        self.untimed = 0
        self._file = file
        rows = map(json.loads, read_whole_lines(file))
        self._by_key: dict[str, Mapping[str, Json]] = {row["key"]: row for row in rows}

    def find(self, key: str) -> Completion | None:
        """Return the reply to a request."""
        row = self._by_key.get(key)
        if row is None:
            return None
        reply = row["reply"]
        usage, reported = Usage(**reply["usage"]), ReportedUsage(**reply["reported"])
        if row["seconds"] is None:
            self.untimed += 1
        else:
            self.saved_seconds += row["seconds"]
        return Completion(**{**reply, "usage": usage, "reported": reported})

    def add(self, key: str, reply: Completion, seconds: float) -> None:
        """Keep a reply, and the time that it took."""
        self._by_key[key] = {"key": key, "seconds": seconds, "reply": asdict(reply)}
        append_line(self._file, self._by_key[key])


class KeepingModel:
    """A `ChatModel` that asks another one only what has no kept reply."""

    def __init__(self, model: ChatModel, replies: KeptReplies) -> None:
        """Wrap `model`."""
        self._model = model
        self._replies = replies

    @property
    def name(self) -> str:
        """The name, `provider:model`."""
        return self._model.name

    async def complete(self, call: Call) -> Completion:
        """Return the kept reply, or ask the model and keep its reply."""
        request = Cleaner()(describe_call(self.name, call))
        key = hash_text(dump_canonical([KIND, request]))
        reply = self._replies.find(key)
        if reply is None:
            start = time.monotonic()
            reply = await self._model.complete(call)
            self._replies.add(key, reply, time.monotonic() - start)
        return reply


@contextmanager
def connect_keeping(settings: Settings, replies: KeptReplies) -> Iterator[Connect]:
    """Yield a function that returns the models of the settings, with their replies kept."""
    models = RoleModels(settings, cores=count_physical_cores())
    try:
        yield cache(lambda name: KeepingModel(models.get_by_name(name).chat, replies))
    finally:
        models.close()
