"""Embedding of chunks that are stored without vectors, which are found only by shared words.

If the embedder fails at a text, or the text ends the worker that embeds it, the batch is halved
until the text is found. Its chunk stays without a vector and is reported; the others get theirs.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.errors import FathomError, RunError
from fathom.index.base import IndexWriter, Vector
from fathom.ingest.step_size import adapt_size
from fathom.ingest.workers.base import EmbedTask, LostTask, WorkerPool
from fathom.models.base import Embedder, embed_many
from fathom.types import Chunk

STEP_SECONDS = 1.0
"""The time that a step should take, in seconds; an interruption loses as much work."""
MAX_BULK_SECONDS = 4.0
"""The longest time that a step of `BULK_MINIMUM` chunks may take, in seconds."""
MAX_STEP_CHUNKS = 1024
"""The largest number of chunks in a step."""
WORKER_BATCH_CHUNKS = 64
"""The number of chunks that a worker embeds in one task."""
MAX_LOST_IN_A_ROW = 8
"""The number of lost batches in a row after which the workers are to blame, and not the texts."""
PROBE_TEXT = "probe"
"""A text that every working embedder can embed."""
_FIRST_STEP_CHUNKS = 1
_MAX_BEGINNING_CHARS = 60

Ids = tuple[str, ...]
FillProgress = Callable[[int, int], None]
"""A callback with the number of new vectors, and that number plus the chunks still without one."""


@dataclass(frozen=True, slots=True)
class EmbeddingRefusal:
    """A chunk that could not be embedded, and the reason."""

    chunk: Chunk
    reason: str

    def __str__(self) -> str:
        """Return the chunk's position in its document, its beginning, and the reason."""
        begins = " ".join(self.chunk.text.split())[:_MAX_BEGINNING_CHARS]
        page = f", page {self.chunk.page}" if self.chunk.page else ""
        return f"chunk {self.chunk.ordinal + 1}{page} ({begins!r}): {self.reason}"


@dataclass(frozen=True, slots=True)
class FillReport:
    """The outcome of an embedding of stored chunks.

    Attributes:
        made: The number of new vectors.
        refused: The chunks that could not be embedded.
    """

    made: int
    refused: tuple[EmbeddingRefusal, ...]


