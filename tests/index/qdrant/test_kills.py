"""Qdrant and the writing process, killed at random instants under a whole index.

What was acknowledged is there once, with its words and its vector, and so is what was on its way
wholly or not at all.
"""

import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="needs the extra qdrant")
from tests.postgres_server import Server
from tests.qdrant_server import QUICK, EdgeServer

from fathom.errors import RunError
from fathom.index.base import IndexReader, IndexWriter
from fathom.index.engines import Index, locate_index, switch_workspace
from fathom.testing.index_entries import IDENTITY, axis, entry, put

ServerStarter = Callable[..., EdgeServer]
MANY = 30
WRITES = """
import sys
from pathlib import Path
from fathom.index.engines import locate_index
from fathom.testing.index_entries import IDENTITY, entry, put

with locate_index(sys.argv[1], Path()).open_writer(IDENTITY) as writer:
    for number in range(10_000):
        name = f"{sys.argv[2]}n{number % 7 if number % 3 else number}"
        put(writer, entry(name, [f"all words of {name}", f"{name} at {number}"], [[1], [0, 1]]))
        print(name, flush=True)
"""


def make_index(postgres: Server, edge_server: ServerStarter) -> tuple[str, Index]:
    server = edge_server(shards=2)
    workspace = switch_workspace(postgres.shared, f"kills-{uuid.uuid4().hex[:8]}")
    url = f"{workspace}+qdrant:{server.url}"
    return url, locate_index(url, Path())


def check_acknowledged(reader: IndexReader, acknowledged: set[str], most: int) -> None:
    """Check that every acknowledged document is found once, by words and by vectors."""
    stored = [document.id for document in reader.list_documents()]
    assert len(stored) == len(set(stored))
    assert acknowledged <= set(stored)
    assert len(stored) <= most
    chunks = reader.status().chunks
    assert chunks == 2 * len(stored)
    expected = {f"{name}#{ordinal}" for name in stored for ordinal in (0, 1)}
    worded = [match.chunk_id for match in reader.keyword_search("words title", k=10_000)]
    near = [match.chunk_id for match in reader.vector_search(axis(1, 1), k=10_000)]
    assert (sorted(worded), sorted(near)) == (sorted(expected), sorted(expected))


def kill_writers(url: str, index: Index, kills: int) -> int:
    drawn = random.Random(11)
    acknowledged: set[str] = set()
    with index.open_writer(IDENTITY):
        pass
    for kill in range(kills):
        acknowledged |= write_until_killed(url, f"k{kill}", drawn.uniform(0.0, 0.6))
        with index.open_reader() as reader:
            check_acknowledged(reader, acknowledged, len(acknowledged) + kill + 1)
        with index.open_writer(None) as writer:  # who writes next, writes on
            name = f"after{kill}"
            put(writer, entry(name, [f"all words of {name}", name], [[1], [0, 1]]))
            acknowledged.add(name)
            check_acknowledged(writer, acknowledged, len(acknowledged) + kill + 1)
    return len(acknowledged)


def write_until_killed(url: str, names: str, seconds: float) -> set[str]:
    """Return the names acknowledged by a process that was killed so long after the first one."""
    command = [sys.executable, "-c", WRITES, url, names]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child.stdout:
        first = child.stdout.readline()
        timer = threading.Timer(seconds, child.send_signal, [signal.SIGKILL])
        timer.start()
        lines = [first, *child.stdout]
    child.wait()
    timer.join()
    return {line.strip() for line in lines if line.endswith("\n")}


def write_until_it_fails(writer: IndexWriter, names: str, acknowledged: set[str]) -> None:
    for number in range(10_000):
        name = f"{names}n{number}"
        try:
            put(writer, entry(name, [f"all words of {name}", name], [[1], [0, 1]]))
        except RunError:
            return
        acknowledged.add(name)


def kill_qdrant(postgres: Server, edge_server: ServerStarter, kills: int) -> int:
    server, drawn = edge_server(shards=2), random.Random(5)
    workspace = switch_workspace(postgres.shared, f"kills-{uuid.uuid4().hex[:8]}")
    index = locate_index(f"{workspace}+qdrant:{server.url}", Path())
    acknowledged: set[str] = set()
    for kill in range(kills):
        with index.open_writer(IDENTITY) as writer:
            args = (writer, f"k{kill}", acknowledged)
            thread = threading.Thread(target=write_until_it_fails, args=args)
            thread.start()
            before, patience = len(acknowledged), time.monotonic() + 60
            while len(acknowledged) == before and time.monotonic() < patience:
                time.sleep(0.01)
            time.sleep(drawn.uniform(0.0, 0.6))
            server.kill()
            thread.join(60)
            assert not thread.is_alive()
            server.start()
            check_acknowledged(writer, acknowledged, len(acknowledged) + kill + 1)
    return len(acknowledged)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for a server that is gone."""
    monkeypatch.setattr("fathom.index.qdrant.client.RetryPolicy", lambda: QUICK)


def test_a_killed_writer_loses_nothing_acknowledged(
    postgres: Server, start_edge_server: ServerStarter
) -> None:
    url, index = make_index(postgres, start_edge_server)
    assert kill_writers(url, index, 1) > 0


def test_a_killed_qdrant_loses_nothing_acknowledged(
    postgres: Server, start_edge_server: ServerStarter
) -> None:
    assert kill_qdrant(postgres, start_edge_server, 1) > 0


@pytest.mark.slow
def test_a_writer_killed_at_30_random_instants_loses_nothing_acknowledged(
    postgres: Server, start_edge_server: ServerStarter, capsys: pytest.CaptureFixture[str]
) -> None:
    url, index = make_index(postgres, start_edge_server)
    written = kill_writers(url, index, MANY)
    with capsys.disabled():
        print(f"\n{MANY} kills of the writer: {written} documents, 0 lost, 0 double")  # noqa: T201


@pytest.mark.slow
def test_qdrant_killed_at_30_random_instants_loses_nothing_acknowledged(
    postgres: Server, start_edge_server: ServerStarter, capsys: pytest.CaptureFixture[str]
) -> None:
    written = kill_qdrant(postgres, start_edge_server, MANY)
    with capsys.disabled():
        print(f"\n{MANY} kills of Qdrant: {written} documents, 0 lost, 0 double")  # noqa: T201
