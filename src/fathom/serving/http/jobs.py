"""Ingestion in the background: a job an upload, one after the other in a workspace."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fathom.engine import Engine
from fathom.serving.http.problems import problem_of

if TYPE_CHECKING:
    from fathom.index.ingest import IngestReport
    from fathom.index.ingest_progress import Advance

State = Literal["waiting", "running", "done", "failed"]
MOST_KEPT = 200
"""So many jobs are remembered; of older ones only the documents are."""


@dataclass(slots=True, kw_only=True)
class Job:
    """Files on their way into the index.

    Attributes:
        names: What each stored file is called by who sent it, by its path.
        refused: Files that were not stored, with the reason.
        bytes: Of all files; `bytes_done` need no more work.
        reason: Why the whole job failed; empty unless it did.
    """

    id: str
    names: dict[str, str]
    refused: list[dict[str, str]]
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
        left = (self.bytes - self.bytes_done) / rate if running and rate > 0 else None
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
            "seconds_left": 0.0 if self.state in {"done", "failed"} else left and round(left, 1),
            "reason": self.reason,
            "files": [*self.files, *self.refused],
        }


class Jobs:
    """The jobs of one workspace."""

    def __init__(self, engine: Engine) -> None:
        """No thread is started before there is a job."""
        self._engine = engine
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._thread: ThreadPoolExecutor | None = None

    def get(self, job_id: str) -> Job | None:
        """The job of this id."""
        return self._jobs.get(job_id)

    def list(self) -> "list[Job]":
        """All that are remembered, newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def add(
        self, root: Path, names: dict[str, str], refused: "Sequence[dict[str, str]]" = ()
    ) -> Job:
        """Ingest stored files, after the jobs that wait already.

        Args:
            root: The folder that they lie in.
            names: What each is called by who sent it, by its path.
            refused: Files that were not stored, with the reason.
        """
        job = Job(id=secrets.token_hex(8), names=names, refused=[*refused])
        with self._lock:
            self._jobs[job.id] = job
            while len(self._jobs) > MOST_KEPT:
                self._jobs.popitem(last=False)
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="fathom-ingest")
            self._thread.submit(self._run, job, root)
        return job

    def close(self) -> None:
        """Forget the jobs that wait, and end the one that runs where it stands."""
        with self._lock:
            if self._thread is not None:
                self._thread.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job, root: Path) -> None:
        job.state, job.began = "running", time.monotonic()
        try:
            if job.names:
                report = self._engine.ingest(
                    [Path(path) for path in job.names], on_progress=_follow(job)
                )
                job.files = [
                    {
                        "path": job.names[each.path],
                        "outcome": each.outcome,
                        "reason": each.reason.replace(f"{root}/", ""),
                    }
                    for each in report.files
                    if each.path in job.names
                ]
                job.files_done, job.bytes_done = len(job.files), job.bytes
            job.state = "done"
        except Exception as error:  # noqa: BLE001 - a job tells whatever broke
            problem = problem_of(error)
            job.state, job.reason = (
                "failed",
                "; ".join(filter(None, (problem.detail, problem.next))),
            )
        finally:
            job.seconds = time.monotonic() - job.began


def _follow(job: Job) -> "Any":  # noqa: ANN401 - an IngestProgress
    def told(report: "IngestReport", advance: "Advance") -> None:
        job.stage, job.files_done = advance.stage, len(report.files)
        job.bytes, job.bytes_done = advance.bytes, advance.done

    return told
