from collections.abc import Callable

import numpy as np
import pytest

from fathom.index.base import Entry, Matrix, SourceRecord
from fathom.types import Chunk, Document, Scalar, Span

IndexedDocument = tuple[Entry, SourceRecord]
EntryFactory = Callable[..., IndexedDocument]


def make_entry(
    name: str,
    *parts: str,
    language: str = "en",
    metadata: dict[str, Scalar] | None = None,
    path: str = "",
    seed: int | None = None,
) -> IndexedDocument:
    """Return a document of one chunk per part, with vectors that depend on `seed` or the text."""
    text = "\n".join(parts)
    chunks, start = [], 0
    for ordinal, part in enumerate(parts):
        chunks.append(
            Chunk(
                id=f"{name}#{ordinal}",
                document_id=name,
                text=part,
                span=Span(start, start + len(part)),
                ordinal=ordinal,
            )
        )
        start += len(part) + 1
    document = Document(
        id=name,
        text=text,
        path=path or f"/corpus/{name}",
        title="",
        language=language,
        metadata=metadata or {},
    )
    chosen = sum(text.encode()) if seed is None else seed
    vectors = np.random.default_rng(chosen).normal(size=(len(parts), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    digest = f"sha-{text}"
    source = SourceRecord(path=document.path, digest=digest, outcome="ok", document_id=name)
    return Entry(document=document, chunks=tuple(chunks), vectors=vectors, digest=digest), source


def get_vectors(entry: Entry) -> Matrix:
    """Return the vectors of an entry."""
    assert entry.vectors is not None
    return entry.vectors


@pytest.fixture(scope="session")
def make() -> EntryFactory:
    return make_entry
