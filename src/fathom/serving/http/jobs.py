"""Ingestion in the background: a job an upload, one after the other in a workspace.

A job that was taken on is not lost: its files are stored, and a note of it, before it is promised;
a server that is started again goes on with it.
"""

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fathom.engine import Engine
from fathom.serving.http.problems import problem_of

if TYPE_CHECKING:  # who asks reads no files
    from fathom.index.ingest import IngestProgress, IngestReport
    from fathom.index.ingest_progress import Advance

T = TypeVar("T")
State = Literal["waiting", "running", "done", "failed"]
UPLOADS = "uploads"
"""Below an index: the files that were sent to it."""
NOTES = ".jobs"
"""Below the uploads: what is still to be read."""
MOST_KEPT = 200
"""So many jobs are remembered; of older ones only the documents are."""
NICE = 3
"""Reading files gives way to questions, yet goes on beside many of them."""


@dataclass(slots=True, kw_only=True)
class Job:
    """Files on their way into the index.

    Attributes:
        names: What each stored file is called by who sent it, by its path.
        refused: Files that were not stored: their name as `path`, `outcome` and `reason`.
        bytes: Of all files; `bytes_done` need no more work.
        reason: Why the whole job failed; empty unless it did.
        files: What became of each stored file.
    """

    id: str
    names: Mapping[str, str]
    refused: Sequence[Mapping[str, str]]
    state: State = "waiting"
    stage: str = ""
    files_done: int = 0
    bytes: int = 0
    bytes_done: float = 0.0
    began: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    files: list[dict[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As the API tells it; `rate` is in bytes a second, `seconds_left` is a guess."""
        running = self.state == "running"
        seconds = time.monotonic() - self.began if running else self.seconds
        rate = self.bytes_done / seconds if seconds > 0 else 0.0
        left = None if rate == 0 else max(0.0, (self.bytes - self.bytes_done) / rate)
        return {
            "id": self.id,
            "state": self.state,
            "stage": self.stage,
            "files_done": self.files_done + len(self.refused),
            "files_total": len(self.names) + len(self.refused),
            "bytes_done": round(self.bytes_done),
            "bytes_total": self.bytes,
            "rate": round(rate, 1),
            "seconds": round(seconds, 3),
            "seconds_left": round(left or 0.0, 1) if running and left is not None else None,
            "reason": self.reason,
            "files": [*self.files, *self.refused],
        }

    def follow(self, report: "IngestReport", advance: "Advance") -> None:
        """See `IngestProgress`."""
        self.stage, self.files_done = advance.stage, min(len(report.files), len(self.names))
        self.bytes, self.bytes_done = advance.bytes, advance.done

    def finish(self, report: "IngestReport", folder: Path) -> None:
        """What became of the files."""
        for each in report.files:
            path, mark, record = each.path.partition("#")
            whole = self.names.get(each.path)
            name = whole or (self.names.get(path) and f"{self.names[path]}{mark}{record}")
            if name:
                reason = each.reason.replace(f"{folder}/", "")
                self.files.append({"path": name, "outcome": each.outcome, "reason": reason})
        self.files_done, self.bytes_done = len(self.names), self.bytes


class _Ended(Exception):
    """The server ends; the job is gone on with when it is started again."""


class Jobs:
    """The jobs of one workspace."""

    def __init__(self, engine: Engine) -> None:
        """No thread is started before there is something to do."""
        self._engine = engine
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._thread: ThreadPoolExecutor | None = None
        self._ending = threading.Event()

    @property
    def folder(self) -> Path:
        """Where the files lie that were sent."""
        return (self._engine.directory / UPLOADS).absolute()

    def get(self, job_id: str) -> Job | None:
        """The job of this id."""
        return self._jobs.get(job_id)

    def latest(self) -> list[Job]:
        """All that are remembered, newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def add(self, names: Mapping[str, str], refused: Sequence[Mapping[str, str]] = ()) -> Job:
        """Ingest stored files, after the jobs that wait already.

        Args:
            names: What each is called by who sent it, by its path.
            refused: Files that were not stored, with the reason.
        """
        job = Job(id=token_hex(8), names=names, refused=[*refused])
        note = self._note(job.id)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"names": dict(names), "refused": [*refused]}), encoding="utf-8")
        self._enqueue(job)
        return job

    def resume(self) -> None:
        """Go on with what was promised before the server ended."""
        for note in sorted((self.folder / NOTES).glob("*.json")):
            with suppress(ValueError, KeyError, OSError):
                told = json.loads(note.read_text(encoding="utf-8"))
                there = {path: name for path, name in told["names"].items() if Path(path).exists()}
                self._enqueue(Job(id=note.stem, names=there, refused=told["refused"]))

    def do(self, work: Callable[[], T]) -> "Future[T]":
        """Change the index otherwise, when the jobs before are done: it has one writer."""
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
            if self._thread is not None:
                self._thread.shutdown(wait=True, cancel_futures=True)

    def _note(self, job_id: str) -> Path:
        return self.folder / NOTES / f"{job_id}.json"

    def _enqueue(self, job: Job) -> None:
        with self._lock:
            self._jobs[job.id] = job
            while len(self._jobs) > MOST_KEPT:
                self._jobs.popitem(last=False)
        self.do(lambda: self._run(job))

    def _run(self, job: Job) -> None:
        job.state, job.began = "running", time.monotonic()
        try:
            if job.names:
                paths = [Path(path) for path in job.names]
                job.finish(self._engine.ingest(paths, on_progress=self._follow(job)), self.folder)
            job.state = "done"
        except _Ended:
            job.state = "waiting"
            return
        except Exception as error:  # noqa: BLE001 - a job tells whatever broke
            known = problem_of(error)
            job.state, job.reason = "failed", "; ".join(filter(None, (known.detail, known.next)))
        finally:
            job.seconds = time.monotonic() - job.began
        self._note(job.id).unlink(missing_ok=True)

    def _follow(self, job: Job) -> "IngestProgress":
        def told(report: "IngestReport", advance: "Advance") -> None:
            if self._ending.is_set():
                raise _Ended
            job.follow(report, advance)

        return told


def _give_way() -> None:
    with suppress(OSError, AttributeError):  # Linux alone has priorities of threads
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
