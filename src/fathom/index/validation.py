"""Checks of the entries and vectors that are about to be stored."""

from collections.abc import Mapping, Sequence

from fathom.errors import IndexMismatch
from fathom.index.base import Entry, Matrix, Vector


def check_entries(entries: Sequence[Entry], dimensions: Mapping[str, int]) -> None:
    """Check shapes, ids and spans before anything is stored.

    Args:
        entries: The entries to be stored in one step.
        dimensions: The dimensions of all spaces by name, 0 if the space has no vector yet; `""`
            is the space that every index has.

    Raises:
        ValueError: If an entry contradicts itself or another one, or names an unknown space.
        IndexMismatch: If vectors have another dimension than the stored ones.
    """
    ids = [entry.document.id for entry in entries]
    if len(set(ids)) != len(ids):
        raise ValueError(f"entries name a document twice: {sorted(ids)}")
    for entry in entries:
        _check_chunks(entry)
    for name in sorted({name for entry in entries for name in entry.more}):
        if name not in dimensions:
            raise ValueError(f"entries have vectors of {name!r}, which is no space of the index")
        _check_dimension(
            [(item, item.more[name]) for item in entries if name in item.more], dimensions[name]
        )
    _check_dimension(
        [(entry, entry.vectors) for entry in entries if entry.vectors is not None], dimensions[""]
    )


def _check_dimension(vectors: Sequence[tuple[Entry, Matrix]], dimension: int) -> None:
    """Check that each matrix has a row for each chunk, and that all have one dimension.

    Args:
        vectors: The entries with their vectors in one space.
        dimension: The dimension of the stored vectors; 0 if there are none.
    """
    for entry, matrix in vectors:
        if matrix.ndim != 2 or len(matrix) != len(entry.chunks):
            raise ValueError(
                f"document {entry.document.id!r}: {len(entry.chunks)} chunks, vectors of shape "
                f"{matrix.shape}"
            )
        width = matrix.shape[1] if len(matrix) else dimension
        if dimension and width != dimension:
            raise IndexMismatch(
                f"document {entry.document.id!r} has vectors of {width} numbers, the index holds "
                f"{dimension}; use one embedder, or `fathom ingest --rebuild PATH...`"
            )
        # The first vectors fix the dimension of a space that has none yet.
        dimension = width


def check_vectors(vectors: Sequence[Vector], name: str, dimension: int) -> None:
    """Check that vectors fit into a space.

    Args:
        vectors: The vectors.
        name: The name of the space; `""` is the space that every index has.
        dimension: The dimension of the stored vectors; 0 if there are none.

    Raises:
        IndexMismatch: If their dimensions differ from the stored ones or from each other.
    """
    lengths = {len(vector) for vector in vectors} | ({dimension} - {0})
    if len(lengths) > 1:
        owner = f"{name!r}" if name else "the embedder"
        remedy = f"`fathom vectors drop {name}`, then `fathom ingest`"
        raise IndexMismatch(
            f"{owner} gives vectors of {sorted(lengths)} numbers; run "
            + (remedy if name else "`fathom ingest --rebuild PATH...`")
        )


def _check_chunks(entry: Entry) -> None:
    """Check that the chunks of an entry are numbered in order and are parts of its text."""
    document = entry.document
    for ordinal, chunk in enumerate(entry.chunks):
        if chunk.document_id != document.id or chunk.ordinal != ordinal:
            raise ValueError(f"chunk {chunk.id!r} is not number {ordinal} of {document.id!r}")
        if chunk.span.cut(document.text) != chunk.text:
            raise ValueError(f"chunk {chunk.id!r} is not document.text{chunk.span}")
