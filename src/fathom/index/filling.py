"""Vectors for chunks that are stored already: found by their words meanwhile.

A text that the embedder fails at, or that ends the worker who embeds it, is found by halving; its
chunk stays without a vector and is named, and the others get theirs.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.errors import FathomError, RunError
from fathom.index.base import IndexWriter, Vector
from fathom.index.workers.base import Embed, Lost, Pool
from fathom.models.base import Embedder, embed_many
from fathom.types import Chunk

STEP_SECONDS = 1.0
"""So much computing is lost at most where it is broken off."""
MOST_AT_ONCE = 1024
EMBEDDED_AT_ONCE = 64
"""By a worker."""
MOST_LOST = 8
"""When workers have lost so many batches one after the other, it is not the texts."""
PROBE = "probe"
"""An embedder that fails at this too fails at every text."""
_FIRST = 1
_SHOWN = 60

Ids = tuple[str, ...]
Told = Callable[[int, int], None]
"""Told how many vectors are made, and of how many chunks it is known so far that they lack one."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A chunk that has no vector, as `reason` says."""

    chunk: Chunk
    reason: str

    def __str__(self) -> str:
        """Which text it is of its document, and what happened."""
        begins = " ".join(self.chunk.text.split())[:_SHOWN]
        page = f", page {self.chunk.page}" if self.chunk.page else ""
        return f"chunk {self.chunk.ordinal + 1}{page} ({begins!r}): {self.reason}"


@dataclass(frozen=True, slots=True)
class Filled:
    """What came of giving chunks their vectors."""

    made: int
    refused: tuple[Refusal, ...]


