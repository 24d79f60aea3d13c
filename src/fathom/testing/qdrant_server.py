"""The requests that Fathom makes to Qdrant, answered by Qdrant's own engine in this process.

    python -m fathom.testing.qdrant_server DIRECTORY --port 6333 --shards 4

For trials and tests where no cluster is: it needs `pip install qdrant-edge-py`, listens on
127.0.0.1 alone, and refuses whatever Fathom does not ask. Scores, filters and the write-ahead log
are the real ones; there is one process and no replica. Several shards are searched one by one and
merged, as a cluster does it.
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

import qdrant_edge as edge

Json = dict[str, Any]
LAYOUT = "layout.json"
IDLE_S = 0.3
WAITED = {"wait": "true", "ordering": "strong"}
"""A write that is not waited for may be lost: it is refused."""


class Refused(Exception):
    """A request that Fathom should not make, with the status that answers it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def fields(value: object, required: Iterable[str], optional: Iterable[str] = ()) -> Json:
    """Accept an object that has these fields and no others.

    Raises:
        Refused: If it is none.
    """
    required = set(required)
    if not isinstance(value, dict):
        raise Refused(400, f"Format error in JSON body: {value!r} is no object")
    for name in sorted(required - set(value)):
        raise Refused(400, f"Format error in JSON body: missing field `{name}`")
    for name in sorted(set(value) - required - set(optional)):
        raise Refused(400, f"Format error in JSON body: unknown field `{name}`")
    return value


class Collection:
    """The shards of one collection, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open what is there."""
        self.layout: Json = json.loads((folder / LAYOUT).read_bytes())
        self.indexes: Json = {}
        config = _config(self.layout)
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
        """Build graphs of neighbours whenever nothing is being written, as Qdrant does."""
        while self._wrote.wait():
            self._wrote.clear()
            if not self._wrote.wait(IDLE_S):
                for shard in self.shards:
                    while not self._wrote.is_set() and shard.optimize():
                        """Once more, until few large segments are left."""

    def update(self, operations: Mapping[int, edge.UpdateOperation]) -> Json:
        """Apply one operation a shard."""
        with self._writing:
            for number, operation in operations.items():
                self.shards[number].update(operation)
        self._wrote.set()
        return {"operation_id": 0, "status": "completed"}

    def split(self, names: Iterable[str]) -> dict[int, list[str]]:
        """Which shard each point belongs to."""
        parts: dict[int, list[str]] = {}
        for name in names:
            parts.setdefault(uuid.UUID(name).int % len(self.shards), []).append(name)
        return parts


