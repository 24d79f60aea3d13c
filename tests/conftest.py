"""Fixtures and options of all tests."""

import fcntl
import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from experiments.lab.kept_outputs import KeepingCache, KeptOutputs, load_models_through
from hypothesis import settings
from tests.factories import SAMPLES, engine_at
from tests.inside_server import InsideServer, serve_inside
from tests.kept_parts import keep_parts
from tests.real_model import RealModel, explain_absence
from tests.spare_processes import keep_reading_processes

from fathom import Engine
from fathom.serving.cli.app import GARBAGE_AFTER
from fathom.settings import Settings

if TYPE_CHECKING:
    from tests.postgres_server import Server

# Generated examples have no time limit: a busy machine is not a failure.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of these tests."""
    parser.addoption("--pictures", help="write pictures of the page into this folder")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start one process more than there are cores, as many tests wait for a child or a server."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without looking for garbage among the modules, and never look there again.

    Imported modules stay for good, and scanning them takes half the time of the collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE_AFTER)
        gc.enable()


@pytest.fixture
def count_probes(
    record_property: Callable[[str, object], None],
) -> Iterator[Callable[[int], None]]:
    """Yield a function by which a test counts its probes, each before it is tried.

    The count stands in the report of the test, also if it fails.
    """
    counts: list[int] = []
    yield counts.append
    record_property("probes", sum(counts))


def locate_shared_folder(folders: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all processes of this run of the tests share."""
    folder = folders.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def make_once(place: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder in the first process that needs it; the others wait for it, and read only."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            unfinished = place.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished)
            unfinished.rename(place)
    return place


@pytest.fixture(scope="session", autouse=True)
def _load_models_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # Half of all pairs that tests of this run let the cross-reader read were read by another test.
    outputs = KeptOutputs(locate_shared_folder(tmp_path_factory) / "readings.db")
    with load_models_through(KeepingCache(outputs)):
        yield
    outputs.close()


@pytest.fixture(scope="session", autouse=True)
def _keep_reading_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with keep_reading_processes(tmp_path_factory.mktemp("reading")):
        yield


@pytest.fixture(scope="session", autouse=True)
def _keep_parts() -> Iterator[None]:
    # Making them takes a twentieth of the processor time of the tests of strategies.
    with keep_parts():
        yield


@pytest.fixture(scope="session")
def _sample_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def ingest(place: Path) -> None:
        with engine_at(place) as engine:
            engine.ingest([SAMPLES / "corpus"])

    return make_once(locate_shared_folder(tmp_path_factory) / "ingested", ingest)


@pytest.fixture(scope="module")
def samples(_sample_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for `engine_at` whose index holds the samples; each module has its own
    copy.
    """
    return shutil.copytree(_sample_index, tmp_path_factory.mktemp("samples"), dirs_exist_ok=True)


@pytest.fixture(scope="session")
def _embedded_sample_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def ingest(place: Path) -> None:
        with Engine(Settings.model_validate({"index": {"directory": place}})) as engine:
            engine.ingest([SAMPLES / "corpus"])

    return make_once(locate_shared_folder(tmp_path_factory) / "embedded", ingest)


@pytest.fixture(scope="module")
def embedded_samples(
    _embedded_sample_index: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return an index that holds the samples with vectors of the shipped model; each module has
    its own copy.
    """
    place = tmp_path_factory.mktemp("embedded-samples") / "index"
    return shutil.copytree(_embedded_sample_index, place)


@pytest.fixture(scope="session")
def real_model() -> Iterator[RealModel]:
    """Yield a small language model in a child process, started by the first test that needs it."""
    if absent := explain_absence():
        pytest.skip(absent)
    model = RealModel()
    yield model
    model.server.stop()


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Server]":
    """Yield a PostgreSQL server, one for each process that runs tests."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    from tests.postgres_server import Server

    server = Server()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of Qdrant: the real cluster if one is named, else three shards in a child
    process.
    """
    from tests.qdrant_server import REAL, EdgeServer, skip_without_edge

    if REAL:
        yield REAL
        return
    skip_without_edge()
    server = EdgeServer(tmp_path_factory.mktemp("qdrant"), shards=3)
    server.start()
    yield server.url
    server.kill()


@pytest.fixture
def inside() -> Iterator[InsideServer]:
    """Yield a server on this machine that must not be reached."""
    with serve_inside() as server:
        yield server
