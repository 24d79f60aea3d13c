"""What is given to workers, and how it comes back: in order, each once, whoever of them dies."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Generic, Protocol, TypeVar

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.models.base import Embedder, Matrix
from fathom.types import Chunk, Document

TRIES = 3
"""Of a task whose workers die; then the task is taken for the reason."""
EMBED_SECONDS, EMBED_TEXT_SECONDS = 120.0, 10.0
"""So long a worker may take to get ready and embed, and for each text."""
AHEAD = 4
"""For each worker so many tasks are begun, at most, whose results are not taken yet."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file to be read in the sandbox and cut.

    Attributes:
        path: Where a worker finds it too.
        place: As the index names it.
        known: The digest of what was read there; with that content it is not read again.
    """

    path: str
    place: str
    known: str = ""

    @property
    def seconds(self) -> float:
        """The sandbox has limits of its own, and so has cutting."""
        return math.inf


@dataclass(frozen=True, slots=True)
class Embed:
    """Texts to be embedded for a space; see `Embedder`."""

    space: str
    texts: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """A worker that takes longer hangs; large models on slow machines do not."""
        return EMBED_SECONDS + EMBED_TEXT_SECONDS * len(self.texts)


@dataclass(frozen=True, slots=True)
class CutRecords:
    """Records of a corpus file to be cut; `place` is that of the file."""

    place: str
    records: tuple[ParsedDocument, ...]

    @property
    def seconds(self) -> float:
        """The worker knows how long each of them may take."""
        return math.inf


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document to be cut."""

    document: Document

    @property
    def seconds(self) -> float:
        """The worker knows how long it may take."""
        return math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """What reading a file gave.

    Attributes:
        digest: Of its bytes.
        parts: The document. Nothing where its content is known, and of a corpus file, whose
            records are too many to be held: who writes reads it, and has them cut.
        chunks: Of the document.
        refused: Why there is no document.
        error: Why its bytes could not be read.
    """

    digest: str = ""
    parts: tuple[ParsedDocument | RecordFailure, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    refused: ParseRefusal | None = None
    error: OSError | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """What a worker made of a document or a record: its language, and its chunks."""

    language: str
    chunks: tuple[Chunk, ...]


RecordsCut = tuple[Cut | ParseRefusal, ...]
"""In the order of the records; of one that cannot be cut, why."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing came of it, as its worker died or failed.

    Attributes:
        reason: One line.
        is_final: Whether it would be the same with another worker.
    """

    reason: str
    is_final: bool = False

    @property
    def told(self) -> str:
        """The reason after all tries, in one line."""
        return self.reason if self.is_final else f"{self.reason}, {TRIES} times"


Task = ReadFile | CutRecords | CutDocument | Embed


def tries(task: Task) -> int:
    """How often a task is given to workers who get lost; of several texts one is to blame."""
    if isinstance(task, ReadFile | CutDocument):
        return TRIES
    texts = task.texts if isinstance(task, Embed) else task.records
    return 1 if len(texts) > 1 else TRIES


Done = FileRead | RecordsCut | Cut | ParseRefusal | Matrix | Lost | FathomError
Ended = tuple[int, Done]
TaskT = TypeVar("TaskT", bound=Task)


class Tools(Protocol):
    """What a worker works with."""

    @property
    def parse_limits(self) -> ParseLimits:
        """What one file may cost."""
        ...

    @property
    def chunker(self) -> Chunker:
        """What cuts documents."""
        ...

    @property
    def embedders(self) -> Mapping[str, Embedder]:
        """By the names of their spaces; `""` is the one that every index has."""
        ...


class Workers(Protocol):
    """Workers who do one task each at a time, wherever they are."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def start(self, ticket: int, task: Task) -> None:
        """Give a task to one who is idle; there must be one."""
        ...

    def ended(self) -> list[Ended]:
        """Wait until a task has ended; which, and what came of it. Who died is replaced.

        Raises:
            FathomError: If a worker cannot work at all.
        """
        ...

    def close(self) -> None:
        """End them all, whatever they are doing."""
        ...


class Pool:
    """Workers who are shared by runs of tasks, of which one may go on inside another."""

    def __init__(self, workers: Workers) -> None:
        """Nothing is begun yet.

        Args:
            workers: Who are asked by nobody else meanwhile.
        """
        self._workers = workers
        self._tickets = count()
        self._given: dict[int, Task] = {}
        """Begun, and the result is not taken."""
        self._tries: dict[int, int] = {}
        """Of those that a worker has now."""
        self._came: dict[int, Done] = {}

    def in_order(self, tasks: Iterable[TaskT]) -> Iterator[tuple[TaskT, Done]]:
        """Each task with what came of it, in the order of the tasks.

        Tasks are taken as workers become idle, at most `AHEAD` for each before the results of those
        before them are taken. A task that was lost is given to another worker, see `tries`. Another
        run may be gone through before the next result is taken.

        Raises:
            FathomError: That a worker had to raise.
        """
        run = _Run(tasks)
        try:
            while self._begin(run):
                if not run.given or run.given[0][0] not in self._came:
                    self._collect()
                    continue
                ticket, task = run.given.popleft()
                del self._given[ticket]
                result = self._came.pop(ticket)
                if isinstance(result, FathomError):
                    raise result
                self._begin(run)  # nobody is idle while the result is stored
                yield task, result
        finally:
            for ticket, _ in run.given:
                del self._given[ticket]
                self._came.pop(ticket, None)

    def _begin(self, run: "_Run[TaskT]") -> bool:
        """Give tasks to all who are idle; whether there is anything to wait for."""
        size = self._workers.size
        while run.more is not None and len(self._tries) < size and len(run.given) < AHEAD * size:
            task = next(run.more, None)
            if task is None:
                run.more = None
                break
            ticket = next(self._tickets)
            run.given.append((ticket, task))
            self._given[ticket], self._tries[ticket] = task, 1
            self._workers.start(ticket, task)
        return bool(run.given) or run.more is not None

    def _collect(self) -> None:
        """Wait for results, of whatever run; what was lost is tried again."""
        for ticket, result in self._workers.ended():
            task = self._given.get(ticket)
            if task is None:  # its run was given up
                del self._tries[ticket]
            elif _is_retried(result) and self._tries[ticket] < tries(task):
                self._tries[ticket] += 1
                self._workers.start(ticket, task)
            else:
                self._came[ticket] = result
                del self._tries[ticket]


def _is_retried(result: Done) -> bool:
    return isinstance(result, Lost) and not result.is_final


class _Run(Generic[TaskT]):
    """Tasks that are to come, `None` when there are no more, and those begun and not taken."""

    def __init__(self, tasks: Iterable[TaskT]) -> None:
        self.more: Iterator[TaskT] | None = iter(tasks)
        self.given: deque[tuple[int, TaskT]] = deque()
