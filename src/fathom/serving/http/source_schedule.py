"""Synchronizations of sources in the background: those that are due, and those that were requested.

One runs at a time. It fetches in its own thread, and changes the index in the ingesting thread of
the workspace, so that an upload waits for a batch and not for a whole source.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from typing import TYPE_CHECKING, NamedTuple

from fathom.errors import IndexLocked, Interrupted
from fathom.redaction import open_log
from fathom.serving.http.access import Caller
from fathom.serving.http.jobs import Jobs, lower_priority
from fathom.serving.http.workspaces import Workspaces

if TYPE_CHECKING:  # a server that only answers does not load ingestion
    from fathom.ingest.report import IngestReport

LOG = open_log("fathom.serving")
UNREADABLE = "the sources of workspace %r cannot be read: %s"
"""The log line about a workspace that is skipped."""
LOOK_S = 5.0
"""The seconds between two searches for due sources."""
RETRY_S = 60.0
"""The seconds until a synchronization that another process prevented is tried again."""
BEAT_S = 0.5
"""The seconds between two checks whether the server ends."""
CLOSE_S = 10.0
"""The seconds for which the end of the server waits for an object that is being fetched."""


class SourceName(NamedTuple):
    """The name of a source in a workspace."""

    workspace: str
    name: str


class SourceSchedule:
    """The synchronizations of the sources of all workspaces."""

    def __init__(self, spaces: Workspaces, list_names: Callable[[], Sequence[str]]) -> None:
        """Create the schedule; nothing is synchronized before `start`.

        Args:
            spaces: The workspaces.
            list_names: Returns the workspaces that keys name.
        """
        self._spaces, self._list_names = spaces, list_names
        self._lock = threading.Lock()
        self._requested: dict[SourceName, None] = {}
        self._current: SourceName | None = None
        self._not_before: dict[SourceName, float] = {}
        self._woken, self._ending = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to synchronize."""
        self._thread = threading.Thread(target=self._run, name="fathom-sources", daemon=True)
        self._thread.start()

    def request(self, source: SourceName) -> None:
        """Request the synchronization of a source, after the earlier requests."""
        with self._lock:
            self._requested[source] = None
            self._not_before.pop(source, None)
        self._woken.set()

    def list_pending(self) -> frozenset[SourceName]:
        """Return the requested sources, including the one that is being synchronized."""
        with self._lock:
            return frozenset(self._requested) | ({self._current} if self._current else set())

    def close(self) -> None:
        """End the running synchronization; the next server continues it."""
        self._ending.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _run(self) -> None:
        lower_priority()
        while not self._ending.is_set():
            try:
                for source in self._iterate_tasks():
                    try:
                        self._sync(source)
                    finally:
                        self._finish_request()
                self._spaces.warnings.forget("sources")
            # Such as a folder that is unavailable for a while.
            except Exception as error:  # noqa: BLE001 - nobody would start this thread again
                self._spaces.warnings.warn(
                    "sources", f"the sources cannot be synchronized: {error}"
                )
            self._woken.wait(LOOK_S)
            self._woken.clear()

    def _iterate_tasks(self) -> Iterator[SourceName]:
        """Yield the sources to synchronize now, requested ones first."""
        due = self._iterate_due()
        while not self._ending.is_set():
            source = self._take_request() or next(due, None)
            if source is None:
                return
            yield source

    def _take_request(self) -> SourceName | None:
        """Return the next request, which stays pending until its synchronization is done."""
        with self._lock:
            source = next(filter(self._may_begin, self._requested), None)
            if source is not None:
                del self._requested[source]
                self._current = source
            return source

    def _finish_request(self) -> None:
        with self._lock:
            self._current = None

    def _may_begin(self, source: SourceName) -> bool:
        return time.monotonic() >= self._not_before.get(source, 0.0)

    def _iterate_due(self) -> Iterator[SourceName]:
        for workspace, due in self._spaces.visit(
            self._spaces.list_names(self._list_names),
            lambda space: space.engine.sources.list_due(),
            UNREADABLE,
        ):
            names = [SourceName(workspace, source.name) for source in due]
            yield from filter(self._may_begin, names)

    def _sync(self, source: SourceName) -> None:
        space = self._spaces.get_workspace(Caller(workspace=source.workspace))

        def check_going_on(*_: object) -> None:
            if self._ending.is_set():
                raise Interrupted("the server ends; the next one continues")

        self._not_before[source] = time.monotonic() + RETRY_S
        try:
            space.engine.sources.sync(
                source.name,
                on_progress=check_going_on,
                on_object=check_going_on,
                take_turn=lambda work: self._take_turn(space.jobs, work),
            )
        except (IndexLocked, Interrupted) as error:
            LOG.info("source %s waits: %s", source.name, error)
            with self._lock:
                self._requested[source] = None
        except Exception as error:  # noqa: BLE001 - the list of sources shows any error
            self._spaces.warnings.warn(source, f"source {source.name}: {error}")
        else:
            self._spaces.warnings.forget(source)
            self._not_before.pop(source, None)  # a request may have removed it

    def _take_turn(self, jobs: Jobs, work: "Callable[[], IngestReport]") -> "IngestReport":
        """Run work in the ingesting thread of a workspace.

        Raises:
            Interrupted: If the server ends before the work begins.
        """
        turn = jobs.submit(work)
        while not wait([turn], timeout=BEAT_S).done:
            if self._ending.is_set() and turn.cancel():
                raise Interrupted("the server ends; the next one continues")
        return turn.result()
