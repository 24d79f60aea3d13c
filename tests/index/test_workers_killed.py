"""Whoever is killed, the process that writes or one of its workers: nothing lost, nothing twice.

`KILLS` sets how many are killed, half of them workers.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.index.test_workers import engine_at

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("KILLS", "20"))
DOCUMENTS = 150
LIMIT_S = 400.0
"""For one ingestion; whatever it started is ended then."""
CHILD = """
import sys
from pathlib import Path
from tests.index.test_workers import engine_at
with engine_at(Path(sys.argv[1]), sys.argv[2]) as engine:
    engine.ingest([Path(sys.argv[3])])
"""

PROBE = "import sys, ray; ray.init(sys.argv[1], log_to_driver=False)"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(DOCUMENTS):
        words = f"Notice {n}. " + f"Berth {n} is free on day {n % 7}. " * 30
        (folder / f"{n:03}.md").write_text(words)
    return folder


def start(place: Path, workers: str, docs: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(place), workers, str(docs)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.DEVNULL,
    )


def workers_of(pid: int) -> list[int]:
    """Processes of workers that a process started."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        command = Path(f"/proc/{child}/cmdline").read_bytes()
        if b"workers.local" in command:
            found.append(int(child))
    return found


def held(place: Path) -> tuple[str, list[str]]:
    """The content of an index, and the paths of its documents, once it is seen to be sound."""
    with engine_at(place) as engine:
        assert engine.verify() == []
        return engine.status().content, [one.path for one in engine.documents()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks up children in /proc")
def test_killed_at_random_nothing_is_lost_or_double(docs: Path, tmp_path: Path) -> None:
    begun = time.monotonic()
    assert start(tmp_path / "clean", "2", docs).wait(LIMIT_S) == 0
    whole = time.monotonic() - begun
    expected = held(tmp_path / "clean")
    assert len(expected[1]) == DOCUMENTS
    draw, kills, run = random.Random(17), {"worker": 0, "writer": 0}, 0
    while sum(kills.values()) < KILLS:
        place, done = tmp_path / f"run{run}", False
        while not done:
            process = start(place, "2", docs)
            try:
                process.wait(whole * draw.uniform(0.2, 1.0))
            except subprocess.TimeoutExpired:
                whom = min(kills, key=lambda one: (kills[one], one))
                victims = workers_of(process.pid) if whom == "worker" else [process.pid]
                if victims:
                    os.kill(draw.choice(victims), signal.SIGKILL)
                    kills[whom] += 1
            code = process.wait(LIMIT_S)
            assert code in {0, -signal.SIGKILL}
            done = code == 0
            if (place / "index" / "fathom.db").exists():
                _, paths = held(place)
                assert len(paths) == len(set(paths))
        assert held(place) == expected
        run += 1
    print(f"{kills} killed in {run} ingestions: 0 lost, 0 double")  # noqa: T201


@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_actors_of_ray_make_the_same_index_and_go_on_after_a_kill(
    docs: Path, tmp_path: Path
) -> None:
    assert start(tmp_path / "clean", "1", docs).wait(LIMIT_S) == 0
    process = start(tmp_path / "ray", "ray?workers=2", docs)
    try:
        index = tmp_path / "ray" / "index" / "fathom.db"
        deadline = time.monotonic() + LIMIT_S
        while not index.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        process.kill()
        process.wait()
        process = start(tmp_path / "ray", "ray?workers=2", docs)
        assert process.wait(LIMIT_S) == 0
    finally:
        process.kill()
        process.wait()
    assert held(tmp_path / "ray") == held(tmp_path / "clean")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A cluster of Ray that was started here, by itself; its address for clients."""
    monkeypatch.setenv("RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S", "30")
    gcs, client = free_port(), free_port()
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    command += [f"--port={gcs}", f"--ray-client-server-port={client}", "--num-cpus=2"]
    command += ["--include-dashboard=false", "--disable-usage-stats"]
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [*command, f"--temp-dir={folder}"],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_port(client, process)
            address = f"ray://{own_address()}:{client}"
            if subprocess.run([sys.executable, "-c", PROBE, address], check=False).returncode:
                pytest.skip("Ray itself does not reach a cluster that was started here")
            yield address
        finally:
            process.terminate()  # it ends what it started
            process.wait(LIMIT_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def own_address() -> str:
    """Where Ray's server of clients listens: it takes no other address of the machine."""
    return str(import_module("ray._private.services").get_node_ip_address())


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((own_address(), port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the cluster did not start")


@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_a_cluster_of_ray_that_is_named_by_its_address_makes_the_same_index(
    docs: Path, tmp_path: Path, cluster: str
) -> None:
    (docs / "rows.jsonl").write_text('{"_id": "1", "text": "A row."}\n{"_id": "2", "text": "B"}\n')
    assert start(tmp_path / "clean", "1", docs).wait(LIMIT_S) == 0
    name = f"{cluster}?workers=2"
    process = start(tmp_path / "ray", name, docs)
    try:
        index = tmp_path / "ray" / "index" / "fathom.db"
        deadline = time.monotonic() + LIMIT_S
        while not index.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()  # the driver dies; the cluster lives on and takes the next one
        process.wait()
        process = start(tmp_path / "ray", name, docs)
        assert process.wait(LIMIT_S) == 0
    finally:
        process.kill()
        process.wait()
    assert held(tmp_path / "ray") == held(tmp_path / "clean")
    process = start(tmp_path / "ray", name, docs)
    assert process.wait(LIMIT_S) == 0  # again, and nothing is done
    assert held(tmp_path / "ray") == held(tmp_path / "clean")
