"""An index moves from one engine to another."""

from collections.abc import Callable, Iterator
from itertools import islice

from fathom.errors import RunError, UsageError
from fathom.index.base import Entry, IndexReader, IndexStatus, IndexWriter, Space

AT_ONCE = 256


def copy(
    source: IndexReader, target: IndexWriter, beside: Callable[[], None] = lambda: None
) -> IndexStatus:
    """Store all that one index holds in another, which must be empty; returns what is there then.

    Documents, chunks, vectors, places, roots and calibrations; nothing is read or embedded again.

    Args:
        source: The one.
        target: The other.
        beside: Done first, once the other is known to be empty: what fails is begun anew.

    Raises:
        UsageError: If the other one holds documents.
        RunError: If what is there then is not the same, as another process wrote meanwhile.
    """
    if not target.is_empty():
        raise UsageError("the index to copy to holds documents already; choose another one")
    beside()
    state = source.status()
    target.lay_out([Space(name=each.name, identity=each.identity) for each in state.spaces])
    entries = _entries(source)
    while batch := list(islice(entries, AT_ONCE)):
        places = [place for entry in batch for place in source.places(entry.document.id)]
        target.put(batch, places)
    target.put([], [place for place in source.sources("/") if place.document_id is None])
    _rest(source, target)
    copied = target.status()
    if copied.content != state.content:
        raise RunError("what was copied is not the same: somebody wrote meanwhile; copy again")
    return copied


def _entries(source: IndexReader) -> Iterator[Entry]:
    ids = [summary.id for summary in source.documents()]
    return (entry for each in ids if (entry := source.entry(each)) is not None)


def _rest(source: IndexReader, target: IndexWriter) -> None:
    target.set_roots(source.roots())
    for strategy, data in source.calibrations().items():
        target.keep_calibration(strategy, data)
    target.optimize()
