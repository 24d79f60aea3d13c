"""A small index of the samples, and clients of the real application over it."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.openid_provider import Provider, serve_provider
from tests.serving.http.described_replies import check_replies

from fathom import Engine
from fathom.config import parse_settings
from fathom.index.engines import EmbeddedIndex
from fathom.index.rights import ReadingRule
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, create_key_store
from fathom.serving.http.server import FathomServer
from fathom.settings import Settings

ROOT = Path(__file__).parent.parent.parent.parent
FILES = ("road-repair-handbook.docx", "library-rules.odt", "apprenticeships.docx", "flood-plan.pdf")
ADDRESS = "http://127.0.0.1:8000"
CANARY = "zebrafish"
SEARCH = {"query": "What does the aquarium of the mayor hold?"}
"""A search for the document of `guarded` that not everybody may read; the canary is in its text."""


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only index of some sample documents."""
    place = tmp_path_factory.mktemp("serving") / "index"
    with Engine.open(place, {"offline": True}) as engine:
        engine.ingest([ROOT / "samples" / "corpus" / name for name in FILES])
    return place


def make_settings(corpus: Path, folder: Path, **more: object) -> Settings:
    """Return the settings of a copy of the index."""
    place = folder / "index"
    shutil.copytree(corpus, place)
    return parse_settings({"index.directory": str(place), "offline": True, **more})


@contextmanager
def open_client(app: FastAPI) -> Iterator[TestClient]:
    """Yield a client that compares each reply with the description of applications."""
    with TestClient(app, base_url=ADDRESS) as client:
        check_replies(client)
        yield client


@pytest.fixture(scope="session")
def client(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Yield a client of a shared application as the local user; its documents must not change."""
    settings = make_settings(corpus, tmp_path_factory.mktemp("shared"))
    with open_client(create_app(settings)) as client:
        yield client


@pytest.fixture
def settings(corpus: Path, tmp_path: Path) -> Settings:
    """Return the settings of a copy of the index for one test."""
    return make_settings(corpus, tmp_path)


@pytest.fixture
def guarded(settings: Settings, tmp_path: Path) -> Settings:
    """Return the settings of an index with a document that only keepers may read."""
    file = tmp_path / "aquarium.md"
    file.write_text(f"# Aquarium of the mayor\n\nThe aquarium of the mayor holds 12 {CANARY}.\n")
    with Engine(settings) as engine:
        engine.ingest(file, rights=[ReadingRule("*aquarium*", ("keepers",))])
    return settings


@pytest.fixture
def fresh_client(settings: Settings) -> Iterator[TestClient]:
    """Yield a client of an application for one test."""
    with open_client(create_app(settings)) as client:
        yield client


KeyMaker = Callable[..., dict[str, str]]


@pytest.fixture
def key(settings: Settings) -> KeyMaker:
    """Return a function that makes a key and returns its request headers."""

    def make(**more: object) -> dict[str, str]:
        scopes = frozenset(str(more.pop("scopes", "read ingest admin")).split())
        name = str(more.pop("name", "test"))
        key_record = Key(id="", name=name, scopes=scopes, **more)  # type: ignore[arg-type]
        keys = create_key_store(EmbeddedIndex(settings.index.directory))
        _, text = keys.add(key_record)
        keys.close()
        return {"Authorization": f"Bearer {text}"}

    return make


@contextmanager
def serve_app(app: FastAPI) -> Iterator[str]:
    """Serve the application on a real socket and yield its address."""
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=5)
    server = FathomServer(app, config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def live() -> Callable[[FastAPI], AbstractContextManager[str]]:
    """Return a function that serves an application on a real socket."""
    return serve_app


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[Provider]:
    """Yield an issuer of OpenID Connect, one for the tests of a module."""
    with serve_provider() as provider:
        yield provider


@pytest.fixture
def provider(shared_provider: Provider) -> Provider:
    """Return an issuer of OpenID Connect that does everything right again."""
    fresh = Provider()
    shared_provider.user, shared_provider.sign = fresh.user, fresh.sign
    shared_provider.keys = [shared_provider.key.as_dict(private=False)]
    shared_provider.changes, shared_provider.bodies = {}, {}
    shared_provider.requests, shared_provider.hosts = [], []
    shared_provider.refreshes, shared_provider.later_claims = fresh.refreshes, fresh.later_claims
    shared_provider.grants, shared_provider.tokens = {}, []
    return shared_provider
