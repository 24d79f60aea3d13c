"""Updates of the derived files, which keep them in step with SQLite."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fathom.index.embedded.changes import AddedDocument, Changes
from fathom.index.embedded.hnsw import GraphRecord
from fathom.index.embedded.keyword import KeywordEntry, KeywordIndex
from fathom.index.embedded.store import SqliteStore
from fathom.index.filters import Numbers
from fathom.text.analyzer import Analyzer

MOST_DEAD = 0.2
"""The share of removed chunks in a graph above which the graph is built anew."""


def catch_up(
    store: SqliteStore,
    changes: Changes,
    keyword: KeywordIndex,
    analyzer: Analyzer,
    on_step: Callable[[str], None],
    *,
    added: Sequence[AddedDocument] | None = None,
) -> None:
    """Bring the keyword index to the last stored revision, then publish that revision.

    A keyword index of the published state receives the unpublished changes. One of the last stored
    revision stays as it is. In any other state, or for a purge, it is filled anew. An interrupted
    call may be repeated without harm.

    Args:
        store: The store, outside any transaction.
        changes: The writes to the same database.
        keyword: The keyword index.
        analyzer: The analyzer of the index.
        on_step: A callback for tests, called with `applied` and `published`.
        added: All documents that are stored and not published; `None` reads them from the store.
    """
    latest, published = int(store.read_meta("revision")), store.read_published_revision()
    is_purging = changes.is_purging()
    touched = is_purging or changes.touches_chunks()
    target = store.format_marker(latest if touched else store.read_chunks_revision())
    current = keyword.get_marker()
    # A killed writer may have applied the change already; then only publishing is left.
    if current != target:
        if current == store.format_marker(store.read_chunks_revision()) and not is_purging:
            removed = set(changes.list_removed_chunks())
            if added is None:
                entered = list_keyword_entries(store, analyzer, after=published)
            else:
                # A put can remove a document that it has just added, if no place points to it.
                entered = (
                    entry for entry in _build_entries(added, analyzer) if entry.chunk not in removed
                )
            keyword.apply(entered, sorted(removed), target)
        else:
            keyword.refill(list_keyword_entries(store, analyzer, after=-1), target)
    if latest != published:
        on_step("applied")
        changes.publish()
        on_step("published")


def list_keyword_entries(
    store: SqliteStore, analyzer: Analyzer, *, after: int
) -> Iterator[KeywordEntry]:
    """Yield the keyword entries of the documents that were added after a revision.

    Documents that are marked as removed are left out. An `after` of -1 takes all documents.
    """
    latest = int(store.read_meta("revision"))
    documents = store.list_added_documents(after, latest)
    return _build_entries(
        (
            AddedDocument(number, document, tuple(store.list_chunks_of(number, document)))
            for number, document in documents
        ),
        analyzer,
    )


def _build_entries(added: Iterable[AddedDocument], analyzer: Analyzer) -> Iterator[KeywordEntry]:
    """Yield a keyword entry for each chunk of some documents."""
    for addition in added:
        document = addition.document
        for number, chunk in addition.chunks:
            stored = replace(chunk, title=document.title, path=document.path)
            terms = analyzer.list_document_terms(stored.context, document.language)
            yield KeywordEntry(number, addition.number, terms)


def discard_graphs(directory: Path, store: SqliteStore) -> None:
    """Remove graph files that belong to no space."""
    current = {space.graph.file for space in store.list_spaces() if space.graph is not None}
    for path in directory.glob("vectors-*"):
        if path.name not in current:
            path.unlink(missing_ok=True)


def is_graph_worn(
    directory: Path, record: GraphRecord | None, numbers: Numbers, from_chunks: int
) -> bool:
    """Return whether the graph of a space should be built anew.

    That is the case if its file is gone, if more than `from_chunks` chunks are outside it, or if
    more than a fifth of its chunks (`MOST_DEAD`) have been removed.

    Args:
        directory: The folder of the index.
        record: The record of the graph; `None` if there is none.
        numbers: The numbers of the chunks with a vector in the space, ascending.
        from_chunks: The largest number of chunks outside the graph.
    """
    # Chunk numbers only grow, so all chunks up to `until` that still exist are in the graph.
    until = record.until if record else 0
    inside = int(np.searchsorted(numbers, until, side="right"))
    if len(numbers) - inside > from_chunks:
        return True
    if record is None:
        return False
    removed = record.chunks - inside
    return removed > MOST_DEAD * record.chunks or not (directory / record.file).is_file()
