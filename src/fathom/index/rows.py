"""Conversion of documents, chunks and vectors to table rows and back."""

import hashlib
import json
import math
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fathom.documents.block_lookup import select_blocks
from fathom.documents.packed_blocks import PackedBlocks
from fathom.documents.site import find_site
from fathom.index.base import Entry
from fathom.types import Block, Chunk, Document, Scalar, Span

HalfMatrix = NDArray[np.float16]
MAX_CODE = 127
"""The largest absolute value of the bytes that stand for a vector's numbers."""


class DamagedRowError(Exception):
    """A stored row that differs from the data that was written."""


class StoredRow(Protocol):
    """A row of a table; its columns have names."""

    def __getitem__(self, column: str, /) -> Any: ...  # noqa: ANN401 - columns have many types

    def keys(self) -> Iterable[str]:
        """Return the names of the columns."""
        ...


_NARROW = json.JSONEncoder(separators=(",", ":"))
_MANY_BLOCKS = 5000
"""The number of blocks from which on a document's blocks are packed in columns."""
_COLUMNS = b"\x01"
"""The mark of blocks in columns; compressed JSON begins otherwise."""


def pack_structure(document: Document) -> bytes:
    """Pack the blocks, lines and tables of a document for storage.

    Blocks and lines are compressed JSON, with each distinct heading path once. For a document with
    many blocks (`_MANY_BLOCKS`) only the heading paths are JSON; the numbers follow in binary
    columns, and a mark (`_COLUMNS`) stands before the compressed data. The document's tables, which
    are packed already, follow unchanged.
    """
    return _pack_blocks(document) + document.tables


def _pack_blocks(document: Document) -> bytes:
    """Pack blocks and lines as compressed data."""
    blocks = PackedBlocks.of(document.blocks)
    lines = [number for line in document.lines for number in line]
    if len(blocks) >= _MANY_BLOCKS:
        columns = [blocks.starts, blocks.lengths, blocks.headings, blocks.pages]
        head = [blocks.paths, list(blocks.recognised.items()), len(blocks), len(lines)]
        data = b"".join(array("q", column).tobytes() for column in (*columns, lines))
        return b"".join(
            [_COLUMNS, zlib.compress(_NARROW.encode(head).encode() + b"\n" + blocks.kinds + data)]
        )
    columns = [blocks.kinds, blocks.starts, blocks.lengths, blocks.headings]
    pages = (None if page < 0 else page for page in blocks.pages)
    flat = [
        (*numbers, *([blocks.recognised[at]] if at in blocks.recognised else []))
        for at, numbers in enumerate(zip(*columns, pages, strict=True))
    ]
    whole = [blocks.paths, flat, lines]
    return zlib.compress(_NARROW.encode(whole).encode())


