"""Vectors for chunks that are stored without them; until then searches find them by words only.

If the embedder fails at a text, or the text ends the worker that embeds it, halving the batch finds
the text. Its chunk stays without a vector and is reported; the others get theirs.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.errors import FathomError, RunError
from fathom.index.base import IndexWriter, Vector
from fathom.ingest.workers.base import EmbedTask, LostTask, WorkerPool
from fathom.models.base import Embedder, embed_many
from fathom.types import Chunk

STEP_SECONDS = 1.0
"""The length of a step in seconds, which is also the work that an interruption loses."""
MAX_STEP_CHUNKS = 1024
"""The largest number of chunks in a step."""
WORKER_BATCH_CHUNKS = 64
"""The number of chunks that a worker embeds in one task."""
MAX_LOST_IN_A_ROW = 8
"""After so many lost batches in a row the workers are to blame, not the texts."""
PROBE_TEXT = "probe"
"""A text that every working embedder can embed."""
_FIRST_STEP_CHUNKS = 1
_MAX_BEGINNING_CHARS = 60

Ids = tuple[str, ...]
FillProgress = Callable[[int, int], None]
"""Called with the number of new vectors, and the number of chunks that lacked one so far."""


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
    """The outcome of giving chunks their vectors."""

    made: int
    refused: tuple[EmbeddingRefusal, ...]


def fill_spaces(
    writer: IndexWriter,
    embedders: Mapping[str, Embedder],
    report_progress: FillProgress = lambda _made, _wanted: None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> FillReport:
    """Embed the stored chunks that have no vectors.

    No document is read again. After an interruption the finished steps are stored, and the next
    call continues.

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
            vectors, reasons = embed_texts(embedder, [chunk.context for chunk in chunks])
            filled = {c.id: vectors[c.context] for c in chunks if c.context in vectors}
            writer.fill(name, filled)
            made += len(filled)
            refused += [
                EmbeddingRefusal(c, reasons[c.context]) for c in chunks if c.context in reasons
            ]
            report_progress(made, made + writer.count_missing_vectors())
            size = _adapt_size(size, clock() - started)
            chunks = writer.list_unembedded_chunks(name, most=size, after=chunks[-1].id)
    return FillReport(made, tuple(refused))


def embed_texts(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[dict[str, Vector], dict[str, str]]:
    """Return vectors by text, and the reasons why some texts have none.

    Equal texts are embedded once.

    Raises:
        FathomError: If the embedder fails at every text.
    """
    different = list(dict.fromkeys(texts))
    for _ in range(2):  # the first failure may be passing
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
    """Raise an embedder's error if the embedder fails at the probe text too."""
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
    """Embed the stored chunks like `fill_spaces`, but in workers.

    Vectors are stored in the order of the chunks.

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
        """Embed batches of chunks; return the lost batches that can be halved.

        Raises:
            RunError: If `most_lost` batches are lost in a row.
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
        """Yield a task for each batch, and append the ids of its chunks to `waiting`."""
        for ids in batches:
            texts = dict.fromkeys(chunk.context for chunk in self._writer.chunks(ids))
            if texts:  # without texts the chunks were removed
                waiting.append(ids)
                yield EmbedTask(space, tuple(texts))

    def _store(self, space: str, ids: Ids, vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of chunks, and report the progress."""
        chunks = self._writer.chunks(ids)
        self._writer.fill(space, {chunk.id: vectors[chunk.context] for chunk in chunks})
        self.made += len(chunks)
        self._report_progress(self.made, self.made + self._writer.count_missing_vectors())

    def _refuse(self, ids: Ids, outcome: object) -> None:
        """Note why a chunk could not be embedded."""
        self.refused += [
            EmbeddingRefusal(chunk, _describe_loss(outcome)) for chunk in self._writer.chunks(ids)
        ]

    def _probe(self, space: str) -> None:
        """Raise an error if the workers fail at the probe text."""
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
    """Yield the ids of chunks without a vector in batches."""
    after = ""
    while chunks := writer.list_unembedded_chunks(space, most=WORKER_BATCH_CHUNKS, after=after):
        after = chunks[-1].id
        yield tuple(chunk.id for chunk in chunks)


def _split_in_halves(ids: Sequence[str]) -> tuple[Ids, ...]:
    """Return the two halves of a sequence; only one if the other is empty."""
    middle = (len(ids) + 1) // 2
    halves = tuple(ids[:middle]), tuple(ids[middle:])
    return tuple(half for half in halves if half)


def _adapt_size(size: int, seconds: float) -> int:
    """Return the number of chunks for the next step, so that it takes about `STEP_SECONDS`."""
    # Doubling at most keeps one lucky fast step from making a very long one.
    return max(1, min(MAX_STEP_CHUNKS, 2 * size, int(size * STEP_SECONDS / max(seconds, 1e-3))))


def describe_missing_vectors(lacking: int) -> tuple[str, ...]:
    """Return a warning for a search if chunks of the index lack a vector."""
    if not lacking:
        return ()
    return (
        f"the index is still being filled: {lacking} chunks have no vectors yet and are found by "
        "their words only; `fathom ingest` adds them",
    )
