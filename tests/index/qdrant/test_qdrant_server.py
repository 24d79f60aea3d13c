"""`fathom.testing.qdrant_server` killed: what it acknowledged is there, once."""

import random
import threading
import time
from collections.abc import Callable
from uuid import UUID

import pytest
from tests.index.qdrant.conftest import unit_rows
from tests.qdrant_server import EdgeServer

from fathom.errors import RunError
from fathom.index.qdrant.address import parse_qdrant_address
from fathom.index.qdrant.client import QdrantClient
from fathom.index.qdrant.collection import TenantPoints
from fathom.index.qdrant.searches import QdrantVectors
from fathom.llm.retry import RetryPolicy

TENANT = UUID("5f0a7a52-7a3e-4e8e-9c36-9f3f3b0c0a11")
BATCH = 40


def killed_while_writing(server: EdgeServer, wait_s: float, first: int) -> tuple[int, int]:
    """Write from a number on until the server is dead; up to where it acknowledged, and asked."""
    acknowledged = asked = first
    timer = threading.Timer(wait_s, server.kill)
    with QdrantClient(parse_qdrant_address(server.url), policy=RetryPolicy(tries=1)) as client:
        near = QdrantVectors(TenantPoints(client, TENANT, 8))
        rows = unit_rows(BATCH, 8, first)
        timer.start()
        try:
            while True:
                asked += BATCH
                near.put((asked - BATCH + n, n, row) for n, row in enumerate(rows))
                acknowledged = asked
        except RunError:
            timer.join()
    return acknowledged, asked


def survives(server: EdgeServer, kills: int) -> int:
    """Kill the server so often; how many points were acknowledged, and are there once each."""
    chance, written = random.Random(7), 0
    with QdrantClient(parse_qdrant_address(server.url)) as client:
        TenantPoints(client, TENANT, 8).create_collection()
    for _ in range(kills):
        acknowledged, asked = killed_while_writing(server, chance.uniform(0.0, 0.25), written)
        server.start()
        with QdrantClient(parse_qdrant_address(server.url)) as client:
            points = TenantPoints(client, TENANT, 8)
            held = list(points.iterate_chunks())
            assert len(held) == len(set(held)) == points.count()
            assert set(range(acknowledged)) <= set(held) <= set(range(asked))
            # Whoever was not told writes it again; that doubles nothing.
            missing = [*range(acknowledged, asked)]
            rows = unit_rows(len(missing), 8, 1)
            QdrantVectors(points).put(zip(missing, missing, rows, strict=True))
            assert sorted(points.iterate_chunks()) == list(range(asked))
        written = asked
    return written


def test_killed_twice(edge_server: Callable[..., EdgeServer]) -> None:
    assert survives(edge_server(shards=2), 2) > 0


@pytest.mark.slow
def test_killed_at_30_random_instants(
    edge_server: Callable[..., EdgeServer], capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    written = survives(edge_server(shards=3), 30)
    with capsys.disabled():
        print(f"\n30 kills, {written} points, 0 lost, 0 double, {time.monotonic() - began:.0f} s")  # noqa: T201
