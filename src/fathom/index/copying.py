"""An index moves from one engine to another."""

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
    """Store all that one index holds in another; returns what is there then.

    Documents, chunks, vectors, places, roots and calibrations; nothing is read or embedded again.
    The other one is empty or holds a part of it, as after a copy that broke off: what is lacking
    is added then, and calibrations that it has are kept.

    Args:
        source: The one.
        target: The other.
        beside: Done first, once the other is known to hold nothing else.

    Raises:
        UsageError: If the other one holds a document that the one does not hold just so.
        RunError: If what is there then is not the same, as another process wrote meanwhile.
    """
    _check_is_part(target, source)
    beside()
    state = source.status()
    target.lay_out([Space(name=each.name, identity=each.identity) for each in state.spaces])
    ids = (summary.id for summary in source.documents())
    while batch := list(islice(ids, AT_ONCE)):
        places = [place for each in batch for place in source.places(each)]
        target.put(list(_lacking(source, target, batch)), places)
    target.put([], [place for place in source.sources("/") if place.document_id is None])
    _rest(source, target)
    copied = target.status()
    if copied.content != state.content:
        raise RunError("what was copied is not the same: somebody wrote meanwhile; copy again")
    return copied


def copy_traces(source: TraceStore, target: TraceStore) -> None:
    """Copy traces and feedback that the other store does not hold yet."""
    known = {each.trace_id for each in target.feedback()}
    target.take(
        kept
        for kept in source.records()
        if isinstance(kept, KeptTrace) or kept.feedback.trace_id not in known
    )


def _check_is_part(target: IndexReader, source: IndexReader) -> None:
    for summary in target.documents():
        there, here = target.entry(summary.id), source.entry(summary.id)
        if there is not None and (here is None or _text(there) != _text(here)):
            raise UsageError(
                "the index to copy to holds documents already that the other one does not hold, or "
                f"not just so ({summary.path}); choose another one"
            )


def _text(entry: Entry) -> tuple[object, ...]:
    return entry.document, entry.chunks, entry.digest


def _lacking(source: IndexReader, target: IndexReader, ids: list[str]) -> Iterator[Entry]:
    """Of these documents those that the other one does not hold, with all their vectors."""
    for each in ids:
        here, there = source.entry(each), target.entry(each)
        if here is not None and (there is None or not _has_vectors(there, here)):
            yield here


def _has_vectors(there: Entry, here: Entry) -> bool:
    mine, its = _vectors(here), _vectors(there)
    return all(name in its and np.array_equal(its[name], mine[name]) for name in mine)


def _vectors(entry: Entry) -> Mapping[str, Matrix]:
    own = {} if entry.vectors is None else {"": entry.vectors}
    return {**own, **entry.more}


def _rest(source: IndexReader, target: IndexWriter) -> None:
    target.set_roots(list(dict.fromkeys([*target.roots(), *source.roots()])))
    known = target.calibrations()
    for strategy, data in source.calibrations().items():
        if strategy not in known:
            target.keep_calibration(strategy, data)
    target.optimize()
