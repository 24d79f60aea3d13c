"""One tenant's points in a collection of a Qdrant cluster: their layout, storage and search.

There is a collection for words and one for the vectors of each dimension, because words are stored
before vectors. Every search concerns one tenant, so each tenant has a graph of neighbours of its
own, and there is none over all points. The name of a point contains the tenant and the number of
the chunk. So storing a point twice stores it once, and a reply needs only names and scores.

A mark is a point with a random number. Its presence shows that every point stored before it is
there. A search names the mark of the last change; if the collection lacks it, for example after an
older backup was restored, the search fails.
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

BATCH_POINTS = 256
"""The number of points in a request; with 384 numbers each that is about a megabyte."""

CONNECTIVITY = 16
"""The number of links of a vector in a layer of the graph (M)."""
EXPANSION_ADD = 128
"""The number of candidates for the links of a new vector (efConstruction)."""
EXPANSION_SEARCH = 192
"""The smallest number of candidates of a search (ef)."""

DIGITS = 6
"""The number of decimals of a vector's numbers in requests; half precision rounds far more."""

_CHUNK_BITS = (1 << 32) - 1
"""The bits of a point's name that are the chunk's number; the others are the tenant's."""

Numbers = NDArray[np.int64]
HalfMatrix = NDArray[np.float16]


