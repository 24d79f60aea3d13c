"""Vectors of 16 bits on their way to pgvector and back, in binary."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import TupleRow

from fathom.index.rows import HalfMatrix


def to_vectors(packed: Sequence[bytes], dimension: int) -> HalfMatrix:
    """Vectors as pgvector sends them: their length and two empty bytes, then the numbers."""
    if not packed:
        return np.empty((0, dimension), dtype=np.float16)
    size = 4 + 2 * dimension
    raw = np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(-1, size)[:, 4:]
    return np.ascontiguousarray(raw).view(">f2").astype(np.float16).reshape(-1, dimension)


class Packed(bytes):
    """A vector as pgvector takes it."""

    __slots__ = ()


def packed(vector: NDArray[np.floating[Any]]) -> Packed:
    """One vector, rounded to 16 bits; the inverse of `to_vectors`."""
    return Packed(struct.pack(">HH", len(vector), 0) + vector.astype(">f2").tobytes())


class _PackedDumper(Dumper):
    """Sends it as it is; the place where it stands says of which type it is."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: bytes) -> bytes:
        """See `Dumper.dump`."""
        return obj


def register(connection: psycopg.Connection[TupleRow]) -> None:
    """Let a connection take packed vectors as values."""
    connection.adapters.register_dumper(Packed, _PackedDumper)
