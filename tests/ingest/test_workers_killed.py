"""The writing process or one of its workers is killed: nothing is lost, nothing stored twice.

`KILLS` and, of a cluster of Ray, `RAY_KILLS` set how many are killed, half of them workers.
"""

import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.ingest.test_workers import open_engine

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("KILLS", "20"))
RAY_KILLS = int(os.environ.get("RAY_KILLS", "4"))
DOCUMENTS, RECORDS = 150, 200
LIMIT_S = 400.0
"""For one ingestion; whatever it started is ended then."""
CHILD = """
import sys
from pathlib import Path
from tests.ingest.test_workers import open_engine
with open_engine(Path(sys.argv[1]), sys.argv[2]) as engine:
    engine.ingest([Path(sys.argv[3])])
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(DOCUMENTS):
        words = f"Notice {n}. " + f"Berth {n} is free on day {n % 7}. " * 30
        (folder / f"{n:03}.md").write_text(words)
    rows = [f'{{"_id": "r{n}", "text": "Row {n} of many."}}' for n in range(RECORDS)]
    (folder / "rows.jsonl").write_text("\n".join(rows))
    return folder


def start_ingestion(place: Path, workers: str, docs: Path) -> subprocess.Popen[bytes]:
    with place.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", CHILD, str(place), workers, str(docs)],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            stderr=log,
        )


def list_workers(pid: int) -> set[int]:
    """Return the process ids of the workers of a process."""
    pids = set()
    with suppress(OSError):  # it has ended
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"workers.local" in Path(f"/proc/{child}/cmdline").read_bytes():
                pids.add(int(child))
    return pids


def describe_index(place: Path) -> tuple[str, list[str]]:
    """Return the content of an index and the paths of its documents, after checking that it is
    sound.
    """
    with open_engine(place) as engine:
        assert engine.verify() == []
        return engine.status().content, [document.path for document in engine.documents.list()]


WorkersOf = Callable[[int], set[int]]


def start_with_workers(
    place: Path, workers: str, docs: Path, workers_of: WorkersOf
) -> tuple[subprocess.Popen[bytes], set[int]]:
    """Start an ingestion and wait for its workers; return both."""
    others = workers_of(os.getpid())  # of one that was killed
    process = start_ingestion(place, workers, docs)
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        if workers_found := workers_of(process.pid) - others:
            return process, workers_found
        time.sleep(0.02)
    return process, set()


def kill_at_random(
    docs: Path, folder: Path, workers: str, kills: int, workers_of: WorkersOf
) -> None:
    """Kill workers and the writing process in turn; check that the index is that of one process."""
    assert start_ingestion(folder / "clean", "1", docs).wait(LIMIT_S) == 0
    expected = describe_index(folder / "clean")
    assert len(expected[1]) == DOCUMENTS + RECORDS
    process, _ = start_with_workers(folder / "first", workers, docs, workers_of)
    begun = time.monotonic()
    assert process.wait(LIMIT_S) == 0
    whole = time.monotonic() - begun
    assert describe_index(folder / "first") == expected
    draw, killed, run, done = random.Random(17), {"worker": 0, "writer": 0}, 0, True
    while sum(killed.values()) < kills or not done:
        run += done
        place = folder / f"run{run}"
        process, own_workers = start_with_workers(place, workers, docs, workers_of)
        time.sleep(whole * draw.random())
        whom = min(killed, key=lambda pid: (killed[pid], pid))
        victims = (
            sorted(own_workers & workers_of(process.pid)) if whom == "worker" else [process.pid]
        )
        if victims and process.poll() is None:
            os.kill(draw.choice(victims), signal.SIGKILL)
            killed[whom] += 1
        done = process.wait(LIMIT_S) == 0
        assert done or process.returncode == -signal.SIGKILL, place.with_suffix(".log").read_text()
        if (place / "index" / "fathom.db").exists():
            content, paths = describe_index(place)
            assert len(paths) == len(set(paths))
            assert (content, paths) == expected or not done
    print(f"{workers}: {killed} killed in {run} ingestions: 0 lost, 0 double")  # noqa: T201


HAS_PROC = Path("/proc/self/task").exists()


@pytest.mark.skipif(not HAS_PROC, reason="looks up children in /proc")
def test_random_kills_lose_and_double_nothing(docs: Path, tmp_path: Path) -> None:
    kill_at_random(docs, tmp_path, "2", KILLS, list_workers)


@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_ray_actors_make_the_same_index_and_continue_after_a_kill(
    docs: Path, tmp_path: Path
) -> None:
    assert start_ingestion(tmp_path / "clean", "1", docs).wait(LIMIT_S) == 0
    process = start_ingestion(tmp_path / "ray", "ray?workers=2", docs)
    try:
        index = tmp_path / "ray" / "index" / "fathom.db"
        deadline = time.monotonic() + LIMIT_S
        while not index.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        process.kill()
        process.wait()
        process = start_ingestion(tmp_path / "ray", "ray?workers=2", docs)
        assert process.wait(LIMIT_S) == 0
    finally:
        process.kill()
        process.wait()
    assert describe_index(tmp_path / "ray") == describe_index(tmp_path / "clean")


@dataclass(frozen=True, slots=True)
class RayCluster:
    """Two Ray nodes with a core each, which only holders of the token may use."""

    address: str
    token: str

    def list_actors(self, _driver: int) -> set[int]:
        """Return the process ids of its actors."""
        running = [int(file.name) for file in Path("/proc").iterdir() if file.name.isdigit()]
        return {pid for pid in running if self._has_table(pid)}

    def _has_table(self, pid: int) -> bool:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            return command.startswith(b"ray::_Actor") and (
                self.token.encode() in Path(f"/proc/{pid}/environ").read_bytes()
            )
        except OSError:
            return False  # it has ended, or is somebody else's


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[RayCluster]:
    """Yield a cluster that was started by this test."""
    token = secrets.token_hex(32)
    gcs, client = find_free_port(), find_free_port()
    started = RayCluster(f"ray://{find_own_address()}:{client}", token)
    for name, value in {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "2",  # so long the actors of a dead driver stay
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }.items():
        monkeypatch.setenv(name, value)
    head = [f"--port={gcs}", f"--ray-client-server-port={client}", "--include-dashboard=false"]
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        nodes = [start_ray_node("--head", *head, f"--temp-dir={folder}")]
        try:
            wait_for_port(client, nodes[0])
            nodes.append(start_ray_node(f"--address={find_own_address()}:{gcs}"))
            yield started
        finally:
            for node in reversed(nodes):
                node.terminate()  # it ends what it started
                node.wait(LIMIT_S)


def start_ray_node(*options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
    return subprocess.Popen(
        [*command, "--disable-usage-stats", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_own_address() -> str:
    """Return the address where Ray's client server listens: it accepts no other one of the
    machine.
    """
    return str(import_module("ray._private.services").get_node_ip_address())


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((find_own_address(), port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the cluster did not start")


@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
@pytest.mark.skipif(not HAS_PROC, reason="looks up actors in /proc")
def test_a_ray_cluster_makes_the_same_index_whichever_process_is_killed(
    docs: Path, tmp_path: Path, cluster: RayCluster
) -> None:
    name = f"{cluster.address}?workers=2"
    kill_at_random(docs, tmp_path, name, RAY_KILLS, cluster.list_actors)
    process = start_ingestion(tmp_path / "first", name, docs)
    assert process.wait(LIMIT_S) == 0  # again, and nothing is done
    assert describe_index(tmp_path / "first") == describe_index(tmp_path / "clean")
