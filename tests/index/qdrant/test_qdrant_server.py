"""`tests.qdrant_edge` under kills: acknowledged points exist, once each."""

import random
import threading
import time
from collections.abc import Callable
from uuid import UUID

import pytest
from tests.index.qdrant.conftest import make_unit_rows
from tests.qdrant_server import EdgeServer

from fathom.errors import RunError
from fathom.index.qdrant.address import parse_qdrant_address
from fathom.index.qdrant.client import QdrantClient
from fathom.index.qdrant.collection import TenantPoints
from fathom.index.qdrant.searches import QdrantVectors
from fathom.llm.retry import RetryPolicy

TENANT = UUID("5f0a7a52-7a3e-4e8e-9c36-9f3f3b0c0a11")
BATCH = 40


def write_until_killed(server: EdgeServer, wait_s: float, first: int) -> tuple[int, int]:
    """Write from a number on until the server is dead; return the acknowledged and the sent
    number.
    """
    acknowledged = sent = first
    timer = threading.Timer(wait_s, server.kill)
    with QdrantClient(parse_qdrant_address(server.url), policy=RetryPolicy(tries=1)) as client:
        near = QdrantVectors(TenantPoints(client, TENANT, 8))
        rows = make_unit_rows(BATCH, 8, first)
        timer.start()
        try:
            while True:
                sent += BATCH
                near.put((sent - BATCH + n, n, row) for n, row in enumerate(rows))
                acknowledged = sent
        except RunError:
            timer.join()
    return acknowledged, sent


def kill_repeatedly(server: EdgeServer, kills: int) -> int:
    """Kill the server repeatedly and check that the acknowledged points exist once; return their
    number.
    """
    chance, written = random.Random(7), 0
    with QdrantClient(parse_qdrant_address(server.url)) as client:
        TenantPoints(client, TENANT, 8).create_collection()
    for _ in range(kills):
        acknowledged, sent = write_until_killed(server, chance.uniform(0.0, 0.25), written)
        server.start()
        with QdrantClient(parse_qdrant_address(server.url)) as client:
            points = TenantPoints(client, TENANT, 8)
            held = list(points.iterate_chunks())
            assert len(held) == len(set(held)) == points.count()
            assert set(range(acknowledged)) <= set(held) <= set(range(sent))
            # Whoever was not told writes it again; that doubles nothing.
            missing = [*range(acknowledged, sent)]
            rows = make_unit_rows(len(missing), 8, 1)
            QdrantVectors(points).put(zip(missing, missing, rows, strict=True))
            assert sorted(points.iterate_chunks()) == list(range(sent))
        written = sent
    return written


def test_two_kills_lose_nothing_acknowledged(start_edge_server: Callable[..., EdgeServer]) -> None:
    assert kill_repeatedly(start_edge_server(shards=2), 2) > 0


@pytest.mark.slow
def test_thirty_kills_lose_nothing_acknowledged(
    start_edge_server: Callable[..., EdgeServer], capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    written = kill_repeatedly(start_edge_server(shards=3), 30)
    with capsys.disabled():
        print(f"\n30 kills, {written} points, 0 lost, 0 double, {time.monotonic() - began:.0f} s")  # noqa: T201
