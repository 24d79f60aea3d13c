"""The jobs of a workspace, where all its servers see them: each is worked off by one of them."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.kept import JOBS

State = Literal["waiting", "running", "done", "failed"]
MOST_KEPT = 200
"""So many jobs are remembered; of older ones only the documents are."""
LEASE_S = 15.0
"""A server that is not heard of for so long has died; another one takes up its job."""
_OPEN = "state IN ('waiting', 'running')"


@dataclass(slots=True, kw_only=True)
class Job:
    """Files on their way into the index.

    Attributes:
        names: What each stored file is called by who sent it, by its path.
        refused: Files that were not stored: their name as `path`, `outcome` and `reason`.
        replaced: Paths under which the documents of these files were known before.
        bytes: Of all files; `bytes_done` need no more work.
        seconds: That were worked on it.
        starts: How often a server began it and did not give it back.
        reason: Why the whole job failed; empty unless it did.
        files: What became of each stored file.
    """

    id: str
    names: dict[str, str]
    refused: list[dict[str, str]]
    replaced: list[str] = field(default_factory=list)
    state: State = "waiting"
    stage: str = ""
    files_done: int = 0
    bytes: int = 0
    bytes_done: float = 0.0
    seconds: float = 0.0
    starts: int = 0
    reason: str = ""
    files: list[dict[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As the API tells it; `rate` is in bytes a second, `seconds_left` is a guess."""
        running = self.state == "running"
        rate = self.bytes_done / self.seconds if self.seconds > 0 else 0.0
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
            "seconds": round(self.seconds, 3),
            "seconds_left": round(left or 0.0, 1) if running and left is not None else None,
            "reason": self.reason,
            "files": [*self.files, *self.refused],
        }


class JobQueue:
    """Keeps jobs, and gives each to one server at a time, in the order in which they came."""

    def __init__(self, kept: Database, server: str) -> None:
        """Nothing is opened before there is a job.

        Args:
            kept: Holds the table `jobs`.
            server: Names this one among all that there ever were.
        """
        self._kept = kept
        self._server = server

    def add(self, job: Job) -> None:
        """Keep a job; from then on it is not lost."""
        self._kept.ask(
            "INSERT INTO jobs(id, state, data) VALUES (?, ?, ?)", (job.id, job.state, _packed(job))
        )
        self._kept.ask(
            f"DELETE FROM jobs WHERE NOT {_OPEN} AND no <= (SELECT max(no) FROM jobs) - ?",  # noqa: S608 - constant
            (MOST_KEPT,),
        )

    def get(self, job_id: str) -> Job | None:
        """The job of this id."""
        rows = self._ask("SELECT state, data FROM jobs WHERE id = ?", job_id)
        return _unpacked(*rows[0]) if rows else None

    def latest(self) -> list[Job]:
        """All that are remembered, newest first."""
        rows = self._ask("SELECT state, data FROM jobs ORDER BY no DESC LIMIT ?", MOST_KEPT)
        return [_unpacked(*row) for row in rows]

    def has_open(self) -> bool:
        """Whether there is a job that somebody should take."""
        clock = self._kept.clock
        return bool(
            self._ask(
                f"SELECT no FROM jobs WHERE no = (SELECT min(no) FROM jobs WHERE {_OPEN}) "  # noqa: S608 - constants
                f"AND (state = 'waiting' OR lease < {clock})"
            )
        )

    def is_empty(self) -> bool:
        """Whether no job waits or runs."""
        return not self._ask(f"SELECT no FROM jobs WHERE {_OPEN} LIMIT 1")  # noqa: S608 - constant

    def take(self) -> Job | None:
        """The oldest job that is not done, for this server alone; `None` while another has it.

        Only one job of a workspace runs at a time: what was sent last is what is there at last.
        """
        clock = self._kept.clock
        rows = self._ask(
            f"UPDATE jobs SET state = 'running', server = ?, lease = {clock} + ? "  # noqa: S608 - constants
            f"WHERE no = (SELECT min(no) FROM jobs WHERE {_OPEN}) "
            f"AND (state = 'waiting' OR state = 'running' AND lease < {clock}) "
            "RETURNING state, data",
            *(self._server, LEASE_S),
        )
        if not rows:
            return None
        job = _unpacked(*rows[0])
        job.starts += 1
        # Kept before any work, which may be what ends the server.
        return job if self.save(job) else None

    def give_back(self, job: Job) -> bool:
        """Let a job wait again that this server took; that start of it does not count."""
        job.state, job.starts = "waiting", job.starts - 1
        return self.save(job)

    def save(self, job: Job) -> bool:
        """Tell the others how far a job is that this server took; whether it is still its own."""
        rows = self._kept.ask(
            f"UPDATE jobs SET state = ?, data = ?, lease = {self._kept.clock} + ? "  # noqa: S608 - constant
            "WHERE id = ? AND server = ? AND state = 'running' RETURNING id",
            (job.state, _packed(job), LEASE_S, job.id, self._server),
        )
        return bool(rows)

    def close(self) -> None:
        """Let go of the jobs."""
        self._kept.close()

    def _ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._kept.ask(statement, values) if self._kept.is_there() else []


def queue_of(index: Index, server: str) -> JobQueue:
    """The jobs of an index."""
    return JobQueue(index.database(JOBS.file, JOBS.tables), server)


def _packed(job: Job) -> str:
    names = (name for name in Job.__slots__ if name != "state")
    return json.dumps({name: getattr(job, name) for name in names})


def _unpacked(state: State, data: str) -> Job:
    return Job(state=state, **json.loads(data))
