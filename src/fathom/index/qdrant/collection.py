"""One tenant's points in a collection of a Qdrant cluster: how they are laid out, put and found.

There is a collection for words and one for the vectors of each dimension, as words are there
before vectors are. All searches are of one tenant, so there is no graph of neighbours over all
points but one within each tenant. The name of a point says whose it is and which chunk's, so that
to put it twice is to put it once, and a reply needs nothing but names and scores.

A mark is a point, named by any number, that tells but that all that was put before it is there.
Whoever asks with a mark that the collection lacks, as one restored from an older backup does, gets
no answer.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fathom.errors import IndexMismatch
from fathom.index.qdrant.client import QdrantClient

BATCH = 256
"""Points a request; of 384 numbers each that is about a megabyte."""

CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 192

DIGITS = 6
"""Of the numbers of a vector that are sent; half precision errs by far more than what is cut."""

_CHUNK = (1 << 32) - 1
"""The bits of a point's name that are the chunk's number; the others are the tenant's."""

Numbers = NDArray[np.int64]
HalfMatrix = NDArray[np.float16]


class Unmarked(Exception):
    """The collection lacks the mark that was asked with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A chunk as a collection has it.

    Attributes:
        chunk: Its number, never used for another one.
        document: The number of its document, by which searches are narrowed.
        vector: As JSON has it: of numbers, or `sparse`.
    """

    chunk: int
    document: int
    vector: object


@dataclass(frozen=True, slots=True)
class Found:
    """A point of a reply."""

    chunk: int
    score: float


