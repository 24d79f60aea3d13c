"""Copy of an index from one engine to another."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import numpy as np

from fathom.errors import RunError, UsageError
from fathom.index.base import Entry, IndexReader, IndexStatus, IndexWriter, Matrix, Space

BATCH_SIZE = 256
"""The number of documents that are copied in one step."""


def copy_index(
    source: IndexReader, target: IndexWriter, before_copy: Callable[[], None] = lambda: None
) -> IndexStatus:
    """Copy all content of one index to another and return the status of the copy.

    Documents, chunks, vectors, spaces, places, rights, roots and calibrations are copied. No file
    is read and no text embedded again. After a kill the call may be repeated: it adds what is
    missing.

    Args:
        source: A reader of the index to copy.
        target: A writer of an index that is empty or holds a part of the source. Its own
            calibrations stay.
        before_copy: A function to call before the first document is copied, after the checks.

    Raises:
        UsageError: If the target holds a document that the source does not hold in the same form,
            or if it cannot hold the rights of the source.
        RunError: If the copy differs from the source, because another process wrote meanwhile.
    """
    # Checked before anything is written, so that a refused copy changes nothing.
    _check_is_part(target, source)
    # Before any document: an engine that cannot hold rights refuses here.
    target.set_rights(source.get_rights())
    before_copy()
    state = source.status()
    target.create_spaces([Space(name=item.name, identity=item.identity) for item in state.spaces])
    ids = (summary.id for summary in source.list_documents())
    while batch := list(islice(ids, BATCH_SIZE)):
        places = [place for item in batch for place in source.list_places(item)]
        target.put(list(_find_missing_entries(source, target, batch)), places)
    # Places without a document (failures, files of corpora) belong to no batch.
    target.put([], [place for place in source.list_sources("/") if place.document_id is None])
    _copy_rest(source, target)
    copied = target.status()
    if copied.content != state.content:
        raise RunError(
            "the copy differs from the original: another process wrote meanwhile; copy again"
        )
    return copied


def _check_is_part(target: IndexReader, source: IndexReader) -> None:
    """Check that the source holds every document of the target in the same form.

    Raises:
        UsageError: If it does not.
    """
    for summary in target.list_documents():
        copied, original = target.get_entry(summary.id), source.get_entry(summary.id)
        if copied is not None and (
            original is None or _get_content(copied) != _get_content(original)
        ):
            raise UsageError(
                "the index to copy to already holds documents that the other one does not hold, or "
                f"not just so ({summary.path}); choose another one"
            )


def _get_content(entry: Entry) -> tuple[object, ...]:
    return entry.document, entry.chunks, entry.digest


def _find_missing_entries(
    source: IndexReader, target: IndexReader, ids: list[str]
) -> Iterator[Entry]:
    """Yield the entries of those documents that the target lacks, or of which it lacks vectors."""
    for document_id in ids:
        original, copied = source.get_entry(document_id), target.get_entry(document_id)
        if original is not None and (copied is None or not _has_vectors(copied, original)):
            yield original


def _has_vectors(copied: Entry, original: Entry) -> bool:
    """Return whether a copy has all vectors of the original, with equal numbers."""
    needed, present = _collect_vectors(original), _collect_vectors(copied)
    return all(name in present and np.array_equal(present[name], needed[name]) for name in needed)


def _collect_vectors(entry: Entry) -> Mapping[str, Matrix]:
    """Return the vectors of an entry by space; `""` is the space that every index has."""
    main = {} if entry.vectors is None else {"": entry.vectors}
    return {**main, **entry.more}


def _copy_rest(source: IndexReader, target: IndexWriter) -> None:
    """Copy the roots and the missing calibrations, then optimize the target."""
    target.set_roots(list(dict.fromkeys([*target.get_roots(), *source.get_roots()])))
    existing = target.get_calibrations()
    for strategy, data in source.get_calibrations().items():
        if strategy not in existing:
            target.keep_calibration(strategy, data)
    target.optimize()
