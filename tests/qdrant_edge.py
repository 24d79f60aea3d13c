"""A small Qdrant server: Qdrant's own engine, in this process, answers Fathom's requests.

    python -m tests.qdrant_edge DIRECTORY --port 6333 --shards 4

It is meant for trials and tests without a cluster: it needs `pip install qdrant-edge-py`, listens
on 127.0.0.1 alone, and refuses every request that Fathom does not make. Scores, filters and the
write-ahead log are the real ones; there is one process and no replica. Several shards are searched
one by one and their hits merged, as in a cluster.
"""

import argparse
import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from typing_extensions import override

import qdrant_edge as edge

Json = dict[str, Any]
LAYOUT = "layout.json"
IDLE_S = 0.3
"""The seconds without a write after which segments are optimized."""
WAITED = {"wait": "true", "ordering": "strong"}
"""The parameters of a write. A write that is not waited for may be lost, so it is refused."""


class RefusedRequest(Exception):
    """A request that Fathom should not make, with the status that answers it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def check_fields(value: object, required: Iterable[str], optional: Iterable[str] = ()) -> Json:
    """Check that the value is an object with these fields and no others, and return it.

    Raises:
        RefusedRequest: If it is not.
    """
    required = set(required)
    if not isinstance(value, dict):
        raise RefusedRequest(400, f"Format error in JSON body: {value!r} is no object")
    for name in sorted(required - set(value)):
        raise RefusedRequest(400, f"Format error in JSON body: missing field `{name}`")
    for name in sorted(set(value) - required - set(optional)):
        raise RefusedRequest(400, f"Format error in JSON body: unknown field `{name}`")
    return value


class Collection:
    """The shards of one collection, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open the shards in the folder; create those that are missing."""
        self.layout: Json = json.loads((folder / LAYOUT).read_bytes())
        self.indexes: Json = {}
        config = _build_config(self.layout)
        self.shards = []
        for number in range(self.layout["shard_number"]):
            shard = folder / f"shard-{number}"
            if shard.is_dir() and any(shard.iterdir()):
                self.shards.append(edge.EdgeShard.load(str(shard)))
            else:
                shard.mkdir(exist_ok=True)
                self.shards.append(edge.EdgeShard.create(str(shard), config))
        self._writing = threading.Lock()
        self._wrote = threading.Event()
        threading.Thread(target=self._tidy, daemon=True).start()

    def _tidy(self) -> None:
        """Build graphs of neighbours while nothing is being written, as Qdrant does."""
        while self._wrote.wait():
            self._wrote.clear()
            if not self._wrote.wait(IDLE_S):
                for shard in self.shards:
                    while not self._wrote.is_set() and shard.optimize():
                        """Optimize again, until few large segments are left."""

    def update(self, operations: Mapping[int, edge.UpdateOperation]) -> Json:
        """Apply one operation a shard."""
        with self._writing:
            for number, operation in operations.items():
                self.shards[number].update(operation)
        self._wrote.set()
        return {"operation_id": 0, "status": "completed"}

    def assign_shards(self, names: Iterable[str]) -> dict[int, list[str]]:
        """Return the points of each shard."""
        shards: dict[int, list[str]] = {}
        for name in names:
            # An id decides its shard by itself, so that a later write finds the same one.
            shards.setdefault(uuid.UUID(name).int % len(self.shards), []).append(name)
        return shards


def _build_config(layout: Json) -> edge.EdgeConfig:
    vectors = {
        name: edge.EdgeVectorParams(
            size=vector["size"],
            distance=getattr(edge.Distance, vector["distance"]),
            datatype=getattr(edge.VectorStorageDatatype, vector["datatype"].capitalize()),
        )
        for name, vector in layout.get("vectors", {}).items()
    }
    hnsw = layout.get("hnsw_config")
    return edge.EdgeConfig(
        vectors=vectors,
        sparse_vectors={name: edge.EdgeSparseVectorParams() for name in layout["sparse_vectors"]}
        if "sparse_vectors" in layout
        else None,
        on_disk_payload=layout["on_disk_payload"],
        hnsw_config=edge.HnswIndexConfig(full_scan_threshold=10_000, **hnsw) if hnsw else None,
    )


class CollectionStore:
    """All collections, in a folder, with a method for each request."""

    def __init__(self, folder: Path, shards: int) -> None:
        """Open the collections in the folder.

        Args:
            folder: The folder, with a folder below it for each collection.
            shards: Number of shards of a collection whose request does not name one.
        """
        self._folder = folder
        self._shards = shards
        self._lock = threading.Lock()
        self._open = {
            path.parent.name: Collection(path.parent) for path in folder.glob(f"*/{LAYOUT}")
        }

    def find_collection(self, name: str) -> Collection:
        """Return the collection of this name.

        Raises:
            RefusedRequest: If there is none.
        """
        collection = self._open.get(name)
        if collection is None:
            raise RefusedRequest(404, f"Not found: Collection `{name}` doesn't exist!")
        return collection

    def create_collection(self, name: str, body: object) -> bool:
        """Answer `PUT /collections/NAME`."""
        optional = (
            "vectors sparse_vectors hnsw_config shard_number replication_factor "
            "write_consistency_factor"
        )
        request = check_fields(body, ["on_disk_payload"], optional.split())
        layout: Json = {"shard_number": self._shards, **request}
        for vector in layout.get("vectors", {}).values():
            check_fields(vector, ["size", "distance", "datatype"])
        for sparse in layout.get("sparse_vectors", {}).values():
            check_fields(sparse, [])
        check_fields(layout.get("hnsw_config", {}), [], ["m", "payload_m", "ef_construct"])
        with self._lock:
            if name in self._open:
                raise RefusedRequest(409, f"Wrong input: Collection `{name}` already exists!")
            folder = self._folder / name
            folder.mkdir(exist_ok=True)
            # A collection exists once its layout does, so the layout appears whole or not at all.
            unfinished = folder / "part"
            unfinished.write_text(json.dumps(layout))
            unfinished.replace(folder / LAYOUT)
            self._open[name] = Collection(folder)
        return True

    def describe_collection(self, name: str) -> Json:
        """Answer `GET /collections/NAME`."""
        collection = self.find_collection(name)
        params = {key: value for key, value in collection.layout.items() if key != "hnsw_config"}
        return {
            "status": "green",
            "points_count": sum(shard.info().points_count for shard in collection.shards),
            "config": {"params": params, "hnsw_config": collection.layout.get("hnsw_config", {})},
            "payload_schema": collection.indexes,
        }

    def create_index(self, name: str, body: object) -> Json:
        """Answer `PUT /collections/NAME/index`."""
        collection = self.find_collection(name)
        request = check_fields(body, ["field_name", "field_schema"])
        schema = check_fields(
            request["field_schema"], ["type"], ["is_tenant", "lookup", "range", "enable_hnsw"]
        )
        kinds = {"uuid": edge.UuidIndexParams, "integer": edge.IntegerIndexParams}
        options = {key: value for key, value in schema.items() if key != "type"}
        operation = edge.UpdateOperation.create_field_index(
            request["field_name"], kinds[schema["type"]](**options)
        )
        collection.indexes[request["field_name"]] = {"data_type": schema["type"], "params": schema}
        return collection.update(dict.fromkeys(range(len(collection.shards)), operation))

    def put_points(self, name: str, body: object) -> Json:
        """Answer `PUT /collections/NAME/points`."""
        collection = self.find_collection(name)
        requests = {
            point["id"]: check_fields(point, ["id", "vector", "payload"])
            for point in check_fields(body, ["points"])["points"]
        }
        points = {name: _build_point(point, collection.layout) for name, point in requests.items()}
        return collection.update(
            {
                shard: edge.UpdateOperation.upsert_points([points[name] for name in names])
                for shard, names in collection.assign_shards(requests).items()
            }
        )

    def delete_points(self, name: str, body: object) -> Json:
        """Answer `POST /collections/NAME/points/delete`."""
        collection = self.find_collection(name)
        request = check_fields(body, [], ["points", "filter"])
        if set(request) == {"filter"}:
            operation = edge.UpdateOperation.delete_points_by_filter(
                _build_filter(request["filter"])
            )
            return collection.update(dict.fromkeys(range(len(collection.shards)), operation))
        by_shard = collection.assign_shards(check_fields(request, ["points"])["points"])
        return collection.update(
            {
                shard: edge.UpdateOperation.delete_points(list(map(uuid.UUID, names)))
                for shard, names in by_shard.items()
            }
        )

    def count_points(self, name: str, body: object) -> Json:
        """Answer `POST /collections/NAME/points/count`."""
        collection = self.find_collection(name)
        request = check_fields(body, ["filter", "exact"])
        count = edge.CountRequest(filter=_build_filter(request["filter"]), exact=request["exact"])
        return {"count": sum(shard.count(count) for shard in collection.shards)}

    def scroll_points(self, name: str, body: object) -> Json:
        """Answer `POST /collections/NAME/points/scroll`."""
        collection = self.find_collection(name)
        request = check_fields(body, ["filter", "limit", "with_payload", "with_vector"], ["offset"])
        first = uuid.UUID(request["offset"]) if "offset" in request else None
        # One record more than asked for tells whether there is a next page, and where it begins.
        scroll = edge.ScrollRequest(
            offset=first,
            limit=request["limit"] + 1,
            filter=_build_filter(request["filter"]),
            with_payload=request["with_payload"],
            with_vector=request["with_vector"],
        )
        records = [record for shard in collection.shards for record in shard.scroll(scroll)[0]]
        records.sort(key=lambda record: uuid.UUID(str(record.id)).int)
        page, rest = records[: request["limit"]], records[request["limit"] :]
        return {
            "points": [{"id": str(record.id)} for record in page],
            "next_page_offset": str(rest[0].id) if rest else None,
        }

    def query_points(self, name: str, body: object) -> Json:
        """Answer `POST /collections/NAME/points/query`."""
        [reply] = self._run_queries(name, [_build_query(body)])
        return reply

    def query_points_batch(self, name: str, body: object) -> list[Json]:
        """Answer `POST /collections/NAME/points/query/batch`."""
        searches = check_fields(body, ["searches"])["searches"]
        return self._run_queries(name, [_build_query(search) for search in searches])

    def _run_queries(self, name: str, queries: list[edge.QueryRequest]) -> list[Json]:
        """Run the queries in one pass over the shards, and merge the hits of each."""
        batch = edge.QueryBatchRequest(queries)
        by_shard = [shard.query_batch(batch) for shard in self.find_collection(name).shards]
        return [
            {"points": [_point_to_json(p) for p in nlargest(query.limit, chain(*hits), _get_score)]}
            for query, hits in zip(queries, zip(*by_shard, strict=True), strict=True)
        ]


_get_score = attrgetter("score")


def _build_query(body: object) -> edge.QueryRequest:
    request = check_fields(
        body, ["filter", "limit", "with_payload", "with_vector"], ["query", "using", "params"]
    )
    query = None
    if "query" in request:
        query = edge.Query.Nearest(_build_vector(request["query"]), using=request["using"])
    return edge.QueryRequest(
        limit=request["limit"],
        query=query,
        filter=_build_filter(request["filter"]),
        params=edge.SearchParams(
            **check_fields(request.get("params", {}), [], ["exact", "hnsw_ef"])
        ),
        with_payload=request["with_payload"],
        with_vector=request["with_vector"],
    )


def _build_point(point: Json, layout: Json) -> edge.Point:
    if any(
        len(point["vector"].get(name, range(kind["size"]))) != kind["size"]
        for name, kind in layout.get("vectors", {}).items()
    ):
        raise RefusedRequest(400, "Wrong input: Vector dimension error")
    vectors = {name: _build_vector(value) for name, value in point["vector"].items()}
    return edge.Point(uuid.UUID(point["id"]), vectors, point["payload"])


def _build_vector(value: object) -> Any:
    if isinstance(value, list):
        return value
    sparse = check_fields(value, ["indices", "values"])
    return edge.SparseVector(sparse["indices"], sparse["values"])


def _build_filter(value: object) -> edge.Filter:
    filters = check_fields(value, ["must"], ["must_not"])
    # A request without a tenant would reach the points of all workspaces.
    if not any(condition.get("key") == "tenant" for condition in filters["must"]):
        raise RefusedRequest(400, "Wrong input: no tenant in the filter; Fathom always names one")
    return edge.Filter(
        must=[_build_condition(condition) for condition in filters["must"]],
        must_not=[_build_condition(condition) for condition in filters.get("must_not", [])],
    )


def _build_condition(value: Json) -> Any:
    if "has_id" in value:
        ids = check_fields(value, ["has_id"])["has_id"]
        return edge.HasIdCondition({uuid.UUID(point) for point in ids})
    match = check_fields(check_fields(value, ["key", "match"])["match"], [], ["value", "any"])
    if "any" in match:
        return edge.FieldCondition(value["key"], match=edge.MatchAny(match["any"]))
    return edge.FieldCondition(value["key"], match=edge.MatchValue(match["value"]))


def _point_to_json(point: edge.ScoredPoint) -> Json:
    return {"id": str(point.id), "version": point.version, "score": point.score}


Route = Callable[[CollectionStore, str, object], object]
READS: Mapping[tuple[str, str], Route] = {
    ("GET", ""): lambda store, name, _: store.describe_collection(name),
    ("PUT", ""): CollectionStore.create_collection,
    ("POST", "/points/query"): CollectionStore.query_points,
    ("POST", "/points/query/batch"): CollectionStore.query_points_batch,
    ("POST", "/points/count"): CollectionStore.count_points,
    ("POST", "/points/scroll"): CollectionStore.scroll_points,
}
WRITES: Mapping[tuple[str, str], Route] = {
    ("PUT", "/index"): CollectionStore.create_index,
    ("PUT", "/points"): CollectionStore.put_points,
    ("POST", "/points/delete"): CollectionStore.delete_points,
}


class Handler(BaseHTTPRequestHandler):
    """The handler of requests; each server has a subclass with its own `store` and `key`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Without a buffer each header would be sent in a packet of its own.
    wbufsize = 1 << 16
    store: CollectionStore
    key: str = ""

    @override
    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        """Answer a request of any method; the base class calls this by its name."""
        self._answer()

    do_PUT = do_POST = do_GET  # noqa: N815 - as the base class names them

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        started = time.perf_counter()
        body: Json
        try:
            status, body = 200, {"result": self._run_route(content), "status": "ok"}
        except RefusedRequest as refusal:
            status, body = refusal.status, {"status": {"error": str(refusal)}}
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            status, body = 400, {"status": {"error": f"{type(error).__name__}: {error}"}}
        reply = json.dumps(body | {"time": time.perf_counter() - started}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def _run_route(self, content: bytes) -> object:
        if self.key and self.headers.get("api-key") != self.key:
            raise RefusedRequest(401, "Must provide an API key or an Authorization bearer token")
        url = urlsplit(self.path)
        _, top, name, *rest = [*url.path.split("/"), ""]
        key = self.command, "".join(f"/{segment}" for segment in rest if segment)
        params = dict(parse_qsl(url.query))
        route = READS.get(key) if not params else WRITES.get(key)
        if top != "collections" or route is None or params not in ({}, WAITED):
            raise RefusedRequest(405, f"Fathom does not ask {self.command} {self.path}")
        return route(self.store, name, json.loads(content) if content else None)


class QdrantServer(ThreadingHTTPServer):
    """The HTTP server; it reports no clients that hung up."""

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until killed; the first line of stdout is the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--port", type=int, default=6333, help="0: any free port")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--key-env", default="", help="environment variable with the API key")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    attributes = {
        "store": CollectionStore(options.directory, options.shards),
        "key": os.environ.get(options.key_env, ""),
    }
    # The library makes a handler for each request, so its settings are attributes of its class.
    handler = type("BoundHandler", (Handler,), attributes)
    server = QdrantServer(("127.0.0.1", options.port), handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
