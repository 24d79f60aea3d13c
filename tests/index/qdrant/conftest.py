"""A Qdrant server for tests: the one that `FATHOM_QDRANT_URL` names, or the engine of the wheel."""

import importlib.util
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fathom.index.qdrant.address import QdrantAddress, qdrant_address
from fathom.index.qdrant.client import QdrantClient
from fathom.llm.retry import RetryPolicy

REAL = os.environ.get("FATHOM_QDRANT_URL", "")
QUICK = RetryPolicy(tries=3, first_wait_s=0.05)


@dataclass
class EdgeServer:
    """`fathom.testing.qdrant_server` in a process of its own, which may be killed and started."""

    directory: Path
    shards: int = 1
    url: str = ""
    key: str = ""
    _child: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"
        module = [sys.executable, "-m", "fathom.testing.qdrant_server", str(self.directory)]
        self._child = subprocess.Popen(
            [*module, "--port", port, "--shards", str(self.shards), "--key-env", "TEST_KEY"],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TEST_KEY": self.key},
        )
        assert self._child.stdout is not None
        self.url = self._child.stdout.readline().strip()
        assert self.url, "the server did not start"

    def kill(self) -> None:
        if self._child is not None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
            assert self._child.stdout is not None
            self._child.stdout.close()
            self._child = None


def needs_edge() -> None:
    if importlib.util.find_spec("qdrant_edge") is None:
        pytest.skip("needs Qdrant's engine: pip install qdrant-edge-py")


@pytest.fixture
def edge_server(tmp_path: Path) -> Iterator[Callable[..., EdgeServer]]:
    """Starts servers that end with the test; never the real one, as these are killed."""
    needs_edge()
    started: list[EdgeServer] = []

    def start(**given: object) -> EdgeServer:
        server = EdgeServer(tmp_path / f"qdrant-{len(started)}", **given)  # type: ignore[arg-type]
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="session")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where to ask: the real cluster if one is named, else three shards in a child."""
    if REAL:
        yield REAL
        return
    needs_edge()
    server = EdgeServer(tmp_path_factory.mktemp("qdrant"), shards=3)
    server.start()
    yield server.url
    server.kill()


@pytest.fixture
def address(cluster_url: str) -> Iterator[QdrantAddress]:
    """Collections of the test's own, removed after it."""
    key_env = "FATHOM_QDRANT_KEY" if "FATHOM_QDRANT_KEY" in os.environ else ""
    name = f"test-{uuid.uuid4().hex[:12]}"
    given = qdrant_address(f"{cluster_url}/{name}", key_env=key_env)
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