def _config(layout: Json) -> edge.EdgeConfig:
    vectors = {
        name: edge.EdgeVectorParams(
            size=one["size"],
            distance=getattr(edge.Distance, one["distance"]),
            datatype=getattr(edge.VectorStorageDatatype, one["datatype"].capitalize()),
        )
        for name, one in layout.get("vectors", {}).items()
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


class Store:
    """All collections, in a folder; each request is a method."""

    def __init__(self, folder: Path, shards: int) -> None:
        """Open what is there; `shards` are those of a collection that does not say."""
        self._folder = folder
        self._shards = shards
        self._lock = threading.Lock()
        self._open = {
            path.parent.name: Collection(path.parent) for path in folder.glob(f"*/{LAYOUT}")
        }

    def collection(self, name: str) -> Collection:
        """The one of this name.

        Raises:
            Refused: If there is none.
        """
        found = self._open.get(name)
        if found is None:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return found

    def made(self, name: str, body: object) -> bool:
        """`PUT /collections/NAME`."""
        optional = (
            "vectors sparse_vectors hnsw_config shard_number replication_factor "
            "write_consistency_factor"
        )
        told = fields(body, ["on_disk_payload"], optional.split())
        layout: Json = {"shard_number": self._shards, **told}
        for one in layout.get("vectors", {}).values():
            fields(one, ["size", "distance", "datatype"])
        for one in layout.get("sparse_vectors", {}).values():
            fields(one, [])
        fields(layout.get("hnsw_config", {}), [], ["m", "payload_m", "ef_construct"])
        with self._lock:
            if name in self._open:
                raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
            folder = self._folder / name
            folder.mkdir(exist_ok=True)
            part = folder / "part"
            part.write_text(json.dumps(layout))
            part.replace(folder / LAYOUT)
            self._open[name] = Collection(folder)
        return True

    def told(self, name: str) -> Json:
        """`GET /collections/NAME`."""
        one = self.collection(name)
        params = {key: value for key, value in one.layout.items() if key != "hnsw_config"}
        return {
            "status": "green",
            "points_count": sum(shard.info().points_count for shard in one.shards),
            "config": {"params": params, "hnsw_config": one.layout.get("hnsw_config", {})},
            "payload_schema": one.indexes,
        }

    def indexed(self, name: str, body: object) -> Json:
        """`PUT /collections/NAME/index`."""
        one, told = self.collection(name), fields(body, ["field_name", "field_schema"])
        schema = fields(
            told["field_schema"], ["type"], ["is_tenant", "lookup", "range", "enable_hnsw"]
        )
        kinds = {"uuid": edge.UuidIndexParams, "integer": edge.IntegerIndexParams}
        given = {key: value for key, value in schema.items() if key != "type"}
        made = edge.UpdateOperation.create_field_index(
            told["field_name"], kinds[schema["type"]](**given)
        )
        one.indexes[told["field_name"]] = {"data_type": schema["type"], "params": schema}
        return one.update(dict.fromkeys(range(len(one.shards)), made))

    def put(self, name: str, body: object) -> Json:
        """`PUT /collections/NAME/points`."""
        one = self.collection(name)
        points = {
            point["id"]: fields(point, ["id", "vector", "payload"])
            for point in fields(body, ["points"])["points"]
        }
        made = {name: _point(point, one.layout) for name, point in points.items()}
        return one.update(
            {
                shard: edge.UpdateOperation.upsert_points([made[name] for name in names])
                for shard, names in one.split(points).items()
            }
        )

    def removed(self, name: str, body: object) -> Json:
        """`POST /collections/NAME/points/delete`."""
        one, told = self.collection(name), fields(body, [], ["points", "filter"])
        if set(told) == {"filter"}:
            operation = edge.UpdateOperation.delete_points_by_filter(_filter(told["filter"]))
            return one.update(dict.fromkeys(range(len(one.shards)), operation))
        parts = one.split(fields(told, ["points"])["points"])
        return one.update(
            {
                shard: edge.UpdateOperation.delete_points(list(map(uuid.UUID, names)))
                for shard, names in parts.items()
            }
        )

    def counted(self, name: str, body: object) -> Json:
        """`POST /collections/NAME/points/count`."""
        one, told = self.collection(name), fields(body, ["filter", "exact"])
        asked = edge.CountRequest(filter=_filter(told["filter"]), exact=told["exact"])
        return {"count": sum(shard.count(asked) for shard in one.shards)}

    def scrolled(self, name: str, body: object) -> Json:
        """`POST /collections/NAME/points/scroll`."""
        one = self.collection(name)
        told = fields(body, ["filter", "limit", "with_payload", "with_vector"], ["offset"])
        first = uuid.UUID(told["offset"]) if "offset" in told else None
        asked = edge.ScrollRequest(
            offset=first,
            limit=told["limit"] + 1,
            filter=_filter(told["filter"]),
            with_payload=told["with_payload"],
            with_vector=told["with_vector"],
        )
        found = [record for shard in one.shards for record in shard.scroll(asked)[0]]
        found.sort(key=lambda record: uuid.UUID(str(record.id)).int)
        page, rest = found[: told["limit"]], found[told["limit"] :]
        return {
            "points": [{"id": str(one.id)} for one in page],
            "next_page_offset": str(rest[0].id) if rest else None,
        }

    def queried(self, name: str, body: object) -> Json:
        """`POST /collections/NAME/points/query`."""
        [found] = self._queried(name, [_asked(body)])
        return found

    def queried_together(self, name: str, body: object) -> list[Json]:
        """`POST /collections/NAME/points/query/batch`."""
        return self._queried(name, [_asked(one) for one in fields(body, ["searches"])["searches"]])

    def _queried(self, name: str, asked: list[edge.QueryRequest]) -> list[Json]:
        """In one pass over the shards, whose results are merged."""
        batch = edge.QueryBatchRequest(asked)
        by_shard = [shard.query_batch(batch) for shard in self.collection(name).shards]
        return [
            {"points": [_scored(p) for p in nlargest(one.limit, chain(*found), _score)]}
            for one, found in zip(asked, zip(*by_shard, strict=True), strict=True)
        ]


_score = attrgetter("score")


def _asked(body: object) -> edge.QueryRequest:
    told = fields(
        body, ["filter", "limit", "with_payload", "with_vector"], ["query", "using", "params"]
    )
    query = None
    if "query" in told:
        query = edge.Query.Nearest(_vector(told["query"]), using=told["using"])
    return edge.QueryRequest(
        limit=told["limit"],
        query=query,
        filter=_filter(told["filter"]),
        params=edge.SearchParams(**fields(told.get("params", {}), [], ["exact", "hnsw_ef"])),
        with_payload=told["with_payload"],
        with_vector=told["with_vector"],
    )


def _point(point: Json, layout: Json) -> edge.Point:
    if any(
        len(point["vector"].get(name, range(kind["size"]))) != kind["size"]
        for name, kind in layout.get("vectors", {}).items()
    ):
        raise Refused(400, "Wrong input: Vector dimension error")
    vectors = {name: _vector(value) for name, value in point["vector"].items()}
    return edge.Point(uuid.UUID(point["id"]), vectors, point["payload"])


def _vector(value: object) -> Any:  # noqa: ANN401 - of the engine's
    if isinstance(value, list):
        return value
    sparse = fields(value, ["indices", "values"])
    return edge.SparseVector(sparse["indices"], sparse["values"])


def _filter(value: object) -> edge.Filter:
    told = fields(value, ["must"], ["must_not"])
    if not any(one.get("key") == "tenant" for one in told["must"]):
        raise Refused(400, "Wrong input: whose points? Fathom always names a tenant")
    return edge.Filter(
        must=[_condition(one) for one in told["must"]],
        must_not=[_condition(one) for one in told.get("must_not", [])],
    )


def _condition(value: Json) -> Any:  # noqa: ANN401 - of the engine's
    if "has_id" in value:
        return edge.HasIdCondition({uuid.UUID(one) for one in fields(value, ["has_id"])["has_id"]})
    match = fields(fields(value, ["key", "match"])["match"], [], ["value", "any"])
    if "any" in match:
        return edge.FieldCondition(value["key"], match=edge.MatchAny(match["any"]))
    return edge.FieldCondition(value["key"], match=edge.MatchValue(match["value"]))


def _scored(point: edge.ScoredPoint) -> Json:
    return {"id": str(point.id), "version": point.version, "score": point.score}


Route = Callable[[Store, str, object], object]
READS: Mapping[tuple[str, str], Route] = {
    ("GET", ""): lambda store, name, _: store.told(name),
    ("PUT", ""): Store.made,
    ("POST", "/points/query"): Store.queried,
    ("POST", "/points/query/batch"): Store.queried_together,
    ("POST", "/points/count"): Store.counted,
    ("POST", "/points/scroll"): Store.scrolled,
}
WRITES: Mapping[tuple[str, str], Route] = {
    ("PUT", "/index"): Store.indexed,
    ("PUT", "/points"): Store.put,
    ("POST", "/points/delete"): Store.removed,
}


class Handler(BaseHTTPRequestHandler):
    """Answers requests; the class is made anew for each server, with its `store` and `key`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    store: Store
    key: str = ""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """See `BaseHTTPRequestHandler`."""
        self._answer()

    do_PUT = do_POST = do_GET  # noqa: N815 - as the base class names them

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        began = time.perf_counter()
        told: Json
        try:
            status, told = 200, {"result": self._result(content), "status": "ok"}
        except Refused as refused:
            status, told = refused.status, {"status": {"error": str(refused)}}
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            status, told = 400, {"status": {"error": f"{type(error).__name__}: {error}"}}
        reply = json.dumps(told | {"time": time.perf_counter() - began}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def _result(self, content: bytes) -> object:
        if self.key and self.headers.get("api-key") != self.key:
            raise Refused(401, "Must provide an API key or an Authorization bearer token")
        parts = urlsplit(self.path)
        _, top, name, *rest = [*parts.path.split("/"), ""]
        asked = self.command, "".join(f"/{one}" for one in rest if one)
        params = dict(parse_qsl(parts.query))
        route = READS.get(asked) if not params else WRITES.get(asked)
        if top != "collections" or route is None or params not in ({}, WAITED):
            raise Refused(405, f"Fathom does not ask {self.command} {self.path}")
        return route(self.store, name, json.loads(content) if content else None)


class Server(ThreadingHTTPServer):
    """Says nothing of whoever hung up."""

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as inherited
        """See `BaseServer.handle_error`."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until killed; says where on the first line of stdout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--port", type=int, default=6333, help="0: any that is free")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--key-env", default="", help="variable with the key that is asked for")
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    own = {"store": Store(given.directory, given.shards), "key": os.environ.get(given.key_env, "")}
    server = Server(("127.0.0.1", given.port), type("Own", (Handler,), own))
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
