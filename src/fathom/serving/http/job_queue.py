"""The queue of ingestion jobs of a workspace, shared by all servers; one server runs each job."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.tables import JOB_TABLES

JobState = Literal["waiting", "running", "done", "failed"]
MOST_KEPT = 200
"""The number of jobs whose records are kept."""
LEASE_S = 15.0
"""The seconds of silence after which a server counts as dead; another one takes its job."""
_OPEN = "state IN ('waiting', 'running')"


@dataclass(slots=True, kw_only=True)
class Job:
    """A job that ingests uploaded files.

    Attributes:
        names: The name that the client gave each stored file, by its path.
        refused: Files that were not stored: their name as `path`, `outcome` and `reason`.
        replaced: Earlier paths of the documents of these files, which are removed at the end.
        bytes: The size of all files.
        bytes_done: The size of the files that are done.
        seconds: The time of work on the job.
        starts: The number of times that a server began the job without giving it back.
        reason: The error of a failed job; else empty.
        files: The outcome of each stored file.
    """

    id: str
    names: dict[str, str]
    refused: list[dict[str, str]]
    replaced: list[str] = field(default_factory=list)
    state: JobState = "waiting"
    stage: str = ""
    files_done: int = 0
    bytes: int = 0
    bytes_done: float = 0.0
    seconds: float = 0.0
    starts: int = 0
    reason: str = ""
    files: list[dict[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the job as JSON; `rate` is in bytes per second, `seconds_left` is an estimate."""
        running = self.state == "running"
        rate = self.bytes_done / self.seconds if self.seconds > 0 else 0.0
        seconds_left = None if rate == 0 else max(0.0, (self.bytes - self.bytes_done) / rate)
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
            "seconds_left": round(seconds_left or 0.0, 1)
            if running and seconds_left is not None
            else None,
            "reason": self.reason,
            "files": [*self.files, *self.refused],
        }


class JobQueue:
    """A queue that gives each job to one server at a time, in the order of arrival."""

    def __init__(self, database: Database, server: str) -> None:
        """Create the queue. Nothing is opened before there is a job.

        Args:
            database: The database with the table `jobs`.
            server: The unique id of this server.
        """
        self._database = database
        self._server = server

    def add(self, job: Job) -> None:
        """Store a job, and forget the oldest finished jobs."""
        self._database.execute(
            "INSERT INTO jobs(id, state, data) VALUES (?, ?, ?)",
            (job.id, job.state, _serialize_job(job)),
        )
        self._database.execute(
            f"DELETE FROM jobs WHERE NOT {_OPEN} AND no <= (SELECT max(no) FROM jobs) - ?",  # noqa: S608 - constant
            (MOST_KEPT,),
        )

    def get(self, job_id: str) -> Job | None:
        """Return the job of this id."""
        rows = self._select_rows("SELECT state, data FROM jobs WHERE id = ?", job_id)
        return _parse_job(*rows[0]) if rows else None

    def list_latest(self) -> list[Job]:
        """Return all remembered jobs, newest first."""
        rows = self._select_rows("SELECT state, data FROM jobs ORDER BY no DESC LIMIT ?", MOST_KEPT)
        return [_parse_job(*row) for row in rows]

    def has_open(self) -> bool:
        """Return whether there is a job that a server should take."""
        clock = self._database.clock
        return bool(
            self._select_rows(
                f"SELECT no FROM jobs WHERE no = (SELECT min(no) FROM jobs WHERE {_OPEN}) "  # noqa: S608 - constants
                f"AND (state = 'waiting' OR lease < {clock})"
            )
        )

    def list_open(self) -> list[Job]:
        """Return the jobs that wait or run."""
        rows = self._select_rows(f"SELECT state, data FROM jobs WHERE {_OPEN}")  # noqa: S608 - constant
        return [_parse_job(*row) for row in rows]

    def take(self) -> Job | None:
        """Take the oldest unfinished job for this server alone; `None` while another server has it.

        A workspace runs one job at a time, so that of two uploads of a file the later one wins.
        """
        clock = self._database.clock
        rows = self._select_rows(
            f"UPDATE jobs SET state = 'running', server = ?, lease = {clock} + ? "  # noqa: S608 - constants
            f"WHERE no = (SELECT min(no) FROM jobs WHERE {_OPEN}) "
            f"AND (state = 'waiting' OR state = 'running' AND lease < {clock}) "
            "RETURNING state, data",
            *(self._server, LEASE_S),
        )
        if not rows:
            return None
        job = _parse_job(*rows[0])
        job.starts += 1
        # Saved before any work: a start must count even if the work kills the server.
        return job if self.save(job) else None

    def give_back(self, job: Job) -> bool:
        """Return a job to the queue; this start does not count."""
        job.state, job.starts = "waiting", job.starts - 1
        return self.save(job)

    def save(self, job: Job) -> bool:
        """Save the progress of a job; return whether this server still has the job."""
        rows = self._database.execute(
            # The database's clock: the clocks of the servers may differ.
            f"UPDATE jobs SET state = ?, data = ?, lease = {self._database.clock} + ? "  # noqa: S608 - constant
            "WHERE id = ? AND server = ? AND state = 'running' RETURNING id",
            (job.state, _serialize_job(job), LEASE_S, job.id, self._server),
        )
        return bool(rows)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _select_rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._database.execute(statement, values) if self._database.is_there() else []


def create_job_queue(index: Index, server: str) -> JobQueue:
    """Create the queue beside an index."""
    return JobQueue(index.open_database(JOB_TABLES.file, JOB_TABLES.tables), server)


def _serialize_job(job: Job) -> str:
    names = (name for name in Job.__slots__ if name != "state")
    return json.dumps({name: getattr(job, name) for name in names})


def _parse_job(state: JobState, data: str) -> Job:
    return Job(state=state, **json.loads(data))
