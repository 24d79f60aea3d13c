"""The tasks of workers and their results, which come in order, each once, even if workers die."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Generic, Protocol, TypeVar

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.models.base import Embedder, Matrix
from fathom.types import Chunk, Document

TRIES = 3
"""The tries of a task whose workers die; after them the task itself is blamed."""
EMBED_SECONDS, EMBED_TEXT_SECONDS = 120.0, 10.0
"""The time in seconds in which a worker must start and embed, and the time per text."""
MAX_AHEAD = 4
"""The largest number of started tasks per worker whose results nobody has taken yet."""


@dataclass(frozen=True, slots=True)
class ReadFileTask:
    """The task to read a file in the sandbox and to cut it.

    Attributes:
        path: The path, which must lead a worker to the file too.
        place: The name of the file in the index.
        known_digest: The digest of what was read there; a file with that content is not read
            again.
    """

    path: str
    place: str
    known_digest: str = ""

    seconds: ClassVar[float] = math.inf
    """The time limit: none, because the sandbox and cutting have limits of their own."""


@dataclass(frozen=True, slots=True)
class EmbedTask:
    """The task to embed texts for a space."""

    space: str
    texts: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """The time limit, which large models on slow machines keep; a worker beyond it hangs."""
        return EMBED_SECONDS + EMBED_TEXT_SECONDS * len(self.texts)


@dataclass(frozen=True, slots=True)
class CutRecordsTask:
    """The task to cut records of a corpus file; `place` is that of the file."""

    place: str
    records: tuple[ParsedDocument, ...]

    seconds: ClassVar[float] = math.inf
    """The time limit: none, because the worker limits the time for each record."""


@dataclass(frozen=True, slots=True)
class CutDocumentTask:
    """The task to cut a document."""

    document: Document

    seconds: ClassVar[float] = math.inf
    """The time limit: none, because the worker limits the time itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """The content of a file that was read.

    Attributes:
        digest: The digest of its bytes.
        contents: The document. Empty if the content is known, and for a corpus file, whose records
            are too many for memory: the writing process reads it, and has the records cut.
        chunks: The document's chunks.
        tables: Its long tables, packed.
        refusal: The reason why there is no document.
        error: The reason why its bytes could not be read.
    """

    digest: str = ""
    contents: tuple[ParsedDocument | RecordFailure, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    tables: bytes = b""
    refusal: ParseRefusal | None = None
    error: OSError | None = None


@dataclass(frozen=True, slots=True)
class ChunkedText:
    """The language and the chunks that a worker found for a document or a record."""

    language: str
    chunks: tuple[Chunk, ...]


ChunkedRecords = tuple[ChunkedText | ParseRefusal, ...]
"""The chunks of each record in their order, or the reason why it cannot be cut."""


@dataclass(frozen=True, slots=True)
class LostTask:
    """The result of a task whose worker died or failed.

    Attributes:
        reason: One line.
        is_final: Whether another worker would end in the same way.
    """

    reason: str
    is_final: bool = False

    @property
    def final_reason(self) -> str:
        """The reason after all tries, in one line."""
        return self.reason if self.is_final else f"{self.reason}, {TRIES} times"


Task = ReadFileTask | CutRecordsTask | CutDocumentTask | EmbedTask


def count_tries(task: Task) -> int:
    """Return the number of tries for a task whose workers die; 1 if it has several texts."""
    if isinstance(task, ReadFileTask | CutDocumentTask):
        return TRIES
    texts = task.texts if isinstance(task, EmbedTask) else task.records
    # One of several texts is to blame, so the caller splits the task instead.
    return 1 if len(texts) > 1 else TRIES


TaskResult = (
    FileContent | ChunkedRecords | ChunkedText | ParseRefusal | Matrix | LostTask | FathomError
)
EndedTask = tuple[int, TaskResult]
TaskT = TypeVar("TaskT", bound=Task)


class WorkerTools(Protocol):
    """The tools of a worker."""

    @property
    def parse_limits(self) -> ParseLimits:
        """The limits of time and memory for one file."""
        ...

    @property
    def chunker(self) -> Chunker:
        """The chunker of documents."""
        ...

    @property
    def embedders(self) -> Mapping[str, Embedder]:
        """The embedders by the names of their spaces; `""` is the space that every index has."""
        ...


class Workers(Protocol):
    """Workers that do one task each at a time, on this machine or on others."""

    @property
    def size(self) -> int:
        """The number of workers."""
        ...

    def start(self, ticket: int, task: Task) -> None:
        """Give a task to an idle worker; there must be one."""
        ...

    def wait_for_results(self) -> list[EndedTask]:
        """Wait until tasks have ended, and return their tickets and results.

        Workers that died are replaced.

        Raises:
            FathomError: If a worker cannot work at all.
        """
        ...

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        ...


class WorkerPool:
    """Workers shared by runs of tasks; one run may go on inside another."""

    def __init__(self, workers: Workers) -> None:
        """Create the pool over workers that nobody else uses meanwhile."""
        self._workers = workers
        self._tickets = count()
        self._started: dict[int, Task] = {}
        """Tasks that were started and whose result nobody has taken."""
        self._tries: dict[int, int] = {}
        """The tries of the tasks that a worker has now."""
        self._results: dict[int, TaskResult] = {}

    def run_in_order(self, tasks: Iterable[TaskT]) -> Iterator[tuple[TaskT, TaskResult]]:
        """Yield each task with its result, in the order of the tasks.

        Tasks are started as workers become idle, at most `MAX_AHEAD` per worker before the results
        of earlier ones are taken. A lost task goes to another worker, up to `count_tries` times.
        The caller may finish another run before it takes the next result.

        Raises:
            FathomError: If a worker had to raise it.
        """
        run = _Run(tasks)
        try:
            while self._start_tasks(run):
                if not run.started or run.started[0][0] not in self._results:
                    self._collect()
                    continue
                ticket, task = run.started.popleft()
                del self._started[ticket]
                result = self._results.pop(ticket)
                if isinstance(result, FathomError):
                    raise result
                self._start_tasks(run)  # keeps workers busy while the caller stores the result
                yield task, result
        finally:
            for ticket, _ in run.started:
                del self._started[ticket]
                self._results.pop(ticket, None)

    def _start_tasks(self, run: "_Run[TaskT]") -> bool:
        """Give tasks to all idle workers; return whether there is a result to wait for."""
        size = self._workers.size
        while (
            run.more is not None and len(self._tries) < size and len(run.started) < MAX_AHEAD * size
        ):
            task = next(run.more, None)
            if task is None:
                run.more = None
                break
            ticket = next(self._tickets)
            run.started.append((ticket, task))
            self._started[ticket], self._tries[ticket] = task, 1
            self._workers.start(ticket, task)
        return bool(run.started) or run.more is not None

    def _collect(self) -> None:
        """Wait for results of any run; lost tasks are tried again."""
        for ticket, result in self._workers.wait_for_results():
            task = self._started.get(ticket)
            if task is None:  # its run has ended early
                del self._tries[ticket]
            elif _may_retry(result) and self._tries[ticket] < count_tries(task):
                self._tries[ticket] += 1
                self._workers.start(ticket, task)
            else:
                self._results[ticket] = result
                del self._tries[ticket]


def _may_retry(result: TaskResult) -> bool:
    """Return whether a result is a loss that another worker may avoid."""
    return isinstance(result, LostTask) and not result.is_final


class _Run(Generic[TaskT]):
    """The tasks to come (`None` after the last), and those whose result nobody has taken."""

    def __init__(self, tasks: Iterable[TaskT]) -> None:
        self.more: Iterator[TaskT] | None = iter(tasks)
        self.started: deque[tuple[int, TaskT]] = deque()
