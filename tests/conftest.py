"""What holds for all tests."""

import gc
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.making import SAMPLES, engine_at
from tests.real_model import RealModel, why_absent

from fathom.assembly.models import Models
from fathom.models.cache import ModelCache

if TYPE_CHECKING:
    from tests.postgres_server import Server

# A machine that is busy is no failure: no generated example has a time limit.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What the tests can be asked to make."""
    parser.addoption("--pictures", help="write pictures of the page into this folder")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without looking for garbage among the modules, and never look there again.

    What is imported stays for good; to look through all of it takes half the time of collecting.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _models_are_loaded_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Models, "cache", ModelCache())
        yield


@pytest.fixture(scope="session")
def _samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ingested")
    with engine_at(place) as engine:
        engine.ingest([SAMPLES / "corpus"])
    return place


@pytest.fixture(scope="module")
def samples(_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `engine_at` with the samples in its index, which a module has for itself."""
    return shutil.copytree(_samples, tmp_path_factory.mktemp("samples"), dirs_exist_ok=True)


@pytest.fixture(scope="session")
def real_model() -> Iterator[RealModel]:
    """A small language model in a child process, started by the first test that wants it."""
    if absent := why_absent():
        pytest.skip(absent)
    model = RealModel()
    yield model
    model.server.stop()


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Server]":
    """A PostgreSQL server, one for each process that runs tests."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    from tests.postgres_server import Server

    server = Server()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where Qdrant is: the real cluster if one is named, else three shards in a child."""
    from tests.qdrant_server import REAL, EdgeServer, needs_edge

    if REAL:
        yield REAL
        return
    needs_edge()
    server = EdgeServer(tmp_path_factory.mktemp("qdrant"), shards=3)
    server.start()
    yield server.url
    server.kill()
