"""Keeping what is derived in step with SQLite."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fathom.index.embedded.changes import Added, Changes
from fathom.index.embedded.hnsw import GraphRecord
from fathom.index.embedded.keyword import Entered, KeywordLeg
from fathom.index.embedded.store import Store
from fathom.index.filters import Numbers
from fathom.text.analyzer import Analyzer

MOST_DEAD = 0.2


def catch_up(
    store: Store,
    changes: Changes,
    keyword: KeywordLeg,
    analyzer: Analyzer,
    on_step: Callable[[str], None],
    *,
    added: Sequence[Added] | None = None,
) -> None:
    """Bring the keyword leg to the last stored revision and publish that.

    Whatever state the leg is in: it is left alone, given the last changes, or filled anew, as a
    purge asks for.
    Being interrupted anywhere and repeated does no harm.

    Args:
        store: What is stored.
        changes: The same, to be changed.
        keyword: The leg.
        analyzer: Of its terms.
        on_step: Told `applied` and `published`.
        added: All documents that are stored and not published, where they are at hand; else
            they are read.
    """
    latest, published = int(store.meta("revision")), store.published()
    is_purging = changes.is_purging()
    touched = is_purging or changes.touches_chunks()
    wanted = store.marker(latest if touched else store.chunks_at())
    found = keyword.marker()
    if found != wanted:
        if found == store.marker(store.chunks_at()) and not is_purging:
            gone = set(changes.removed_chunks())
            if added is None:
                entered = entries(store, analyzer, after=published)
            else:
                entered = (one for one in _entered(added, analyzer) if one.chunk not in gone)
            keyword.apply(entered, sorted(gone), wanted)
        else:
            keyword.refill(entries(store, analyzer, after=-1), wanted)
    if latest != published:
        on_step("applied")
        changes.publish()
        on_step("published")


def entries(store: Store, analyzer: Analyzer, *, after: int) -> Iterator[Entered]:
    """What the keyword leg takes of the documents added after a revision."""
    latest = int(store.meta("revision"))
    documents = store.documents_added(after, latest)
    return _entered(
        (Added(no, one, tuple(store.chunks_of(no, one))) for no, one in documents), analyzer
    )


def _entered(added: Iterable[Added], analyzer: Analyzer) -> Iterator[Entered]:
    for one in added:
        document = one.document
        for number, chunk in one.chunks:
            stored = replace(chunk, title=document.title, path=document.path)
            terms = analyzer.document_terms(stored.context, document.language)
            yield Entered(number, one.number, terms)


def discard_graphs(directory: Path, store: Store) -> None:
    """Remove files of graphs that belong to no space."""
    kept = {space.graph.file for space in store.all_spaces() if space.graph is not None}
    for path in directory.glob("vectors-*"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def graph_is_worn(
    directory: Path, record: GraphRecord | None, numbers: Numbers, from_chunks: int
) -> bool:
    """Whether the graph should be built anew.

    That is when its file is gone, when more than `from_chunks` chunks are outside it, or when
    more than a fifth of what it holds has been removed.
    """
    until = record.until if record else 0
    inside = int(np.searchsorted(numbers, until, side="right"))
    if len(numbers) - inside > from_chunks:
        return True
    if record is None:
        return False
    dead = record.chunks - inside
    return dead > MOST_DEAD * record.chunks or not (directory / record.file).is_file()
