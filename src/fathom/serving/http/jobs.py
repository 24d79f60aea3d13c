"""Ingestion in the background: one job for each upload; a workspace runs one job at a time.

An accepted job is not lost: its files and its record are stored before the reply. If a server ends
during a job, the job is continued by another server, or when that server starts again.
"""

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
from fathom.errors import IndexLocked, RunError, UsageError
from fathom.redaction import open_log
from fathom.serving.http.files import UploadedFiles
from fathom.serving.http.job_queue import Job, create_job_queue
from fathom.serving.http.moved_files import check_rules, find_moved_documents
from fathom.serving.http.problems import build_problem
from fathom.serving.http.uploads import is_sidecar, name_limited

if TYPE_CHECKING:  # a server that only answers does not load ingestion
    from fathom.ingest.progress import IngestState
    from fathom.ingest.report import FileReport, IngestProgress, IngestReport

LOG = open_log("fathom.serving")
T = TypeVar("T")
BEAT_S = 1.0
"""The seconds between two updates of a job's progress, which also renew its lease."""
MOST_STARTS = 2
"""The number of starts after which a job whose servers died counts as the cause."""
_MOST_NAMED = 5
"""The number of files that an error names."""
NICE = 3
"""The niceness of ingestion: questions go first, yet do not stop it."""


class _ServerEnding(Exception):
    """The server ends; a server that starts later continues the job."""


class _LeaseLost(Exception):
    """Another server has taken the job, because this one was silent for too long."""