class MissingMarkError(Exception):
    """A collection that lacks the mark of a search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantPoint:
    """A chunk as a collection stores it.

    Attributes:
        chunk: The number of the chunk, which no other chunk ever has.
        document: The number of its document, for filters.
        vector: The vector as JSON: a list of numbers, or the object of `build_sparse_vector`.
    """

    chunk: int
    document: int
    vector: object


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    """A point of a reply, with its score."""

    chunk: int
    score: float


class TenantPoints:
    """The points of one tenant in one collection.

    Points of other tenants are never read, changed or counted.
    """

    def __init__(self, client: QdrantClient, tenant: uuid.UUID, dimension: int | None) -> None:
        """Create the object; nothing is sent yet.

        Args:
            client: The client of the cluster.
            tenant: The tenant: the words, or one space of vectors, of one index.
            dimension: The dimension of the vectors; `None` for words.
        """
        self._client = client
        self._tenant = tenant
        self._dimension = dimension
        name = "words" if dimension is None else str(dimension)
        self._path = f"/collections/{client.address.collection}-{name}"
        self._own_condition = _build_tenant_condition(tenant)
        self._marks = compute_marks_tenant(tenant)

    def create_collection(self) -> None:
        """Create the collection if it is missing.

        Raises:
            IndexMismatch: If there is a collection of this name with another layout.
        """
        if self._client.request("GET", self._path) is None:
            self._client.request("PUT", self._path, self._build_layout())
        for name, schema in _PAYLOAD_INDEXES.items():
            body = {"field_name": name, "field_schema": schema}
            self._client.write("PUT", f"{self._path}/index", body)
        self._check_layout(self._client.request("GET", self._path))

    def _build_layout(self) -> dict[str, object]:
        """Return the layout of a new collection."""
        address = self._client.address
        layout: dict[str, object] = {"on_disk_payload": True}
        if self._dimension is None:
            # Without Qdrant's own idf, because it differs from shard to shard.
            layout["sparse_vectors"] = {"words": {}}
        else:
            # Stored vectors have unit length; the distance `Cosine` would round them once more.
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
            # A write that most replicas have survives the loss of a minority of them.
            layout["write_consistency_factor"] = address.replicas // 2 + 1
        return layout

    def _check_layout(self, description: Any) -> None:  # noqa: ANN401 - as JSON has it
        """Check that a collection has the layout of Fathom.

        Args:
            description: The collection, as the cluster describes it.

        Raises:
            IndexMismatch: If the layout differs.
        """
        try:
            params = description["config"]["params"]
            if self._dimension is None:
                matches = not (params["sparse_vectors"]["words"] or {}).get("modifier")
            else:
                dense = params["vectors"]["dense"]
                matches = (dense["size"], dense["distance"]) == (self._dimension, "Dot")
        except (KeyError, TypeError):
            matches = False
        if not matches:
            raise IndexMismatch(
                f"the collection {self._path.rpartition('/')[2]} at {self._client.address.url} "
                "was not made by Fathom; name another one at the end of the address"
            )

    def exists(self) -> bool:
        """Return whether the collection exists."""
        return self._client.request("GET", self._path) is not None

    def put(self, points: Iterable[QdrantPoint]) -> None:
        """Store points, in place of older ones of the same chunks; durable when it returns."""
        for batch in _iterate_batches(points):
            self._put_points([self._build_point(point) for point in batch])

    def _put_points(self, points: Sequence[object]) -> None:
        """Send points as JSON to the cluster."""
        self._client.write("PUT", f"{self._path}/points", {"points": points})

    def _build_point(self, point: QdrantPoint) -> dict[str, object]:
        """Return a point as JSON."""
        return {
            "id": _build_name(self._tenant, point.chunk),
            "vector": {"words" if self._dimension is None else "dense": point.vector},
            "payload": {"tenant": str(self._tenant), "document": point.document},
        }

    def store_mark(self, mark: int) -> None:
        """Store a mark, whose presence shows that every point stored before it is there."""
        payload = {"tenant": str(self._marks)}
        self._put_points([{"id": _build_name(self._marks, mark), "vector": {}, "payload": payload}])

    def has_mark(self, mark: int) -> bool:
        """Return whether the collection has this mark."""
        reply = self._client.request(
            "POST", f"{self._path}/points/query", self._build_mark_search(mark)
        )
        return bool(reply and reply["points"])

    def _build_mark_search(self, mark: int) -> dict[str, object]:
        """Return the search for a mark."""
        conditions = [
            _build_tenant_condition(self._marks),
            {"has_id": [_build_name(self._marks, mark)]},
        ]
        return _build_search(limit=1, filter={"must": conditions})

    def delete_other_marks(self, kept: int) -> None:
        """Delete all marks except one."""
        excluded = [{"has_id": [_build_name(self._marks, kept)]}]
        self._delete_matching(
            {"must": [_build_tenant_condition(self._marks)], "must_not": excluded}
        )

    def remove(self, chunks: Iterable[int]) -> None:
        """Delete the points of these chunks, if they exist."""
        for batch in _iterate_batches(chunks):
            names = [_build_name(self._tenant, int(chunk)) for chunk in batch]
            self._client.write("POST", f"{self._path}/points/delete", {"points": names})

    def clear(self) -> None:
        """Delete all points and marks of the tenant, if there is a collection."""
        if self.exists():
            for tenant in (self._marks, self._tenant):  # marks first, so a search in between fails
                self._delete_matching({"must": [_build_tenant_condition(tenant)]})

    def _delete_matching(self, points: Mapping[str, object]) -> None:
        """Delete the points that match a filter."""
        self._client.write("POST", f"{self._path}/points/delete", {"filter": points})

    def count(self) -> int:
        """Return the number of the tenant's points; 0 if there is no collection."""
        body = {"filter": {"must": [self._own_condition]}, "exact": True}
        reply = self._client.request("POST", f"{self._path}/points/count", body)
        return int(reply["count"]) if reply else 0

    def iterate_chunks(self) -> Iterator[int]:
        """Yield the numbers of all chunks that have a point, ascending."""
        start: object = None
        while True:
            body: dict[str, object] = {
                "filter": {"must": [self._own_condition]},
                "limit": 10 * BATCH_POINTS,
                "with_payload": False,
                "with_vector": False,
            }
            if start is not None:
                body["offset"] = start
            reply = self._client.request("POST", f"{self._path}/points/scroll", body)
            if not reply:
                return
            yield from (_parse_chunk(point["id"]) for point in reply["points"])
            start = reply["next_page_offset"]
            if start is None:
                return

    def search_vectors(
        self,
        vector: NDArray[np.float32],
        limit: int,
        documents: Sequence[int] | None,
        *,
        exact: bool,
        mark: int = 0,
    ) -> list[ScoredPoint]:
        """Return the points whose vectors have the largest products with a vector, best first.

        Args:
            vector: The query's vector.
            limit: The largest number of points to return.
            documents: The documents to search; `None` searches all.
            exact: Whether to compare all points instead of following the graph.
            mark: The mark that the collection must have; 0 asks for none.

        Raises:
            MissingMarkError: If the collection lacks the mark.
        """
        search = _build_search(
            query=[round(number, DIGITS) for number in vector.tolist()],
            using="dense",
            limit=limit,
            filter=self._build_filter(documents),
            params={"exact": True} if exact else {"hnsw_ef": max(EXPANSION_SEARCH, limit)},
        )
        return self._search(search, mark)

    def search_words(
        self,
        weights: Mapping[int, float],
        limit: int,
        documents: Sequence[int] | None,
        mark: int = 0,
    ) -> list[ScoredPoint]:
        """Return the points with the largest scores for the terms of a query, best first.

        The score is the sum over the terms of the query's weight times the point's weight.

        Args:
            weights: The query's weight of each term, by the number of the term.
            limit: The largest number of points to return.
            documents: The documents to search; `None` searches all.
            mark: The mark that the collection must have; 0 asks for none.

        Raises:
            MissingMarkError: If the collection lacks the mark.
        """
        search = _build_search(
            query=build_sparse_vector(weights),
            using="words",
            limit=limit,
            filter=self._build_filter(documents),
        )
        return self._search(search, mark)

    def _build_filter(self, documents: Sequence[int] | None) -> dict[str, object]:
        """Return the filter for the tenant's points in some documents; `None` for all."""
        must: list[object] = [self._own_condition]
        if documents is not None:
            must.append(
                {"key": "document", "match": {"any": [int(document) for document in documents]}}
            )
        return {"must": must}

    def _search(self, search: dict[str, object], mark: int) -> list[ScoredPoint]:
        """Search for points and for the mark in one request.

        Raises:
            MissingMarkError: If the collection lacks the mark.
        """
        searches = [search, *([self._build_mark_search(mark)] if mark else [])]
        replies = self._client.request(
            "POST", f"{self._path}/points/query/batch", {"searches": searches}
        )
        if mark and not (replies and replies[-1]["points"]):
            raise MissingMarkError
        points = replies[0]["points"] if replies else []
        return [ScoredPoint(_parse_chunk(point["id"]), float(point["score"])) for point in points]


