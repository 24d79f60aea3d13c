"""Vectors for chunks that are stored already: found by their words meanwhile."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from fathom.errors import FathomError, RunError
from fathom.index.base import IndexWriter
from fathom.index.workers.base import TRIES, Embed, FileRead, Lost, Workers, in_order
from fathom.models.base import Embedder, embed_many

STEP_SECONDS = 1.0
"""So much computing is lost at most where it is broken off."""
MOST_AT_ONCE = 1024
EMBEDDED_AT_ONCE = 64
"""By a worker."""
_FIRST = 1

Told = Callable[[int, int], None]
"""Told how many vectors are made, and of how many chunks it is known so far that they lack one."""


def fill_spaces(
    writer: IndexWriter,
    embedders: Mapping[str, Embedder],
    told: Told = lambda _made, _wanted: None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Give the stored chunks vectors, where they have none; returns how many.

    No document is read again. May be broken off: what is done by then is kept, and who calls it
    again goes on.

    Args:
        writer: Of the index, where the spaces are laid out.
        embedders: Of the spaces, by the names of these; `""` is the one that every index has.
        told: See `Told`; after each step.
        clock: Gives seconds.
    """
    made = 0
    for name, embedder in embedders.items():
        size = _FIRST
        chunks = writer.lacking(name, most=size)
        while chunks:
            begun = clock()
            texts = [chunk.context for chunk in chunks]
            different = list(dict.fromkeys(texts))
            vectors = dict(zip(different, embed_many(embedder, different), strict=True))
            writer.fill(name, {c.id: vectors[text] for c, text in zip(chunks, texts, strict=True)})
            made += len(chunks)
            told(made, made + writer.lacking_vectors())
            size = _adapted(size, clock() - begun)
            chunks = writer.lacking(name, most=size, after=chunks[-1].id)
    return made


def fill_by_workers(
    writer: IndexWriter,
    embedders: Mapping[str, Embedder],
    workers: Workers,
    told: Told = lambda _made, _wanted: None,
) -> int:
    """As `fill_spaces`, by workers, whose vectors are stored in the order of the chunks.

    Raises:
        RunError: If worker after worker dies at the same texts; what is done by then is kept.
    """
    made = 0
    for name in embedders:
        waiting: deque[tuple[str, ...]] = deque()
        for task, found in in_order(workers, _to_embed(writer, name, waiting)):
            if isinstance(found, Lost | FileRead | FathomError):
                raise RunError(
                    f"{TRIES} workers died one after the other while they embedded the same texts; "
                    "what is stored is found by its words; run `fathom ingest` again"
                )
            vectors = dict(zip(task.texts, found, strict=True))
            chunks = writer.chunks(waiting.popleft())
            writer.fill(name, {chunk.id: vectors[chunk.context] for chunk in chunks})
            made += len(chunks)
            told(made, made + writer.lacking_vectors())
    return made


def _to_embed(writer: IndexWriter, space: str, waiting: deque[tuple[str, ...]]) -> Iterator[Embed]:
    """Tasks as they are asked for; the ids of the chunks of each are appended to `waiting`."""
    after = ""
    while chunks := writer.lacking(space, most=EMBEDDED_AT_ONCE, after=after):
        after = chunks[-1].id
        waiting.append(tuple(chunk.id for chunk in chunks))
        yield Embed(space, tuple(dict.fromkeys(chunk.context for chunk in chunks)))


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
