"""Workspaces: the separate data of tenants, each with an index directory of its own."""

import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from starlette.datastructures import UploadFile

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.index.rights import Viewer
from fathom.redaction import open_log
from fathom.serving.http.access import Caller
from fathom.serving.http.conversation_store import Conversations
from fathom.serving.http.files import UploadedFiles, create_file_store
from fathom.serving.http.idempotency import ReplyStore, create_reply_store
from fathom.serving.http.job_queue import Job
from fathom.serving.http.jobs import Jobs
from fathom.serving.http.object_store import Objects, create_object_store
from fathom.serving.http.repeated_warnings import RepeatedWarnings

FOLDER = "workspaces"
"""The folder of the other workspaces, below the index of the default one."""
WATCH_S = 5.0
"""The seconds between two searches for jobs whose server has ended."""
MOST_UNUSED = 16
"""The number of unused engines of viewers that stay open.

Each has its own connections, and each change of the rules may need other engines."""
LOG = open_log("fathom.serving")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Workspace:
    """The documents of a tenant, with the stores beside them.

    Attributes:
        name: The name; empty for the default workspace.
        engine: The engine over its index, which stores traces, feedback and calibrations too.
        files: The uploaded files.
        jobs: The ingestion jobs.
        conversations: The conversations.
        replies: The replies to requests with an idempotency key.
        objects: The files and vector stores of OpenAI's interface.
        owner: The name of the only key whose traces and conversations are shown; empty for all.
    """

    name: str
    engine: Engine
    files: UploadedFiles
    jobs: Jobs
    conversations: Conversations
    replies: ReplyStore
    objects: Objects
    owner: str = ""

    @property
    def directory(self) -> Path:
        """The directory of the index."""
        return self.engine.directory

    def accept_files(self, files: Sequence[UploadFile]) -> Job:
        """Store uploaded files, and return the job that ingests them.

        Raises:
            RunError: If the folder of uploads cannot be made or locked.
        """
        with self.files.lock():
            stored = self.files.store(files)
            names = {**stored.names, **self.files.find_limited(stored.names)}
            return self.jobs.add(names, stored.refused)

    def list_waiting_paths(self) -> frozenset[str]:
        """Return the paths of the documents of all files that open jobs will read.

        The server that stored a file may have another path for it than its documents have.
        """
        open_jobs = self.jobs.list_open()
        return frozenset(
            path for job in open_jobs for path in self.files.find_paths(job.names).values()
        )


_EngineKey = tuple[str, Viewer]
"""The name of a workspace, and the viewer of its engine."""


class LimitedEngines:
    """The engines that read on behalf of viewers; those used last stay open.

    This class is not safe for threads: `Workspaces` holds its lock during each call.
    """

    def __init__(self) -> None:
        self._engines: dict[_EngineKey, Engine] = {}
        self._uses = Counter[_EngineKey]()
        # Finalizers append to it. They may run at any point of any thread, so they take no lock.
        self._released = deque[_EngineKey]()

    def get_engine(self, key: _EngineKey, open_engine: Callable[[], Engine]) -> Engine:
        """Return the engine of a key, open it if necessary, and mark it as used last."""
        engine = self._engines.pop(key) if key in self._engines else open_engine()
        self._engines[key] = engine
        return engine

    def hold(self, key: _EngineKey, user: object) -> None:
        """Keep an engine open while the object `user` lives, which uses it; close unused ones."""
        self._uses[key] += 1
        weakref.finalize(user, self._released.append, key).atexit = False
        while self._released:
            self._uses.subtract([self._released.popleft()])
        unused = [other for other in self._engines if not self._uses[other]]
        for other in unused[:-MOST_UNUSED]:
            self._engines.pop(other).close()
            del self._uses[other]

    def close(self) -> None:
        """Close all engines."""
        for engine in self._engines.values():
            engine.close()