class Structure(NamedTuple):
    """The blocks and lines that `pack_structure` packed.

    Attributes:
        blocks: The blocks of the `Document`.
        lines: Its lines; none for rows of older versions.
        tables: Its packed tables.
    """

    blocks: PackedBlocks
    lines: tuple[tuple[int, int], ...]
    tables: bytes

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Unpack the structure of a document.

        Raises:
            DamagedRowError: If the data cannot be unpacked.
        """
        try:
            in_columns = packed.startswith(_COLUMNS)
            data, tables = _unzip(packed[len(_COLUMNS) if in_columns else 0 :])
            return cls(*(_read_columns if in_columns else _read_json)(data), tables)
        except (zlib.error, ValueError) as error:
            raise DamagedRowError(f"the structure of a document cannot be read: {error}") from error


def _unzip(packed: bytes) -> tuple[bytes, bytes]:
    """Decompress the beginning of the data; return it and the bytes that follow.

    Raises:
        zlib.error: If the data is no compressed data.
        ValueError: If its end is missing.
    """
    stream = zlib.decompressobj()
    data = stream.decompress(packed)
    if not stream.eof:
        raise ValueError("its end is missing")
    return data, stream.unused_data


def _read_json(data: bytes) -> tuple[PackedBlocks, tuple[tuple[int, int], ...]]:
    """Read the blocks and lines of a document that were packed as JSON."""
    paths, flat, *rest = json.loads(data)
    # The confidence of recognised blocks stands behind the five numbers that all have.
    kinds, starts, lengths, headings, pages, *_ = zip(*flat, strict=False) if flat else [()] * 5
    recognised = {at: row[5] for at, row in enumerate(flat) if len(row) > 5}
    columns = (starts, lengths, headings, [-1 if page is None else page for page in pages])
    blocks = PackedBlocks(paths, bytes(kinds), columns, recognised)
    return blocks, _pair_lines(rest[0] if rest else [])


def _read_columns(unpacked: bytes) -> tuple[PackedBlocks, tuple[tuple[int, int], ...]]:
    """Read the blocks and lines of a document that were packed in columns."""
    head, _, data = unpacked.partition(b"\n")
    paths, recognised, count, line_count = json.loads(head)
    numbers = array("q", data[count:])
    if len(numbers) != 4 * count + line_count:
        raise ValueError("a column is missing")
    columns = [numbers[at * count : (at + 1) * count] for at in range(4)]
    blocks = PackedBlocks(paths, data[:count], columns, dict(recognised))
    return blocks, _pair_lines(numbers[4 * count :])


def _pair_lines(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return a flat list of numbers as pairs, one for each line."""
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


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
    """Compute CRC-32 over the joined parts; it reveals flipped bits, but no forgery."""
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
        vectors: The float16 vectors of the chunks, in order; empty as long as one is missing.
    """
    content = [*document, [list(chunk) for chunk in chunks]]
    return hashlib.sha256(json.dumps(content).encode() + vectors).digest()


def compute_document_fingerprint(
    document: Document, chunks: Iterable[Chunk], vectors: bytes
) -> bytes:
    """Compute the fingerprint of a document with its chunks and their stored vectors.

    Args:
        document: The document.
        chunks: All its chunks, in order.
        vectors: The float16 vectors of the chunks, in order; empty as long as one is missing.
    """
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
    structure = Structure.unpack(row["blocks"])
    return Document(
        id=row["id"],
        text=row["text"],
        path=row["path"],
        title=row["title"],
        language=row["language"],
        metadata=json.loads(row["metadata"]),
        blocks=structure.blocks,
        lines=structure.lines,
        tables=structure.tables,
    )


def build_chunk(row: StoredRow, text: str, blocks: Sequence[Block]) -> Chunk:
    """Build a chunk of a document.

    Args:
        row: The row of the chunk, joined with `document_id`, `title`, `path` and `metadata` of the
            document.
        text: The text of the document.
        blocks: The blocks of the document.
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
        site=find_site(row["document_id"], row["path"], json.loads(row["metadata"])),
        headings=tuple(json.loads(row["headings"])) if row["headings"] != "[]" else (),
        page=row["page"],
        blocks=select_blocks(blocks, span),
    )


def build_matrix(vectors: Iterable[bytes], dimension: int) -> HalfMatrix:
    """Return stored vectors as an (n, dimension) float16 matrix."""
    return np.frombuffer(b"".join(vectors), dtype=np.float16).reshape(-1, dimension)


def compute_cosines(vectors: HalfMatrix, vector: NDArray[np.float32]) -> NDArray[np.float64]:
    """Compute the exact cosines of unit vectors with one unit vector.

    Args:
        vectors: (n, dimension) float16.
        vector: (dimension,) float32.

    Returns:
        (n,) float64.
    """
    # Row by row: a matrix product may round a row differently when its neighbours differ.
    products: NDArray[np.float64] = vectors.astype(np.float64) * vector.astype(np.float64)
    return np.asarray(products.sum(axis=1))
