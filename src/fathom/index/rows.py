"""Conversion of documents, chunks and vectors to table rows and back."""

import hashlib
import json
import math
import sys
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, get_args, overload

import numpy as np
from numpy.typing import NDArray

from fathom.documents.block_lookup import select_blocks
from fathom.documents.site import find_site
from fathom.index.base import Entry
from fathom.types import Block, BlockKind, Chunk, ChunkBlock, Document, Scalar, Span

HalfMatrix = NDArray[np.float16]
MAX_CODE = 127
"""The largest absolute value of the bytes that stand for a vector's numbers."""


class DamagedRowError(Exception):
    """Stored data differs from the data that was written."""


class StoredRow(Protocol):
    """A row of a table; its columns have names."""

    def __getitem__(self, column: str, /) -> Any: ...  # noqa: ANN401 - columns have many types

    def keys(self) -> Iterable[str]:
        """Return the names of the columns."""
        ...


_NARROW = json.JSONEncoder(separators=(",", ":"))
_KINDS: tuple[BlockKind, ...] = get_args(BlockKind)


def pack_structure(document: Document) -> bytes:
    """Pack blocks and lines as compressed JSON, with each distinct heading path once."""
    paths: dict[tuple[str, ...], int] = {}
    flat = [
        (
            _KINDS.index(block.kind),
            block.span.start,
            block.span.end - block.span.start,
            paths.setdefault(block.headings, len(paths)),
            block.page,
            *(() if block.recognised is None else (block.recognised,)),
        )
        for block in document.blocks
    ]
    lines = [number for line in document.lines for number in line]
    whole = [list(paths), flat, lines]
    return zlib.compress(_NARROW.encode(whole).encode())


class Structure(Sequence[Block]):
    """The blocks and lines that `pack_structure` packed.

    A book has many blocks, so each block is built only when it is accessed.

    Attributes:
        lines: The lines of the `Document`; older rows hold blocks only.

    Raises:
        DamagedRowError: If the data cannot be unpacked.
    """

    def __init__(self, packed: bytes) -> None:
        try:
            paths, self._flat, *rest = json.loads(zlib.decompress(packed))
        except (zlib.error, ValueError) as error:
            raise DamagedRowError(f"the structure of a document cannot be read: {error}") from error
        self._paths = [tuple(path) for path in paths]
        numbers = rest[0] if rest else []
        self.lines = tuple(zip(numbers[::2], numbers[1::2], strict=True))

    def __len__(self) -> int:
        return len(self._flat)

    @overload
    def __getitem__(self, at: int) -> Block: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Block]: ...
    def __getitem__(self, at: int | slice) -> Block | Sequence[Block]:
        if isinstance(at, slice):
            return tuple(self[position] for position in range(*at.indices(len(self))))
        kind, start, length, path, page, *confidence = self._flat[at]
        return Block(
            kind=_KINDS[kind],
            span=Span(start, start + length),
            headings=self._paths[path],
            page=page,
            recognised=confidence[0] if confidence else None,
        )

    def find_blocks(self, span: Span) -> tuple[ChunkBlock, ...]:
        """Return the blocks of a span, relative to its start.

        The method builds no `Block`, because every hit calls it.
        """
        # The last block that starts at or before the start of the span may reach into it.
        first = bisect_right(self._flat, span.start, key=_get_start) - 1
        blocks = []
        for kind, start, length, *_ in islice(self._flat, max(first, 0), None):
            if start >= span.end:
                break
            begin, end = max(start, span.start), min(start + length, span.end)
            if begin < end:
                blocks.append(ChunkBlock(_KINDS[kind], begin - span.start, end - span.start))
        return tuple(blocks)


_get_start = itemgetter(1)


def pack_metadata(metadata: Mapping[str, Scalar]) -> str:
    """Pack metadata as JSON, without numbers that are not finite.

    JSON has no form for those numbers.
    """
    if not metadata:
        return "{}"
    finite = {
        key: value
        for key, value in metadata.items()
        if not isinstance(value, float) or math.isfinite(value)
    }
    return json.dumps(finite, ensure_ascii=False, sort_keys=True)


def pack_headings(headings: Sequence[str]) -> str:
    """Pack headings as JSON."""
    # Most chunks of short documents have no heading, and the constant is quicker.
    return json.dumps(headings, ensure_ascii=False) if headings else "[]"