class Workspaces:
    """The open workspaces; each is opened at its first use, and all share the models.

    Attributes:
        warnings: The warnings of the work that is tried again and again in all workspaces.
    """

    def __init__(self, engine: Engine) -> None:
        """Open the default workspace; the others lie below it.

        Args:
            engine: The engine of the default workspace.
        """
        self.warnings = RepeatedWarnings(LOG)
        self._lock = threading.Lock()
        self._engine = engine
        self._open = {"": _open_workspace("", engine)}
        self._limited = LimitedEngines()
        self._ending = threading.Event()
        self._watcher: threading.Thread | None = None

    def get_workspace(self, caller: Caller) -> Workspace:
        """Return the workspace of a caller."""
        with self._lock:
            name = caller.workspace
            if name not in self._open:
                self._open[name] = _open_workspace(name, self._engine.open_workspace(name))
            return self._limit(self._open[name], caller)

    def _limit(self, space: Workspace, caller: Caller) -> Workspace:
        """Return the workspace as a caller may see it, without hidden documents."""
        viewer = caller.viewer
        if viewer is None or (readers := space.engine.list_readers()) is None:
            return space
        # Names that no document has make no difference: such viewers share an engine.
        key = space.name, Viewer(viewer.names & readers)
        engine = self._limited.get_engine(key, lambda: space.engine.open_for(key[1]))
        conversations = space.conversations.open_for(engine, caller.owner)
        limited = replace(space, engine=engine, conversations=conversations, owner=caller.owner)
        self._limited.hold(key, limited)
        return limited

    def resume(self, list_names: Callable[[], Sequence[str]] = tuple) -> None:
        """Continue the jobs of servers that ended, in all workspaces, and watch for further ones.

        Args:
            list_names: Returns the workspaces that keys name.
        """

        def watch() -> None:
            while not self._ending.wait(WATCH_S):
                self._resume_jobs(list_names)

        self._resume_jobs(list_names, begins=True)
        # Another server may die at any time without notice.
        self._watcher = threading.Thread(target=watch, name="fathom-jobs", daemon=True)
        self._watcher.start()

    def _resume_jobs(
        self, list_names: Callable[[], Sequence[str]], *, begins: bool = False
    ) -> None:
        try:
            names = self.list_names(list_names)
        except (FathomError, OSError) as error:  # such as a folder that is unreadable for a while
            self.warnings.warn("jobs", f"the open jobs cannot be resumed: {error}")
            return
        self.warnings.forget("jobs")

        def resume(space: Workspace) -> None:
            if not self._ending.is_set():
                space.jobs.resume(begins=begins)

        for _ in self.visit(names, resume, "the open jobs of workspace %r cannot be resumed: %s"):
            pass

    def visit(
        self, names: Iterable[str], read: Callable[[Workspace], T], warning: str
    ) -> Iterator[tuple[str, T]]:
        """Call a function for each workspace; yield the workspace's name and the returned value.

        A workspace that cannot be read is skipped; the log gets a line, once until it changes.

        Args:
            names: The names of the workspaces.
            read: The function.
            warning: The line of the log, with places for the name and the error.
        """
        for name in names:
            try:
                value = read(self.get_workspace(Caller(workspace=name)))
            except (FathomError, OSError) as error:
                self.warnings.warn((warning, name), warning % (name, error))
            else:
                self.warnings.forget((warning, name))
                yield name, value

    def list_names(self, list_named: Callable[[], Sequence[str]] = tuple) -> Sequence[str]:
        """Return the names of all workspaces.

        Args:
            list_named: Returns the workspaces that keys name.

        Raises:
            OSError: If their folder cannot be listed.
        """
        folder = self._engine.directory / FOLDER
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        return sorted({"", *names, *list_named(), *list(self._open)})

    def close(self) -> None:
        """Close all workspaces."""
        self._ending.set()
        if self._watcher is not None:
            self._watcher.join()
        with self._lock:
            self._limited.close()
            for space in self._open.values():
                space.jobs.close()
                space.conversations.close()
                space.replies.close()
                space.objects.close()
                space.engine.close()


def _open_workspace(name: str, engine: Engine) -> Workspace:
    files = create_file_store(engine.index, engine.directory)
    return Workspace(
        name=name,
        engine=engine,
        files=files,
        jobs=Jobs(engine, files),
        conversations=Conversations(engine),
        replies=create_reply_store(engine.index),
        objects=create_object_store(engine.index),
    )