_PAYLOAD_INDEXES: Mapping[str, Mapping[str, object]] = {
    "tenant": {"type": "uuid", "is_tenant": True},
    # Filters use the field; a graph within each document would be useless.
    "document": {"type": "integer", "lookup": True, "range": False, "enable_hnsw": False},
}


_T = TypeVar("_T")


def _iterate_batches(items: Iterable[_T]) -> Iterator[list[_T]]:
    """Yield the items in lists of at most `BATCH_POINTS`."""
    remaining = iter(items)
    while batch := list(islice(remaining, BATCH_POINTS)):
        yield batch


def build_sparse_vector(weights: Mapping[int, float]) -> dict[str, object]:
    """Return a sparse vector as JSON."""
    return {"indices": list(weights), "values": list(weights.values())}


def _build_search(**search: object) -> dict[str, object]:
    """Return a search whose reply holds only names and scores."""
    return {**search, "with_payload": False, "with_vector": False}


def _build_tenant_condition(tenant: uuid.UUID) -> dict[str, object]:
    """Return the condition that a point belongs to a tenant."""
    return {"key": "tenant", "match": {"value": str(tenant)}}


def compute_marks_tenant(tenant: uuid.UUID) -> uuid.UUID:
    """Return the tenant under which the marks of a tenant are stored."""
    return uuid.uuid5(tenant, "marks")


def _build_name(tenant: uuid.UUID, number: int) -> str:
    """Return the name of a point: the tenant's bits, then the number."""
    return str(uuid.UUID(int=(tenant.int & ~_CHUNK_BITS) | number))


def _parse_chunk(name: str) -> int:
    """Return the number of the chunk from a point's name."""
    return int(name[-8:], 16)
