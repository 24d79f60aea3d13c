"""Nouns to rows and back: blocks, metadata, vectors."""

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

from fathom.documents.blocks import within
from fathom.types import Block, BlockKind, Chunk, ChunkBlock, Document, Scalar, Span

HalfMatrix = NDArray[np.float16]
LARGEST = 127
"""Of the bytes as which vectors are compared."""


class Damaged(Exception):
    """What is read is not what was stored."""


class Row(Protocol):
    """A row of a table; its columns have names."""

    def __getitem__(self, column: str, /) -> Any: ...  # noqa: ANN401 - columns have many types


_NARROW = json.JSONEncoder(separators=(",", ":"))
_KINDS: tuple[BlockKind, ...] = get_args(BlockKind)


def pack_structure(document: Document) -> bytes:
    """Blocks and lines as compressed JSON; each distinct heading path is kept once."""
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
    """What `pack_structure` packed; each block is made when it is looked at, as books have many.

    Attributes:
        lines: See `Document`; older rows hold blocks only.

    Raises:
        Damaged: If it is not what was packed.
    """

    def __init__(self, packed: bytes) -> None:
        try:
            paths, self._flat, *rest = json.loads(zlib.decompress(packed))
        except (zlib.error, ValueError) as error:
            raise Damaged(f"the structure of a document cannot be read: {error}") from error
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
            return tuple(self[each] for each in range(*at.indices(len(self))))
        kind, start, length, path, page, *sure = self._flat[at]
        return Block(
            kind=_KINDS[kind],
            span=Span(start, start + length),
            headings=self._paths[path],
            page=page,
            recognised=sure[0] if sure else None,
        )

    def within(self, span: Span) -> tuple[ChunkBlock, ...]:
        """See `blocks.within`; without making the blocks, as every hit asks for this."""
        first = bisect_right(self._flat, span.start, key=_start) - 1
        found = []
        for kind, start, length, *_ in islice(self._flat, max(first, 0), None):
            if start >= span.end:
                break
            begin, end = max(start, span.start), min(start + length, span.end)
            if begin < end:
                found.append(ChunkBlock(_KINDS[kind], begin - span.start, end - span.start))
        return tuple(found)


_start = itemgetter(1)


def pack_metadata(metadata: Mapping[str, Scalar]) -> str:
    """Metadata as JSON; values that are not finite numbers are left out, as JSON has none."""
    if not metadata:
        return "{}"
    kept = {
        key: value
        for key, value in metadata.items()
        if not isinstance(value, float) or math.isfinite(value)
    }
    return json.dumps(kept, ensure_ascii=False, sort_keys=True)


def pack_headings(headings: Sequence[str]) -> str:
    """Headings as JSON; most chunks of short documents have none."""
    return json.dumps(headings, ensure_ascii=False) if headings else "[]"


def checksum(*parts: bytes) -> int:
    """CRC-32 over the parts; finds flipped bits, not forgery."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def file_checksum(file: Path, size: int = sys.maxsize) -> int:
    """CRC-32 over the first `size` bytes of a file, however many it has."""
    value = 0
    with file.open("rb") as parts:
        while part := parts.read(min(size, 1 << 20)):
            value = zlib.crc32(part, value)
            size -= len(part)
    return value


def fingerprint(
    document: Sequence[str], chunks: Sequence[tuple[str, int, int]], vectors: bytes
) -> bytes:
    """sha256 over a document, its chunks' places and their vectors as stored.

    Args:
        document: Its id, title, language, packed metadata and text.
        chunks: Of each the id and where it begins and ends, in order.
        vectors: Of all chunks, in order; nothing as long as one is lacking.
    """
    parts = [*document, [list(chunk) for chunk in chunks]]
    return hashlib.sha256(json.dumps(parts).encode() + vectors).digest()


def to_document(row: Row) -> Document:
    """A row of documents joined with contents.

    Raises:
        Damaged: If the content is not what was stored.
    """
    if checksum(row["text"].encode(), row["blocks"]) != row["checksum"]:
        raise Damaged(f"document number {row['no']} differs from what was stored")
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


def to_chunk(row: Row, text: str, blocks: Sequence[Block]) -> Chunk:
    """A row of chunks joined with its document's id, title and path.

    Args:
        row: Of the table.
        text: Of the whole document.
        blocks: Likewise.
    """
    span = Span(row["start"], row["end"])
    return Chunk(
        id=row["id"],
        document_id=row["document_id"],
        text=span.cut(text),
        span=span,
        ordinal=row["ordinal"],
        title=row["title"],
        path=row["path"],
        headings=tuple(json.loads(row["headings"])) if row["headings"] != "[]" else (),
        page=row["page"],
        blocks=blocks.within(span) if isinstance(blocks, Structure) else within(blocks, span),
    )


def to_matrix(vectors: Iterable[bytes], dimension: int) -> HalfMatrix:
    """Stored vectors as (n, dimension) float16."""
    return np.frombuffer(b"".join(vectors), dtype=np.float16).reshape(-1, dimension)


def cosines(vectors: HalfMatrix, vector: NDArray[np.float32]) -> NDArray[np.float64]:
    """The exact ones of unit vectors with one of them."""
    # Row by row: a matrix product may round a row differently in different company.
    products: NDArray[np.float64] = vectors.astype(np.float64) * vector.astype(np.float64)
    return np.asarray(products.sum(axis=1))