def fill_spaces(
    writer: IndexWriter,
    embedders: Mapping[str, Embedder],
    report_progress: FillProgress = lambda _made, _wanted: None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> FillReport:
    """Embed the stored chunks that have no vectors, but for those whose vectors the index keeps.

    No document is read again. After an interruption or a kill the finished steps are stored, and
    the next call continues.

    Args:
        writer: The writer of the index.
        embedders: The embedders by the names of their spaces.
        report_progress: A callback after each step.
        clock: The function that returns the time in seconds.

    Raises:
        FathomError: If the embedder fails at every text.
    """
    made = 0
    refused: list[EmbeddingRefusal] = []
    for name, embedder in embedders.items():
        size = _FIRST_STEP_CHUNKS
        chunks = writer.list_unembedded_chunks(name, most=size)
        while chunks:
            started = clock()
            texts = [chunk.context for chunk in chunks]
            kept = writer.get_kept_vectors(texts, space=name)
            new = [text for text in texts if text not in kept]
            made_now, reasons = embed_texts(embedder, new) if new else ({}, {})
            vectors = {**kept, **made_now}
            filled = {c.id: vectors[c.context] for c in chunks if c.context in vectors}
            writer.fill(name, filled)
            made += len(filled)
            refused += [
                EmbeddingRefusal(c, reasons[c.context]) for c in chunks if c.context in reasons
            ]
            report_progress(made, made + writer.count_missing_vectors())
            size = _adapt_size(size, len(new), clock() - started)
            chunks = writer.list_unembedded_chunks(name, most=size, after=chunks[-1].id)
    return FillReport(made, tuple(refused))


def embed_texts(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[dict[str, Vector], dict[str, str]]:
    """Embed texts; equal texts are embedded once.

    Returns:
        The vectors by text, and the reasons by text for those that cannot be embedded.

    Raises:
        FathomError: If the embedder fails at every text.
    """
    different = list(dict.fromkeys(texts))
    for _ in range(2):  # the first failure may be temporary
        try:
            return dict(zip(different, embed_many(embedder, different), strict=True)), {}
        except FathomError as error:
            raise_if_broken(embedder, error)
            reason = str(error)
    if len(different) == 1:
        return {}, {different[0]: reason}
    vectors: dict[str, Vector] = {}
    reasons: dict[str, str] = {}
    for half in _split_in_halves(different):
        half_vectors, half_reasons = embed_texts(embedder, half)
        vectors |= half_vectors
        reasons |= half_reasons
    return vectors, reasons


def raise_if_broken(embedder: Embedder, error: FathomError) -> None:
    """Raise an error of an embedder again if the embedder fails at the probe text too.

    If it does not, the text that caused the error is to blame.
    """
    try:
        embedder.embed([PROBE_TEXT])
    except FathomError:
        raise error from None


def fill_with_workers(
    writer: IndexWriter,
    embedders: Mapping[str, Embedder],
    pool: WorkerPool,
    report_progress: FillProgress = lambda _made, _wanted: None,
) -> FillReport:
    """Embed the stored chunks that have no vectors, in workers.

    Vectors are stored in the order of the chunks. After an interruption or a kill the next call
    continues.

    Args:
        writer: The writer of the index.
        embedders: The embedders by the names of their spaces; the workers have their own.
        pool: The workers.
        report_progress: A callback after each batch.

    Raises:
        RunError: If the workers fail at every text; the finished batches are stored.
    """
    filling = _WorkerFiller(writer, pool, report_progress)
    for name in embedders:
        filling.fill(name)
    return FillReport(filling.made, tuple(filling.refused))


class _WorkerFiller:
    """A pass over the chunks of a space, then over halves of lost batches, until none is left."""

    def __init__(
        self, writer: IndexWriter, pool: WorkerPool, report_progress: FillProgress
    ) -> None:
        self.made = 0
        self.refused: list[EmbeddingRefusal] = []
        self._writer = writer
        self._pool = pool
        self._report_progress = report_progress

    def fill(self, space: str) -> None:
        """Embed all chunks of a space that have no vector."""
        lost = self._embed_batches(
            space, _iterate_unembedded(self._writer, space), most_lost=MAX_LOST_IN_A_ROW
        )
        while lost:
            self._probe(space)
            # No limit now: bad texts, and not the workers, may lose several halves in a row.
            lost = self._embed_batches(
                space, (half for batch in lost for half in _split_in_halves(batch))
            )

    def _embed_batches(
        self, space: str, batches: Iterable[Ids], *, most_lost: int = sys.maxsize
    ) -> list[Ids]:
        """Embed batches of chunks; return the lost batches of more than one text.

        A lost batch of one text is a chunk that cannot be embedded.

        Args:
            space: The name of the space.
            batches: The ids of the chunks of each batch.
            most_lost: The number of lost batches in a row after which the workers are to blame.

        Raises:
            RunError: If so many batches in a row are lost.
        """
        waiting: deque[Ids] = deque()
        lost: list[Ids] = []
        in_a_row = 0
        for task, outcome in self._pool.run_in_order(self._build_tasks(space, batches, waiting)):
            ids = waiting.popleft()
            if isinstance(outcome, np.ndarray):
                in_a_row = 0
                self._store(space, ids, dict(zip(task.texts, outcome, strict=True)))
                continue
            in_a_row += 1
            if in_a_row >= most_lost:
                raise _make_worker_error(outcome)
            if len(task.texts) > 1:
                lost.append(ids)
            else:
                self._refuse(ids, outcome)
        return lost

    def _build_tasks(
        self, space: str, batches: Iterable[Ids], waiting: deque[Ids]
    ) -> Iterator[EmbedTask]:
        """Yield a task for each batch, and append the ids of its chunks to `waiting`.

        Chunks whose vectors the index keeps get these at once.
        """
        for ids in batches:
            chunks = self._writer.chunks(ids)
            kept = self._writer.get_kept_vectors([chunk.context for chunk in chunks], space=space)
            if kept:
                finished = tuple(chunk.id for chunk in chunks if chunk.context in kept)
                self._store(space, finished, kept)
            new = [chunk for chunk in chunks if chunk.context not in kept]
            if new:  # without new chunks they were removed or have kept vectors
                waiting.append(tuple(chunk.id for chunk in new))
                yield EmbedTask(space, tuple(dict.fromkeys(chunk.context for chunk in new)))

    def _store(self, space: str, ids: Ids, vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of chunks, and report the progress."""
        chunks = self._writer.chunks(ids)
        self._writer.fill(space, {chunk.id: vectors[chunk.context] for chunk in chunks})
        self.made += len(chunks)
        self._report_progress(self.made, self.made + self._writer.count_missing_vectors())

    def _refuse(self, ids: Ids, outcome: object) -> None:
        """Note that chunks of one text cannot be embedded, with the reason."""
        self.refused += [
            EmbeddingRefusal(chunk, _describe_loss(outcome)) for chunk in self._writer.chunks(ids)
        ]

    def _probe(self, space: str) -> None:
        """Check that the workers can embed the probe text.

        Raises:
            RunError: If they cannot.
        """
        for _, outcome in self._pool.run_in_order([EmbedTask(space, (PROBE_TEXT,))]):
            if not isinstance(outcome, np.ndarray):
                raise _make_worker_error(outcome)


def _make_worker_error(outcome: object) -> RunError:
    """Return the error for workers that fail at every text."""
    return RunError(
        f"the workers cannot embed: {_describe_loss(outcome)}; what is stored is found by words; "
        "run `fathom ingest` again"
    )


def _describe_loss(outcome: object) -> str:
    """Return the reason for a lost task."""
    return outcome.reason if isinstance(outcome, LostTask) else "its worker returned no vectors"


def _iterate_unembedded(writer: IndexWriter, space: str) -> Iterator[Ids]:
    """Yield the ids of the chunks without a vector, in batches of `WORKER_BATCH_CHUNKS`."""
    after = ""
    while chunks := writer.list_unembedded_chunks(space, most=WORKER_BATCH_CHUNKS, after=after):
        after = chunks[-1].id
        yield tuple(chunk.id for chunk in chunks)


def _split_in_halves(ids: Sequence[str]) -> tuple[Ids, ...]:
    """Return the two halves of a sequence, without empty ones."""
    middle = (len(ids) + 1) // 2
    halves = tuple(ids[:middle]), tuple(ids[middle:])
    return tuple(half for half in halves if half)


def _adapt_size(size: int, embedded: int, seconds: float) -> int:
    """Return the number of chunks for the next step, so that it takes about `STEP_SECONDS`.

    Args:
        size: The number of chunks for the last step.
        embedded: The number of its chunks that had to be embedded.
        seconds: The seconds that it took.
    """
    if not embedded:  # such a step tells nothing about the next one, in which all may have to be
        return max(size, min(2 * size, WORKER_BATCH_CHUNKS))
    return adapt_size(
        size,
        texts=embedded,
        took=seconds,
        seconds=STEP_SECONDS,
        bulk_seconds=MAX_BULK_SECONDS,
        most=MAX_STEP_CHUNKS,
    )


def describe_missing_vectors(lacking: int) -> tuple[str, ...]:
    """Return a warning for a search if chunks of the index lack a vector, else nothing."""
    if not lacking:
        return ()
    return (
        f"the index is still being filled: {lacking} chunks have no vectors yet and are found only "
        "if they share words with the question; `fathom ingest` adds the vectors",
    )
