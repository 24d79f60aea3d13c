"""Ingestion in the background: a job an upload, one after the other in a workspace.

A job that was taken on is not lost: its files are stored, and a note of it, before it is promised;
what a server leaves that ends goes on when it is started again, or at another one.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, TypeVar

from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.serving.http.files import Files
from fathom.serving.http.job_queue import Job, queue_of
from fathom.serving.http.problems import problem_of

if TYPE_CHECKING:  # who asks reads no files
    from fathom.index.ingest_progress import Advance
    from fathom.index.ingest_report import IngestProgress, IngestReport

T = TypeVar("T")
NOTES = ".jobs"
"""Below the uploads: where an earlier Fathom noted what was still to be read."""
BEAT_S = 1.0
"""So often the others are told how far a job is."""
MOST_STARTS = 2
"""So often a job is begun whose server dies; then the job is taken for the reason."""
_MOST_NAMED = 5
NICE = 3
"""Reading files gives way to questions, yet goes on beside many of them."""


class _Ended(Exception):
    """The server ends; the job is gone on with when one is started again."""


class _Taken(Exception):
    """Another server has taken the job: this one was not heard of for too long."""


class Jobs:
    """The jobs of one workspace."""

    def __init__(self, engine: Engine, files: Files) -> None:
        """No thread is started before there is something to do."""
        self._engine = engine
        self._files = files
        self._queue = queue_of(engine.index, token_hex(8))
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._woken = False
        self._ending = threading.Event()

    def get(self, job_id: str) -> Job | None:
        """The job of this id."""
        return self._queue.get(job_id)

    def latest(self) -> list[Job]:
        """All that are remembered, newest first."""
        return self._queue.latest()

    def add(self, names: Mapping[str, str], refused: Sequence[Mapping[str, str]] = ()) -> Job:
        """Ingest stored files, after the jobs that wait already.

        Args:
            names: What each is called by who sent it, by its path.
            refused: Files that were not stored, with the reason.
        """
        job = Job(id=token_hex(8), names={**names}, refused=[{**each} for each in refused])
        self._queue.add(job)
        self._wake()
        return job

    def resume(self, *, begins: bool = False) -> None:
        """Go on with what was promised before a server ended, if nobody else does.

        Args:
            begins: Whether this server does nothing yet, so that no file here is being read.
        """
        for note in sorted((self._files.folder / NOTES).glob("*.json")):
            with suppress(ValueError, KeyError, OSError):
                told = json.loads(note.read_text(encoding="utf-8"))
                if self._queue.get(note.stem) is None:
                    self._queue.add(Job(id=note.stem, **told))
                note.unlink()
        if self._queue.has_open():
            self._wake()
        self._files.tidy(idle=begins and self._queue.is_empty())

    def do(self, work: Callable[[], T]) -> "Future[T]":
        """Change the index otherwise, when the jobs before are done: here it has one writer."""
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(
                    1, thread_name_prefix="fathom-ingest", initializer=_give_way
                )
            return self._thread.submit(work)

    def close(self) -> None:
        """End the job that runs where it stands; what waits is gone on with another time."""
        self._ending.set()
        with self._lock:
            thread = self._thread
        if thread is not None:  # not under the lock: the job that ends asks for it
            thread.shutdown(wait=True, cancel_futures=True)
        self._queue.close()

    def _wake(self) -> None:
        """Let the thread take a job, when it has done what it was given before."""
        with self._lock:
            if self._woken or self._ending.is_set():
                return
            self._woken = True
        self.do(self._take)

    def _take(self) -> None:
        with self._lock:
            self._woken = False
        job = None if self._ending.is_set() else self._queue.take()
        if job is not None:
            if job.starts > MOST_STARTS:
                self._give_up(job)
            else:
                self._run(job)
            self._wake()

    def _give_up(self, job: Job) -> None:
        job.state, job.reason = "failed", _why_given_up(job)
        self._queue.save(job)

    def _run(self, job: Job) -> None:
        try:
            job.names, before = self._files.placed(job.names)
            job.replaced = sorted({*job.replaced, *before})
            with self._told(job) as follow:
                self._read(job, follow)
            job.state = "done"
        except _Taken:
            return
        except _Ended:
            self._queue.give_back(job)
            return
        except Exception as error:  # noqa: BLE001 - a job tells whatever broke
            known = problem_of(error)
            job.state, job.reason = "failed", "; ".join(filter(None, (known.detail, known.next)))
        self._queue.save(job)

    def _read(self, job: Job, follow: "IngestProgress") -> None:
        with self._files.on_disk(job.names) as paths:
            if paths:
                _finish(job, self._engine.ingest(paths, on_progress=follow), self._files.folder)
        for path in job.replaced:
            with suppress(UsageError):  # it is not known under this path
                self._engine.documents.remove([path])

    @contextmanager
    def _told(self, job: Job) -> "Iterator[IngestProgress]":
        """Tell the others how far a job is; gives what is to be told."""
        began, before = time.monotonic(), job.seconds
        over, taken = threading.Event(), threading.Event()

        def beat() -> None:
            while not over.wait(BEAT_S):
                job.seconds = before + time.monotonic() - began
                with suppress(Exception):  # the server is away for a moment; the next one tells
                    if not self._queue.save(job):
                        taken.set()

        def told(report: "IngestReport", advance: "Advance") -> None:
            job.stage, job.files_done = advance.stage, min(len(report.files), len(job.names))
            job.bytes, job.bytes_done = advance.bytes, advance.done
            if self._ending.is_set():
                raise _Ended
            if taken.is_set():
                raise _Taken

        thread = threading.Thread(target=beat, name="fathom-job", daemon=True)
        thread.start()
        try:
            yield told
        finally:
            over.set()
            thread.join()
            job.seconds = before + time.monotonic() - began


def _finish(job: Job, report: "IngestReport", folder: Path) -> None:
    """What became of the files."""
    for each in report.files:
        path, mark, record = each.path.partition("#")
        whole = job.names.get(each.path)
        name = whole or (job.names.get(path) and f"{job.names[path]}{mark}{record}")
        if name:
            reason = each.reason.replace(f"{folder}/", "")
            job.files.append({"path": name, "outcome": each.outcome, "reason": reason})
    job.files_done, job.bytes_done = len(job.names), job.bytes


def _why_given_up(job: Job) -> str:
    names = [*job.names.values()]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"{job.starts - 1} servers ended while they read {', '.join(names[:_MOST_NAMED])}{more}; "
        "send the files again one by one, without the one that does it"
    )


def _give_way() -> None:
    with suppress(OSError, AttributeError):  # Linux alone has priorities of threads
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