def fill_spaces(
    writer: IndexWriter,
    embedders: Mapping[str, Embedder],
    told: Told = lambda _made, _wanted: None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Filled:
    """Give the stored chunks vectors, where they have none.

    No document is read again. May be broken off: what is done by then is kept, and who calls it
    again goes on.

    Args:
        writer: Of the index, where the spaces are laid out.
        embedders: Of the spaces, by the names of these; `""` is the one that every index has.
        told: See `Told`; after each step.
        clock: Gives seconds.

    Raises:
        FathomError: That the embedder raises at any text.
    """
    made = 0
    refused: list[Refusal] = []
    for name, embedder in embedders.items():
        size = _FIRST
        chunks = writer.lacking(name, most=size)
        while chunks:
            begun = clock()
            vectors, reasons = embedded(embedder, [chunk.context for chunk in chunks])
            filled = {c.id: vectors[c.context] for c in chunks if c.context in vectors}
            writer.fill(name, filled)
            made += len(filled)
            refused += [Refusal(c, reasons[c.context]) for c in chunks if c.context in reasons]
            told(made, made + writer.lacking_vectors())
            size = _adapted(size, clock() - begun)
            chunks = writer.lacking(name, most=size, after=chunks[-1].id)
    return Filled(made, tuple(refused))


def embedded(embedder: Embedder, texts: Sequence[str]) -> tuple[dict[str, Vector], dict[str, str]]:
    """Vectors by text, equal texts embedded once; and why some texts have none.

    Raises:
        FathomError: That the embedder raises at any text.
    """
    different = list(dict.fromkeys(texts))
    for _ in range(2):  # what fails once may have been bad luck
        try:
            return dict(zip(different, embed_many(embedder, different), strict=True)), {}
        except FathomError as error:
            raise_if_broken(embedder, error)
            reason = str(error)
    if len(different) == 1:
        return {}, {different[0]: reason}
    vectors: dict[str, Vector] = {}
    reasons: dict[str, str] = {}
    for half in _halves(different):
        found, failed = embedded(embedder, half)
        vectors |= found
        reasons |= failed
    return vectors, reasons


def raise_if_broken(embedder: Embedder, error: FathomError) -> None:
    """Raise what an embedder raised at some texts, where it fails at any."""
    try:
        embedder.embed([PROBE])
    except FathomError:
        raise error from None


def fill_by_workers(
    writer: IndexWriter,
    embedders: Mapping[str, Embedder],
    pool: Pool,
    told: Told = lambda _made, _wanted: None,
) -> Filled:
    """As `fill_spaces`, by workers, whose vectors are stored in the order of the chunks.

    Raises:
        RunError: If they fail at any text; what is done by then is kept.
    """
    filling = _ByWorkers(writer, pool, told)
    for name in embedders:
        filling.fill(name)
    return Filled(filling.made, tuple(filling.refused))


class _ByWorkers:
    """Goes over the chunks of a space, then over halves of what was lost, until all is told."""

    def __init__(self, writer: IndexWriter, pool: Pool, told: Told) -> None:
        self.made = 0
        self.refused: list[Refusal] = []
        self._writer = writer
        self._pool = pool
        self._told = told

    def fill(self, space: str) -> None:
        lost = self._pass(space, _lacking(self._writer, space), most_lost=MOST_LOST)
        while lost:
            self._probe(space)
            lost = self._pass(space, (half for batch in lost for half in _halves(batch)))

    def _pass(
        self, space: str, batches: Iterable[Ids], *, most_lost: int = sys.maxsize
    ) -> list[Ids]:
        """Embed batches of chunks; gives those that were lost and can be halved."""
        waiting: deque[Ids] = deque()
        lost: list[Ids] = []
        in_a_row = 0
        for task, found in self._pool.in_order(self._tasks(space, batches, waiting)):
            ids = waiting.popleft()
            if isinstance(found, np.ndarray):
                in_a_row = 0
                self._store(space, ids, dict(zip(task.texts, found, strict=True)))
                continue
            in_a_row += 1
            if in_a_row >= most_lost:
                raise _broken(found)
            if len(task.texts) > 1:
                lost.append(ids)
            else:
                self._refuse(ids, found)
        return lost

    def _tasks(self, space: str, batches: Iterable[Ids], waiting: deque[Ids]) -> Iterator[Embed]:
        """Tasks as they are asked for; the ids of the chunks of each are appended to `waiting`."""
        for ids in batches:
            texts = dict.fromkeys(chunk.context for chunk in self._writer.chunks(ids))
            if texts:  # else they have gone
                waiting.append(ids)
                yield Embed(space, tuple(texts))

    def _store(self, space: str, ids: Ids, vectors: Mapping[str, Vector]) -> None:
        chunks = self._writer.chunks(ids)
        self._writer.fill(space, {chunk.id: vectors[chunk.context] for chunk in chunks})
        self.made += len(chunks)
        self._told(self.made, self.made + self._writer.lacking_vectors())

    def _refuse(self, ids: Ids, found: object) -> None:
        self.refused += [Refusal(chunk, _reason(found)) for chunk in self._writer.chunks(ids)]

    def _probe(self, space: str) -> None:
        for _, found in self._pool.in_order([Embed(space, (PROBE,))]):
            if not isinstance(found, np.ndarray):
                raise _broken(found)


def _broken(found: object) -> RunError:
    return RunError(
        f"the workers cannot embed: {_reason(found)}; what is stored is found by its words; "
        "run `fathom ingest` again"
    )


def _reason(found: object) -> str:
    return found.reason if isinstance(found, Lost) else "its worker gave nothing"


def _lacking(writer: IndexWriter, space: str) -> Iterator[Ids]:
    after = ""
    while chunks := writer.lacking(space, most=EMBEDDED_AT_ONCE, after=after):
        after = chunks[-1].id
        yield tuple(chunk.id for chunk in chunks)


def _halves(parts: Sequence[str]) -> tuple[Ids, ...]:
    middle = (len(parts) + 1) // 2
    halves = tuple(parts[:middle]), tuple(parts[middle:])
    return tuple(half for half in halves if half)


def _adapted(size: int, seconds: float) -> int:
    """How many chunks the next step takes, so that it is about as long as it may be."""
    return max(1, min(MOST_AT_ONCE, 2 * size, int(size * STEP_SECONDS / max(seconds, 1e-3))))


def still_filled(lacking: int) -> tuple[str, ...]:
    """What is to be said of a search in an index where so many chunks lack a vector."""
    if not lacking:
        return ()
    return (
        f"the index is still being filled: {lacking} chunks have no vectors yet and are found by "
        "their words only; `fathom ingest` adds them",
    )
