"""The binary format in which pgvector sends and takes vectors of 16 bits."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import TupleRow
from typing_extensions import override

from fathom.index.rows import HalfMatrix


def unpack_vectors(packed: Sequence[bytes], dimension: int) -> HalfMatrix:
    """Convert vectors from the bytes that pgvector sends to (n, dimension) float16."""
    if not packed:
        return np.empty((0, dimension), dtype=np.float16)
    # Each vector is its length and two unused bytes, then the numbers, most significant byte first.
    size = 4 + 2 * dimension
    raw = np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(-1, size)[:, 4:]
    return np.ascontiguousarray(raw).view(">f2").astype(np.float16).reshape(-1, dimension)


class PackedVector(bytes):
    """The bytes of a vector as pgvector takes them."""

    __slots__ = ()


def pack_vector(vector: NDArray[np.floating[Any]]) -> PackedVector:
    """Convert one vector, rounded to 16 bits, to the bytes that pgvector takes."""
    return PackedVector(struct.pack(">HH", len(vector), 0) + vector.astype(">f2").tobytes())


class _PackedVectorDumper(Dumper):
    """A dumper that sends the bytes unchanged; the column decides the type."""

    format = Format.BINARY
    oid = 0

    @override
    def dump(self, obj: bytes) -> bytes:
        return obj


def register_dumper(connection: psycopg.Connection[TupleRow]) -> None:
    """Let a connection take packed vectors as values."""
    connection.adapters.register_dumper(PackedVector, _PackedVectorDumper)
