"""What is given to workers, and how it comes back: in order, each once, whoever of them dies."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Generic, Protocol, TypeVar

from fathom.documents.base import Failure, Parsed, ParseLimits, Refused
from fathom.documents.chunking.base import Chunker
from fathom.errors import FathomError
from fathom.models.base import Embedder, Matrix
from fathom.types import Chunk

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
        """The sandbox has limits of its own."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """What reading a file gave.

    Attributes:
        digest: Of its bytes.
        parts: The document. Nothing where its content is known, and of a corpus file, whose
            records are too many to be held: who writes reads it.
        chunks: Of the document.
        refused: Why there is no document.
        error: Why its bytes could not be read.
    """

    digest: str = ""
    parts: tuple[Parsed | Failure, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    refused: Refused | None = None
    error: OSError | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing came of it, as its worker died or failed; `reason` is one line."""

    reason: str


Task = ReadFile | Embed


def tries(task: Task) -> int:
    """How often a task is given to workers who get lost; of several texts one is to blame."""
    return 1 if isinstance(task, Embed) and len(task.texts) > 1 else TRIES


Done = FileRead | Matrix | Lost | FathomError
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


def in_order(workers: Workers, tasks: Iterable[TaskT]) -> Iterator[tuple[TaskT, Done]]:
    """Each task with what came of it, in the order of the tasks.

    Tasks are taken as workers become idle, at most `AHEAD` for each before the results of those
    before them are taken. A task that was lost is given to another worker, see `tries`.

    Raises:
        FathomError: That a worker had to raise.
    """
    run = _Run(workers, tasks)
    for ticket in count():
        while ticket not in run.came:
            run.begin()
            if not run.given:
                return
            run.collect()
        result = run.came.pop(ticket)
        if isinstance(result, FathomError):
            raise result
        task = run.given.pop(ticket)
        run.begin()  # nobody is idle while the result is stored
        yield task, result


class _Run(Generic[TaskT]):
    """Which tasks are given and not taken back, and what came of them."""

    def __init__(self, workers: Workers, tasks: Iterable[TaskT]) -> None:
        self.given: dict[int, TaskT] = {}
        self.came: dict[int, Done] = {}
        self._workers = workers
        self._more = enumerate(tasks)
        self._tries: dict[int, int] = {}
        """Of those that a worker has now."""

    def begin(self) -> None:
        """Give tasks to all who are idle."""
        size = self._workers.size
        while len(self._tries) < size and len(self.given) < AHEAD * size:
            ticket, task = next(self._more, (-1, None))
            if task is None:
                return
            self.given[ticket], self._tries[ticket] = task, 1
            self._workers.start(ticket, task)

    def collect(self) -> None:
        """Wait for results; what was lost is tried again."""
        for ticket, result in self._workers.ended():
            if isinstance(result, Lost) and self._tries[ticket] < tries(self.given[ticket]):
                self._tries[ticket] += 1
                self._workers.start(ticket, self.given[ticket])
            else:
                self.came[ticket] = result
                del self._tries[ticket]