def compute_checksum(*parts: bytes) -> int:
    """Compute CRC-32 over the parts; the sum reveals flipped bits, not forgery."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def compute_file_checksum(file: Path, size: int = sys.maxsize) -> int:
    """Compute CRC-32 over the first `size` bytes of a file, or over all if it is shorter."""
    value = 0
    with file.open("rb") as stream:
        while block := stream.read(min(size, 1 << 20)):
            value = zlib.crc32(block, value)
            size -= len(block)
    return value


def compute_fingerprint(
    document: Sequence[str], chunks: Sequence[tuple[str, int, int]], vectors: bytes
) -> bytes:
    """Compute sha256 over a document, the places of its chunks and their stored vectors.

    Args:
        document: The id, title, language, packed metadata and text of the document.
        chunks: The id, start and end of each chunk, in order.
        vectors: The vectors of all chunks, in order; empty as long as one is missing.
    """
    content = [*document, [list(chunk) for chunk in chunks]]
    return hashlib.sha256(json.dumps(content).encode() + vectors).digest()


def compute_document_fingerprint(
    document: Document, chunks: Iterable[Chunk], vectors: bytes
) -> bytes:
    """Compute the fingerprint of a document with its chunks and their stored vectors."""
    metadata = pack_metadata(document.metadata)
    return compute_fingerprint(
        (document.id, document.title, document.language, metadata, document.text),
        [(chunk.id, chunk.span.start, chunk.span.end) for chunk in chunks],
        vectors,
    )


def compute_entry_fingerprint(entry: Entry) -> bytes:
    """Compute the fingerprint of a document that is about to be stored."""
    vectors = b"" if entry.vectors is None else entry.vectors.astype(np.float16).tobytes()
    return compute_document_fingerprint(entry.document, entry.chunks, vectors)


def compute_kept_key(text: str, space: str = "") -> str:
    """Compute the key of a text's kept vector in a space."""
    named = f"{space}\0{text}" if space else text
    return hashlib.sha256(named.encode()).hexdigest()


def list_kept_keys(entries: Iterable[Entry]) -> list[str]:
    """Return the keys of the kept vectors that entries with vectors make superfluous."""
    return [
        compute_kept_key(chunk.context, space)
        for entry in entries
        for chunk in entry.chunks
        for space in (*([] if entry.vectors is None else [""]), *entry.more)
    ]


def build_document(row: StoredRow) -> Document:
    """Build a document from a row of documents joined with contents.

    Raises:
        DamagedRowError: If the content differs from the content that was stored.
    """
    if compute_checksum(row["text"].encode(), row["blocks"]) != row["checksum"]:
        raise DamagedRowError(f"document number {row['no']} differs from what was stored")
    structure = Structure(row["blocks"])
    return Document(
        id=row["id"],
        text=row["text"],
        path=row["path"],
        title=row["title"],
        language=row["language"],
        metadata=json.loads(row["metadata"]),
        blocks=tuple(structure),
        lines=structure.lines,
    )


def build_chunk(row: StoredRow, text: str, blocks: Sequence[Block]) -> Chunk:
    """Build a chunk from a row of chunks joined with id, title, path, metadata of its document."""
    span = Span(row["start"], row["end"])
    return Chunk(
        id=row["id"],
        document_id=row["document_id"],
        text=span.cut(text),
        span=span,
        ordinal=row["ordinal"],
        title=row["title"],
        path=row["path"],
        site=find_site(row["document_id"], row["path"], json.loads(row["metadata"])),
        headings=tuple(json.loads(row["headings"])) if row["headings"] != "[]" else (),
        page=row["page"],
        blocks=blocks.find_blocks(span)
        if isinstance(blocks, Structure)
        else select_blocks(blocks, span),
    )


def build_matrix(vectors: Iterable[bytes], dimension: int) -> HalfMatrix:
    """Return stored vectors as an (n, dimension) float16 matrix."""
    return np.frombuffer(b"".join(vectors), dtype=np.float16).reshape(-1, dimension)


def compute_cosines(vectors: HalfMatrix, vector: NDArray[np.float32]) -> NDArray[np.float64]:
    """Compute the exact cosines of unit vectors with one unit vector."""
    # Row by row: a matrix product may round a row differently when its neighbours differ.
    products: NDArray[np.float64] = vectors.astype(np.float64) * vector.astype(np.float64)
    return np.asarray(products.sum(axis=1))