class Jobs:
    """The ingestion jobs of one workspace."""

    def __init__(self, engine: Engine, files: UploadedFiles) -> None:
        """Create the jobs. No thread starts before there is work."""
        self._engine = engine
        self._files = files
        self._queue = create_job_queue(engine.index, token_hex(8))
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._is_woken = False
        self._is_full = False
        self._ending = threading.Event()

    def get(self, job_id: str) -> Job | None:
        """Return the job of this id."""
        return self._queue.get(job_id)

    def list_latest(self) -> list[Job]:
        """Return all remembered jobs, newest first."""
        return self._queue.list_latest()

    def list_open(self) -> list[Job]:
        """Return the jobs that wait or run."""
        return self._queue.list_open()

    def add(self, names: Mapping[str, str], refused: Sequence[Mapping[str, str]] = ()) -> Job:
        """Ingest stored files, after the jobs that wait already.

        Args:
            names: The name that the client gave each file, by its path.
            refused: Files that were not stored, with the reason.
        """
        job = Job(id=token_hex(8), names={**names}, refused=[{**entry} for entry in refused])
        self._queue.add(job)
        self._wake()
        return job

    def resume(self, *, begins: bool = False) -> None:
        """Continue the open jobs of servers that ended, unless another server does.

        Args:
            begins: Whether this server is just starting, so that no local file is being read.
        """
        if begins:
            self._follow_moved_files()
        if self._queue.has_open():
            self._wake()
        self._files.remove_leftovers(idle=begins and not self.list_open())

    def _follow_moved_files(self) -> None:
        """Read the uploaded files of an index at another place than before from where they are."""
        if names := find_moved_documents(self._engine, self._files, self.list_latest()):
            self.add(names)

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        """Run other work on the index after the submitted jobs: the index has one writer.

        On a full disk the work does not begin; its result is then a `RunError`.
        """

        def run() -> T:
            self._files.check_space()
            return work()

        return self._submit(run)

    def _submit(self, work: Callable[[], T]) -> "Future[T]":
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(
                    1, thread_name_prefix="fathom-ingest", initializer=lower_priority
                )
            return self._thread.submit(work)

    def close(self) -> None:
        """Stop the running job; a server that starts later continues it and the waiting ones."""
        self._ending.set()
        with self._lock:
            thread = self._thread
        if thread is not None:  # outside the lock, which the ending job needs
            thread.shutdown(wait=True, cancel_futures=True)
        self._queue.close()

    def _wake(self) -> None:
        """Make the thread take a job once its present work is done."""
        with self._lock:
            if self._is_woken or self._ending.is_set():
                return
            self._is_woken = True
        self._submit(self._take_job)

    def _take_job(self) -> None:
        with self._lock:
            self._is_woken = False
        job = None if self._ending.is_set() or not self._has_space() else self._queue.take()
        if job is not None:
            if job.starts > MOST_STARTS:
                self._give_up(job)
            elif not self._run_job(job):
                return  # `resume`, which is called again and again, continues the job
            self._wake()

    def _has_space(self) -> bool:
        """Return whether the disk has room for a job; otherwise all wait, and the log tells why."""
        was_full = self._is_full
        try:
            self._files.check_space()
        except (RunError, OSError) as error:
            self._is_full = True
            if not was_full:
                LOG.warning("uploads wait: %s", error)
        else:
            self._is_full = False
        return not self._is_full

    def _give_up(self, job: Job) -> None:
        job.state, job.reason = "failed", _explain_failure(job)
        self._queue.save(job)

    def _run_job(self, job: Job) -> bool:
        """Run a job; return whether the next one can begin at once."""
        try:
            check_rules(self._engine, self._files.find_moved(job.names))
            job.names, earlier = self._files.map_paths(job.names)
            job.replaced = sorted({*job.replaced, *earlier})
            with self._report_progress(job) as progress:
                self._ingest_files(job, progress)
            job.state = "done"
        except _LeaseLost:
            return True
        except _ServerEnding:
            self._queue.give_back(job)
            return True
        except IndexLocked:  # another process is writing, such as `fathom ingest`
            self._queue.give_back(job)
            return False
        except Exception as error:  # noqa: BLE001 - a job reports any error
            problem = build_problem(error)
            job.state, job.reason = (
                "failed",
                "; ".join(filter(None, (problem.detail, problem.next))),
            )
        self._queue.save(job)
        return True

    def _ingest_files(self, job: Job, follow: "IngestProgress") -> None:
        with self._files.provide_files(job.names) as paths:
            documents = [path for path in paths if not is_sidecar(path.name)]
            if documents:
                report = self._engine.ingest(documents, on_progress=follow)
                _finish_job(job, report.files, self._files.folder)
            elif paths:
                _finish_job(job, (), self._files.folder)
        # Earlier versions ingested sidecars, so that everybody could read whom they name.
        sidecars = [path for path, name in job.names.items() if is_sidecar(name)]
        for path in (*job.replaced, *sidecars):
            with suppress(UsageError):  # no document has this path
                self._engine.documents.remove([path])

    @contextmanager
    def _report_progress(self, job: Job) -> "Iterator[IngestProgress]":
        """Save a job's progress while a `with` block runs; yield the callback for the ingestion."""
        start, earlier_seconds = time.monotonic(), job.seconds
        over, taken = threading.Event(), threading.Event()

        def save_progress() -> None:
            while not over.wait(BEAT_S):
                job.seconds = earlier_seconds + time.monotonic() - start
                with suppress(Exception):  # the next save reports a longer failure
                    if not self._queue.save(job):
                        taken.set()

        def follow(report: "IngestReport", advance: "IngestState") -> None:
            job.stage, job.files_done = advance.stage, min(len(report.files), len(job.names))
            job.bytes, job.bytes_done = advance.bytes, advance.done
            if self._ending.is_set():
                raise _ServerEnding
            # Only the ingesting thread can stop the ingestion, so the other one leaves a flag.
            if taken.is_set():
                raise _LeaseLost

        thread = threading.Thread(target=save_progress, name="fathom-job", daemon=True)
        thread.start()
        try:
            yield follow
        finally:
            over.set()
            thread.join()
            job.seconds = earlier_seconds + time.monotonic() - start


def _finish_job(job: Job, outcomes: Sequence["FileReport"], folder: Path) -> None:
    """Add the outcome of each file to the job."""
    job.files = [  # without what an earlier start may have added
        {"path": name, "outcome": "ok", "reason": f"names the readers of {name_limited(name)}"}
        for name in job.names.values()
        if is_sidecar(name)
    ]
    for entry in outcomes:
        # The path of a record is that of its file, `#`, and the record's name.
        path, mark, record = entry.path.partition("#")
        file_name = job.names.get(entry.path)
        name = file_name or (job.names.get(path) and f"{job.names[path]}{mark}{record}")
        if name:
            reason = entry.reason.replace(f"{folder}/", "")
            job.files.append({"path": name, "outcome": entry.outcome, "reason": reason})
    job.files_done, job.bytes_done = len(job.names), job.bytes


def _explain_failure(job: Job) -> str:
    names = [*job.names.values()]
    rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"{job.starts - 1} servers ended while reading {', '.join(names[:_MOST_NAMED])}{rest}; "
        "send the files again one by one, without the one that causes it"
    )


def lower_priority() -> None:
    """Lower the priority of this thread, so that questions go first."""
    with suppress(OSError, AttributeError):  # Linux alone has priorities of threads
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
