"""Workspaces: what belongs together and to nobody else, each an index directory of its own."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.serving.http.access import Caller
from fathom.serving.http.conversations import Conversations
from fathom.serving.http.files import Files, files_of
from fathom.serving.http.idempotency import Once, once_of
from fathom.serving.http.jobs import Jobs

FOLDER = "workspaces"
"""Below the index of the default workspace."""
WATCH_S = 5.0
"""So often it is looked for jobs that another server has left."""
LOG = logging.getLogger("fathom.serving")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The documents of a tenant, and all that came of them.

    Attributes:
        name: Empty for the default one.
        engine: Over its index; traces, feedback and calibrations are kept there too.
        files: That were sent to it.
        jobs: What is being ingested into it.
        conversations: Which questions followed each other.
        once: The replies to requests with a key of idempotency.
    """

    name: str
    engine: Engine
    files: Files
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
        self._ending = threading.Event()
        self._watcher: threading.Thread | None = None

    def of(self, caller: Caller) -> Workspace:
        """The workspace of a caller."""
        with self._lock:
            name = caller.workspace
            if name not in self._open:
                self._open[name] = _opened(name, self._engine.workspace(name))
            return self._open[name]

    def resume(self, known: Callable[[], Sequence[str]] = tuple) -> None:
        """Go on with the jobs of all workspaces that a server left when it ended; and watch them.

        Args:
            known: The workspaces that there are keys for.
        """

        def watch() -> None:
            while not self._ending.wait(WATCH_S):
                self._look(known)

        self._look(known, begins=True)
        self._watcher = threading.Thread(target=watch, name="fathom-jobs", daemon=True)
        self._watcher.start()

    def _look(self, known: Callable[[], Sequence[str]], *, begins: bool = False) -> None:
        folder = self._engine.directory / FOLDER
        try:
            names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
            for name in sorted({"", *names, *known(), *list(self._open)}):
                if not self._ending.is_set():
                    self.of(Caller(workspace=name)).jobs.resume(begins=begins)
        except (FathomError, OSError) as error:  # such as a folder that may not be read for a while
            LOG.warning("jobs are not looked after: %s", error)

    def close(self) -> None:
        """Let go of all of them."""
        self._ending.set()
        if self._watcher is not None:
            self._watcher.join()
        with self._lock:
            for each in self._open.values():
                each.jobs.close()
                each.conversations.close()
                each.once.close()
                each.engine.close()


def _opened(name: str, engine: Engine) -> Workspace:
    files = files_of(engine.index, engine.directory)
    return Workspace(
        name=name,
        engine=engine,
        files=files,
        jobs=Jobs(engine, files),
        conversations=Conversations(engine),
        once=once_of(engine.index),
    )