class TenantPoints:
    """The points of one tenant in one collection."""

    def __init__(self, client: QdrantClient, tenant: uuid.UUID, dimension: int | None) -> None:
        """Nothing is asked yet.

        Args:
            client: Of the cluster.
            tenant: Whose points; those of others are never read, changed or counted.
            dimension: Of the vectors; `None` for words.
        """
        self._client = client
        self._tenant = tenant
        self._dimension = dimension
        name = "words" if dimension is None else str(dimension)
        self._path = f"/collections/{client.address.collection}-{name}"
        self._own = _belongs_to(tenant)
        self._marks = marks_of(tenant)

    def make(self) -> None:
        """Make the collection where it is missing.

        Raises:
            IndexMismatch: If there is one of another make.
        """
        if self._client.request("GET", self._path) is None:
            self._client.request("PUT", self._path, self._layout())
        for name, schema in _INDEXES.items():
            body = {"field_name": name, "field_schema": schema}
            self._client.write("PUT", f"{self._path}/index", body)
        self._check(self._client.request("GET", self._path))

    def _layout(self) -> dict[str, object]:
        address = self._client.address
        layout: dict[str, object] = {"on_disk_payload": True}
        if self._dimension is None:
            # Without the engine's own idf, which differs from shard to shard.
            layout["sparse_vectors"] = {"words": {}}
        else:
            # Stored vectors are of unit length; a cosine would round them once more.
            kind = {"size": self._dimension, "distance": "Dot", "datatype": "float16"}
            layout["vectors"] = {"dense": kind}
            layout["hnsw_config"] = {
                "m": 0,
                "payload_m": CONNECTIVITY,
                "ef_construct": EXPANSION_ADD,
            }
        if address.shards:
            layout["shard_number"] = address.shards
        if address.replicas:
            layout["replication_factor"] = address.replicas
            layout["write_consistency_factor"] = address.replicas // 2 + 1
        return layout

    def _check(self, told: Any) -> None:  # noqa: ANN401 - as JSON has it
        try:
            params = told["config"]["params"]
            if self._dimension is None:
                fine = not (params["sparse_vectors"]["words"] or {}).get("modifier")
            else:
                dense = params["vectors"]["dense"]
                fine = (dense["size"], dense["distance"]) == (self._dimension, "Dot")
        except (KeyError, TypeError):
            fine = False
        if not fine:
            raise IndexMismatch(
                f"the collection {self._path.rpartition('/')[2]} at {self._client.address.url} "
                "was not made by Fathom; name another one at the end of the address"
            )

    def is_there(self) -> bool:
        """Whether there is such a collection."""
        return self._client.request("GET", self._path) is not None

    def put(self, points: Iterable[Point]) -> None:
        """Store points, in place of older ones of the same chunks; durable when it returns."""
        for some in _batches(points):
            self._put([self._point(one) for one in some])

    def _put(self, points: Sequence[object]) -> None:
        self._client.write("PUT", f"{self._path}/points", {"points": points})

    def _point(self, one: Point) -> dict[str, object]:
        return {
            "id": _name(self._tenant, one.chunk),
            "vector": {"words" if self._dimension is None else "dense": one.vector},
            "payload": {"tenant": str(self._tenant), "document": one.document},
        }

    def mark(self, mark: int) -> None:
        """Note that all that was put is there; see above."""
        payload = {"tenant": str(self._marks)}
        self._put([{"id": _name(self._marks, mark), "vector": {}, "payload": payload}])

    def is_marked(self, mark: int) -> bool:
        """Whether the collection has this mark."""
        told = self._client.request("POST", f"{self._path}/points/query", self._asked_for(mark))
        return bool(told and told["points"])

    def _asked_for(self, mark: int) -> dict[str, object]:
        only = [_belongs_to(self._marks), {"has_id": [_name(self._marks, mark)]}]
        return _quiet(limit=1, filter={"must": only})

    def unmark(self, kept: int) -> None:
        """Remove all marks but one."""
        other = [{"has_id": [_name(self._marks, kept)]}]
        self._remove({"must": [_belongs_to(self._marks)], "must_not": other})

    def remove(self, chunks: Iterable[int]) -> None:
        """Remove the points of these chunks, where they are there."""
        for some in _batches(chunks):
            names = [_name(self._tenant, int(chunk)) for chunk in some]
            self._client.write("POST", f"{self._path}/points/delete", {"points": names})

    def clear(self) -> None:
        """Remove all points and marks of the tenant."""
        if self.is_there():
            for tenant in (self._marks, self._tenant):  # whoever asks meanwhile lacks the mark
                self._remove({"must": [_belongs_to(tenant)]})

    def _remove(self, points: Mapping[str, object]) -> None:
        self._client.write("POST", f"{self._path}/points/delete", {"filter": points})

    def count(self) -> int:
        """How many points the tenant has; none where there is no collection."""
        only = {"filter": {"must": [self._own]}, "exact": True}
        told = self._client.request("POST", f"{self._path}/points/count", only)
        return int(told["count"]) if told else 0

    def chunks(self) -> Iterator[int]:
        """The numbers of all chunks that have a point, ascending."""
        start: object = None
        while True:
            body: dict[str, object] = {
                "filter": {"must": [self._own]},
                "limit": 10 * BATCH,
                "with_payload": False,
                "with_vector": False,
            }
            if start is not None:
                body["offset"] = start
            told = self._client.request("POST", f"{self._path}/points/scroll", body)
            if not told:
                return
            yield from (_chunk(point["id"]) for point in told["points"])
            start = told["next_page_offset"]
            if start is None:
                return

    def nearest(
        self,
        vector: NDArray[np.float32],
        limit: int,
        documents: Sequence[int] | None,
        *,
        exact: bool,
        mark: int = 0,
    ) -> list[Found]:
        """The points with the largest products with a vector, best first.

        Args:
            vector: Of the query.
            limit: At most so many.
            documents: Only of these; of all where it is `None`.
            exact: Whether to look at all of them, and not at a graph.
            mark: See above; 0 asks without.

        Raises:
            Unmarked: If the collection lacks the mark.
        """
        search = _quiet(
            query=[round(number, DIGITS) for number in vector.tolist()],
            using="dense",
            limit=limit,
            filter=self._filter(documents),
            params={"exact": True} if exact else {"hnsw_ef": max(EXPANSION_SEARCH, limit)},
        )
        return self._query(search, mark)

    def worded(
        self,
        weights: Mapping[int, float],
        limit: int,
        documents: Sequence[int] | None,
        mark: int = 0,
    ) -> list[Found]:
        """The points with the largest sums of weights of a query's terms, best first.

        Raises:
            Unmarked: If the collection lacks the mark.
        """
        search = _quiet(
            query=sparse(weights), using="words", limit=limit, filter=self._filter(documents)
        )
        return self._query(search, mark)

    def _filter(self, documents: Sequence[int] | None) -> dict[str, object]:
        must: list[object] = [self._own]
        if documents is not None:
            must.append({"key": "document", "match": {"any": [int(one) for one in documents]}})
        return {"must": must}

    def _query(self, search: dict[str, object], mark: int) -> list[Found]:
        """One request for the points and the mark."""
        searches = [search, *([self._asked_for(mark)] if mark else [])]
        told = self._client.request(
            "POST", f"{self._path}/points/query/batch", {"searches": searches}
        )
        if mark and not (told and told[-1]["points"]):
            raise Unmarked
        points = told[0]["points"] if told else []
        return [Found(_chunk(point["id"]), float(point["score"])) for point in points]


_INDEXES: Mapping[str, Mapping[str, object]] = {
    "tenant": {"type": "uuid", "is_tenant": True},
    # It narrows searches; a graph within each document would be of no use.
    "document": {"type": "integer", "lookup": True, "range": False, "enable_hnsw": False},
}


_T = TypeVar("_T")


def _batches(all_of_them: Iterable[_T]) -> Iterator[list[_T]]:
    left = iter(all_of_them)
    while some := list(islice(left, BATCH)):
        yield some


def sparse(weights: Mapping[int, float]) -> dict[str, object]:
    """A sparse vector as JSON has it."""
    return {"indices": list(weights), "values": list(weights.values())}


def _quiet(**search: object) -> dict[str, object]:
    """A search whose reply holds names and scores alone."""
    return {**search, "with_payload": False, "with_vector": False}


def _belongs_to(tenant: uuid.UUID) -> dict[str, object]:
    return {"key": "tenant", "match": {"value": str(tenant)}}


def marks_of(tenant: uuid.UUID) -> uuid.UUID:
    """Whose points the marks of a tenant are."""
    return uuid.uuid5(tenant, "marks")


def _name(tenant: uuid.UUID, number: int) -> str:
    return str(uuid.UUID(int=(tenant.int & ~_CHUNK) | number))


def _chunk(name: str) -> int:
    return int(name[-8:], 16)
