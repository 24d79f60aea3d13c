import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.qdrant_server import KEY_ENV, QUICK, EdgeServer, skip_without_edge

from fathom.index.qdrant.address import QdrantAddress, parse_qdrant_address
from fathom.index.qdrant.client import QdrantClient


@pytest.fixture
def edge_server(tmp_path: Path) -> Iterator[Callable[..., EdgeServer]]:
    """Starts servers that end with the test; never the real one, as these are killed."""
    skip_without_edge()
    started: list[EdgeServer] = []

    def start(**given: object) -> EdgeServer:
        server = EdgeServer(tmp_path / f"qdrant-{len(started)}", **given)  # type: ignore[arg-type]
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def address(cluster_url: str) -> Iterator[QdrantAddress]:
    """Collections of the test's own, removed after it."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    given = parse_qdrant_address(f"{cluster_url}/{name}", key_env=KEY_ENV)
    yield given
    with suppress(Exception):
        client = QdrantClient(given, policy=QUICK)
        for suffix in ("words", "8"):
            client.request("DELETE", f"/collections/{name}-{suffix}")
        client.close()


@pytest.fixture
def client(address: QdrantAddress) -> Iterator[QdrantClient]:
    with QdrantClient(address, policy=QUICK) as made:
        yield made


def unit_rows(count: int, dimension: int, seed: int) -> NDArray[np.float16]:
    """Vectors of unit length."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    halves: NDArray[np.float16] = (rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float16)
    return halves
