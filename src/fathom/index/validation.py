"""Whether what is to be stored fits together."""

from collections.abc import Mapping, Sequence

from fathom.errors import IndexMismatch
from fathom.index.base import Entry, Matrix, Vector


def check_entries(entries: Sequence[Entry], known: Mapping[str, int]) -> None:
    """Check shapes, ids and spans before anything is stored.

    Args:
        entries: What is to be stored in one step.
        known: The dimensions of all spaces by name, 0 where there is no vector yet; `""` is the
            one that every index has.

    Raises:
        ValueError: If an entry contradicts itself or another one, or names no space.
        IndexMismatch: If vectors have another dimension than those stored.
    """
    ids = [entry.document.id for entry in entries]
    if len(set(ids)) != len(ids):
        raise ValueError(f"entries name a document twice: {sorted(ids)}")
    for entry in entries:
        _check_chunks(entry)
    for name in sorted({name for entry in entries for name in entry.more}):
        if name not in known:
            raise ValueError(f"entries have vectors of {name!r}, which is no space of the index")
        _check_dimension([(e, e.more[name]) for e in entries if name in e.more], known[name])
    _check_dimension(
        [(entry, entry.vectors) for entry in entries if entry.vectors is not None], known[""]
    )


def _check_dimension(vectors: Sequence[tuple[Entry, Matrix]], dimension: int) -> None:
    for entry, matrix in vectors:
        if matrix.ndim != 2 or len(matrix) != len(entry.chunks):
            raise ValueError(
                f"document {entry.document.id!r}: {len(entry.chunks)} chunks, vectors of shape "
                f"{matrix.shape}"
            )
        found = matrix.shape[1] if len(matrix) else dimension
        if dimension and found != dimension:
            raise IndexMismatch(
                f"document {entry.document.id!r} has vectors of {found} numbers, the index holds "
                f"{dimension}; use one embedder, or `fathom ingest --rebuild PATH...`"
            )
        dimension = found


def check_vectors(vectors: Sequence[Vector], name: str, dimension: int) -> None:
    """Check what is to be filled into the space of this name, whose dimension may be 0 yet.

    Raises:
        IndexMismatch: If they have another dimension than those stored, or not all the same.
    """
    lengths = {len(vector) for vector in vectors} | ({dimension} - {0})
    if len(lengths) > 1:
        of = f"{name!r}" if name else "the embedder"
        mend = f"`fathom vectors drop {name}`, then `fathom ingest`"
        raise IndexMismatch(
            f"{of} gives vectors of {sorted(lengths)} numbers; run "
            + (mend if name else "`fathom ingest --rebuild PATH...`")
        )


def _check_chunks(entry: Entry) -> None:
    document = entry.document
    for ordinal, chunk in enumerate(entry.chunks):
        if chunk.document_id != document.id or chunk.ordinal != ordinal:
            raise ValueError(f"chunk {chunk.id!r} is not number {ordinal} of {document.id!r}")
        if chunk.span.cut(document.text) != chunk.text:
            raise ValueError(f"chunk {chunk.id!r} is not document.text{chunk.span}")
