"""The tasks of workers, and a pool that returns each result once and in order if workers die."""

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
"""The number of times that a task is started if its workers die; then it has failed."""
EMBED_SECONDS, EMBED_TEXT_SECONDS = 120.0, 10.0
"""The time in seconds in which a worker must start and embed texts, and the time that each adds."""
MAX_AHEAD = 4
"""The largest number of tasks per worker that are started before their results are taken."""


@dataclass(frozen=True, slots=True)
class ReadFileTask:
    """The task to read a file in the sandbox and to cut it.

    Attributes:
        path: The path of the file, which must be the same for workers on other machines.
        place: The place of the file in the index.
        known_digest: The digest of the content that the index has; a file with this content is not
            read again. Empty if the index has none.
    """

    path: str
    place: str
    known_digest: str = ""

    seconds: ClassVar[float] = math.inf
    """The time limit in seconds: none, because the sandbox and cutting have limits of their own."""


@dataclass(frozen=True, slots=True)
class EmbedTask:
    """The task to embed texts for a space; the result is a matrix with a row for each text.

    Attributes:
        space: The name of the space, which is empty for the one that every index has.
        texts: The texts.
    """

    space: str
    texts: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """The time limit in seconds, enough for large models on slow machines."""
        return EMBED_SECONDS + EMBED_TEXT_SECONDS * len(self.texts)


@dataclass(frozen=True, slots=True)
class CutRecordsTask:
    """The task to cut records of a corpus file.

    Attributes:
        place: The place of the file in the index.
        records: The records.
    """

    place: str
    records: tuple[ParsedDocument, ...]

    seconds: ClassVar[float] = math.inf
    """The time limit in seconds: none, because the worker limits the time for each record."""


@dataclass(frozen=True, slots=True)
class CutDocumentTask:
    """The task to cut a document into chunks."""

    document: Document

    seconds: ClassVar[float] = math.inf
    """The time limit in seconds: none, because the worker limits the time itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """The content of a file that was read.

    Attributes:
        digest: The digest of its bytes; empty if they could not be read.
        contents: The document. Empty if the index has this content or there is a refusal. Also
            empty for a corpus file, whose records are too many for memory: the process that writes
            the index reads it, and gives its records to workers to be cut.
        chunks: The chunks of the document.
        tables: The long tables of the document, as `pack_tables` returns them.
        refusal: Why the file gives no document; `None` if it gives one.
        error: Why the bytes could not be read; `None` if they could.
    """

    digest: str = ""
    contents: tuple[ParsedDocument | RecordFailure, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    tables: bytes = b""
    refusal: ParseRefusal | None = None
    error: OSError | None = None


@dataclass(frozen=True, slots=True)
class ChunkedText:
    """The result of cutting a document or a record.

    Attributes:
        language: The language of the text.
        chunks: The chunks.
    """

    language: str
    chunks: tuple[Chunk, ...]


ChunkedRecords = tuple[ChunkedText | ParseRefusal, ...]
"""The chunks of each record in their order, or the reason why it cannot be cut."""


@dataclass(frozen=True, slots=True)
class LostTask:
    """The result of a task whose worker died or failed.

    Attributes:
        reason: What happened to the worker, in one line.
        is_final: Whether another worker would end in the same way, so that the task is not tried
            again.
    """

    reason: str
    is_final: bool = False

    @property
    def final_reason(self) -> str:
        """The reason in one line, with the number of tries if there were several."""
        return self.reason if self.is_final else f"{self.reason}, {TRIES} times"


Task = ReadFileTask | CutRecordsTask | CutDocumentTask | EmbedTask


def count_tries(task: Task) -> int:
    """Return how often a task is started if its workers die: once if it has several texts."""
    if isinstance(task, ReadFileTask | CutDocumentTask):
        return TRIES
    texts = task.texts if isinstance(task, EmbedTask) else task.records
    # The caller instead makes a task for each text, to find the one at which workers die.
    return 1 if len(texts) > 1 else TRIES


TaskResult = (
    FileContent | ChunkedRecords | ChunkedText | ParseRefusal | Matrix | LostTask | FathomError
)
"""The result of a task: a `FathomError` if it was raised, `LostTask` if the worker died."""
EndedTask = tuple[int, TaskResult]
"""The ticket of a task, and its result."""
TaskT = TypeVar("TaskT", bound=Task)


class WorkerTools(Protocol):
    """The chunker, embedders and limits that a worker needs for its tasks."""

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
        """Give a task to an idle worker; there must be one.

        Args:
            ticket: The number with which the result of the task is returned.
            task: The task.
        """
        ...

    def wait_for_results(self) -> list[EndedTask]:
        """Wait until at least one task has ended, and return the ended ones.

        Workers that have died or exceed the time limit of their task are replaced; the result of
        such a task is a `LostTask`. A task must be in work.

        Raises:
            FathomError: If a worker cannot work at all.
        """
        ...

    def close(self) -> None:
        """End all workers, also those that are at work; their tasks have no result."""
        ...


class WorkerPool:
    """Workers that several runs of tasks share; a run may begin before another has ended."""

    def __init__(self, workers: Workers) -> None:
        """Create the pool; nothing else may use the workers as long as it is used."""
        self._workers = workers
        self._tickets = count()
        self._started: dict[int, Task] = {}
        """The started tasks whose results were not taken yet, by their tickets."""
        self._tries: dict[int, int] = {}
        """The number of times that each task now at a worker was started, by the tickets."""
        self._results: dict[int, TaskResult] = {}

    def run_in_order(self, tasks: Iterable[TaskT]) -> Iterator[tuple[TaskT, TaskResult]]:
        """Yield each task with its result, in the order of the tasks.

        Tasks are started as workers become idle, at most `MAX_AHEAD` per worker before the results
        of earlier ones are taken. A lost task is started again until it was started `count_tries`
        times; then the `LostTask` is its result. Before the caller takes the next result, it may
        do another run to its end.

        Raises:
            FathomError: If a task raised it in its worker, or a worker cannot work at all.
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
                self._start_tasks(run)  # so that workers are busy while the caller uses the result
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
        """Wait for results of any run, and start lost tasks again."""
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
    """Return whether a task was lost and another worker may succeed."""
    return isinstance(result, LostTask) and not result.is_final


class _Run(Generic[TaskT]):
    """The state of one run.

    Attributes:
        more: The tasks to start; `None` after the last.
        started: The tickets and tasks that were started and whose results were not taken, in order.
    """

    def __init__(self, tasks: Iterable[TaskT]) -> None:
        self.more: Iterator[TaskT] | None = iter(tasks)
        self.started: deque[tuple[int, TaskT]] = deque()
