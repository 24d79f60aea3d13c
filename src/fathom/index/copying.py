"""Copy of an index from one engine to another."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import numpy as np

from fathom.errors import RunError, UsageError
from fathom.index.base import Entry, IndexReader, IndexStatus, IndexWriter, Matrix, Space
from fathom.index.traces import KeptTrace, TraceStore

AT_ONCE = 256


def copy(
    source: IndexReader, target: IndexWriter, beside: Callable[[], None] = lambda: None
) -> IndexStatus:
    """Copy all content of one index to another and return the status of the copy.

    Documents, chunks, vectors, places, roots and calibrations are copied; nothing is read from its
    source or embedded again. The target is empty or holds a part of the source, as after an
    interrupted copy: missing content is added then, and calibrations of the target stay.

    Args:
        source: The index to copy from.
        target: The index to copy to.
        beside: Called before the copy, once the target is known to hold nothing else.

    Raises:
        UsageError: If the target holds a document that the source does not hold in the same form.
        RunError: If the copy differs from the source, because another process wrote meanwhile.
    """
    # Checked before anything is written, so that a refused copy changes nothing.
    _check_is_part(target, source)
    beside()
    state = source.status()
    target.lay_out([Space(name=item.name, identity=item.identity) for item in state.spaces])
    ids = (summary.id for summary in source.documents())
    while batch := list(islice(ids, AT_ONCE)):
        places = [place for item in batch for place in source.places(item)]
        target.put(list(_lacking(source, target, batch)), places)
    # Places without a document (failures, files of corpora) belong to no batch.
    target.put([], [place for place in source.sources("/") if place.document_id is None])
    _rest(source, target)
    copied = target.status()
    if copied.content != state.content:
        raise RunError(
            "the copy differs from the original: another process wrote meanwhile; copy again"
        )
    return copied


def copy_traces(source: TraceStore, target: TraceStore) -> None:
    """Copy traces and feedback that the target does not hold yet."""
    judged = {feedback.trace_id for feedback in target.feedback()}
    target.take(
        record
        for record in source.records()
        if isinstance(record, KeptTrace) or record.feedback.trace_id not in judged
    )


def _check_is_part(target: IndexReader, source: IndexReader) -> None:
    for summary in target.documents():
        copied, original = target.entry(summary.id), source.entry(summary.id)
        if copied is not None and (original is None or _text(copied) != _text(original)):
            raise UsageError(
                "the index to copy to already holds documents that the other one does not hold, or "
                f"not just so ({summary.path}); choose another one"
            )


def _text(entry: Entry) -> tuple[object, ...]:
    return entry.document, entry.chunks, entry.digest


def _lacking(source: IndexReader, target: IndexReader, ids: list[str]) -> Iterator[Entry]:
    """Yield the entries of these documents that the target lacks, with all their vectors."""
    for document_id in ids:
        original, copied = source.entry(document_id), target.entry(document_id)
        if original is not None and (copied is None or not _has_vectors(copied, original)):
            yield original


def _has_vectors(copied: Entry, original: Entry) -> bool:
    needed, present = _vectors(original), _vectors(copied)
    return all(name in present and np.array_equal(present[name], needed[name]) for name in needed)


def _vectors(entry: Entry) -> Mapping[str, Matrix]:
    main = {} if entry.vectors is None else {"": entry.vectors}
    return {**main, **entry.more}


def _rest(source: IndexReader, target: IndexWriter) -> None:
    target.set_roots(list(dict.fromkeys([*target.roots(), *source.roots()])))
    existing = target.calibrations()
    for strategy, data in source.calibrations().items():
        if strategy not in existing:
            target.keep_calibration(strategy, data)
    target.optimize()
