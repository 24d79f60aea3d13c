"""A few made-up documents for indexes."""

import numpy as np

from fathom.index.base import Entry, IndexWriter, Matrix, SourceRecord
from fathom.types import Block, Chunk, ChunkBlock, Document, Scalar, Span

IDENTITY = {"embedder.model": "axes", "chunker.name": "lines"}


def axis(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Make a vector of four numbers; missing numbers are 0."""
    vector = np.zeros(4, dtype=np.float32)
    vector[: len(values)] = values
    return vector


def entry(name: str, texts: list[str], vectors: list[list[float]], **metadata: Scalar) -> Entry:
    """Make the entry of a document with chunks of these texts and vectors."""
    text, chunks, start = "\n".join(texts), [], 0
    for ordinal, chunk_text in enumerate(texts):
        span = Span(start, start + len(chunk_text))
        chunks.append(
            Chunk(
                id=f"{name}#{ordinal}",
                document_id=name,
                text=chunk_text,
                span=span,
                ordinal=ordinal,
                title=f"Title of {name}",
                path=f"/c/{name}",
                headings=("Part", str(ordinal)),
                page=ordinal + 1,
                blocks=(ChunkBlock("paragraph", 0, len(chunk_text)),),
            )
        )
        start = span.end + 1
    document = Document(
        id=name,
        text=text,
        path=f"/c/{name}",
        title=f"Title of {name}",
        language="en",
        metadata=metadata,
        blocks=(Block(kind="paragraph", span=Span(0, len(text)), headings=("Part",), page=1),),
        # Line numbers start late and have gaps, as in a file with a header.
        lines=((0, 3), (len(text) // 2, 7)),
    )
    matrix = np.array([axis(*vector) for vector in vectors], dtype=np.float32)
    return Entry(document=document, chunks=tuple(chunks), vectors=matrix, digest=f"d-{name}")


def source(item: Entry, path: str = "") -> SourceRecord:
    """Make the source record of an entry; by default the path is that of its document."""
    return SourceRecord(
        path=path or item.document.path,
        digest=item.digest,
        outcome="ok",
        document_id=item.document.id,
    )


def put(writer: IndexWriter, *entries: Entry) -> None:
    """Store documents with their source records."""
    writer.put(entries, [source(item) for item in entries])


def get_vectors(item: Entry) -> Matrix:
    """Return the vectors of an entry.

    Raises:
        ValueError: If it has none.
    """
    if item.vectors is None:
        raise ValueError(f"{item.document.id} has no vectors yet; fill them first")
    return item.vectors


CATS = entry("cats", ["Cats sleep all day.", "Dogs bark."], [[1], [0, 1]], year=2020, kind="pet")
SHIPS = entry("ships", ["Ships sail the sea."], [[0.8, 0.6]], year=2024, kind="boat")
WORDLESS = Entry(
    document=Document(id="?", text="???", path="/c#?", title=""),
    chunks=(Chunk(id="?#0", document_id="?", text="???", span=Span(0, 3), ordinal=0),),
    vectors=axis(1)[None],
    digest="d-?",
)
