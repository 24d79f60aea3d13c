"""Whether what is to be stored fits together."""

from collections.abc import Sequence

from fathom.errors import IndexMismatch
from fathom.index.base import Entry


def check_entries(entries: Sequence[Entry], dimension: int) -> None:
    """Check shapes, ids and spans before anything is stored.

    Args:
        entries: What is to be stored in one step.
        dimension: Of the vectors stored already, 0 when there are none.

    Raises:
        ValueError: If an entry contradicts itself or another one.
        IndexMismatch: If vectors have another dimension.
    """
    ids = [entry.document.id for entry in entries]
    if len(set(ids)) != len(ids):
        raise ValueError(f"entries name a document twice: {sorted(ids)}")
    for entry in entries:
        _check_chunks(entry)
        found = entry.vectors.shape[1] if len(entry.vectors) else dimension
        if dimension and found != dimension:
            raise IndexMismatch(
                f"document {entry.document.id!r} has vectors of {found} numbers, the index holds "
                f"{dimension}; use one embedder, or `fathom ingest --rebuild PATH...`"
            )
        dimension = found


def _check_chunks(entry: Entry) -> None:
    document = entry.document
    if entry.vectors.ndim != 2 or len(entry.vectors) != len(entry.chunks):
        raise ValueError(
            f"document {document.id!r}: {len(entry.chunks)} chunks, vectors of shape "
            f"{entry.vectors.shape}"
        )
    for ordinal, chunk in enumerate(entry.chunks):
        if chunk.document_id != document.id or chunk.ordinal != ordinal:
            raise ValueError(f"chunk {chunk.id!r} is not number {ordinal} of {document.id!r}")
        if chunk.span.cut(document.text) != chunk.text:
            raise ValueError(f"chunk {chunk.id!r} is not document.text{chunk.span}")
