"""Workspaces: what belongs together and to nobody else, each an index directory of its own."""

import threading
from dataclasses import dataclass
from pathlib import Path

from fathom.engine import Engine
from fathom.serving.http.access import Caller
from fathom.serving.http.conversations import Conversations
from fathom.serving.http.idempotency import Once
from fathom.serving.http.jobs import Jobs

FOLDER = "workspaces"
"""Below the index of the default workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The documents of a tenant, and all that came of them.

    Attributes:
        name: Empty for the default one.
        engine: Over its index; traces, feedback and calibrations are kept there too.
        jobs: What is being ingested into it.
        conversations: Which questions followed each other.
        once: The replies to requests with a key of idempotency.
    """

    name: str
    engine: Engine
    jobs: Jobs
    conversations: Conversations
    once: Once

    @property
    def directory(self) -> Path:
        """Where its index lies."""
        return self.engine.directory


class Workspaces:
    """Opens each workspace when it is first needed; models are loaded once for all."""

    def __init__(self, engine: Engine) -> None:
        """The default workspace is there; the others lie below it.

        Args:
            engine: Of the default workspace.
        """
        self._lock = threading.Lock()
        self._engine = engine
        self._open = {"": _opened("", engine)}

    def of(self, caller: Caller) -> Workspace:
        """The workspace of a caller."""
        with self._lock:
            name = caller.workspace
            if name not in self._open:
                self._open[name] = _opened(name, self._engine.workspace(name))
            return self._open[name]

    def resume(self) -> None:
        """Go on with the jobs of all workspaces that were left when the server ended."""
        folder = self._engine.directory / FOLDER
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        for name in ("", *names):
            self.of(Caller(workspace=name)).jobs.resume()

    def close(self) -> None:
        """Let go of all of them."""
        with self._lock:
            for each in self._open.values():
                each.jobs.close()
                each.conversations.close()
                each.engine.close()


def _opened(name: str, engine: Engine) -> Workspace:
    return Workspace(
        name=name,
        engine=engine,
        jobs=Jobs(engine),
        conversations=Conversations(engine),
        once=Once(),
    )
