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
def start_edge_server(tmp_path: Path) -> Iterator[Callable[..., EdgeServer]]:
    """Return a function that starts servers for one test; never the real one, since these are
    killed.
    """
    skip_without_edge()
    started: list[EdgeServer] = []

    def start_server(**options: object) -> EdgeServer:
        server = EdgeServer(tmp_path / f"qdrant-{len(started)}", **options)  # type: ignore[arg-type]
        started.append(server)
        server.start()
        return server

    yield start_server
    for server in started:
        server.kill()


@pytest.fixture
def address(cluster_url: str) -> Iterator[QdrantAddress]:
    """Yield collections for one test, and remove them after it."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    parsed = parse_qdrant_address(f"{cluster_url}/{name}", key_env=KEY_ENV)
    yield parsed
    with suppress(Exception):
        client = QdrantClient(parsed, policy=QUICK)
        for suffix in ("words", "8"):
            client.request("DELETE", f"/collections/{name}-{suffix}")
        client.close()


@pytest.fixture
def client(address: QdrantAddress) -> Iterator[QdrantClient]:
    with QdrantClient(address, policy=QUICK) as opened:
        yield opened


def make_unit_rows(count: int, dimension: int, seed: int) -> NDArray[np.float16]:
    """Return vectors of unit length."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    halves: NDArray[np.float16] = (rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float16)
    return halves
