"""The real application on a socket, for clients that need one."""

import gc
import shutil
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langchain_openai.chat_models._client_utils import _cached_sync_httpx_client

from fathom.config import parse_settings
from fathom.serving.http.app import create_app

QUESTION = "How deep must a pothole on a bus route be to be filled within 48 hours?"
ANSWER = "4 centimetres"


def make_application(corpus: Path, place: Path) -> FastAPI:
    """Return the application over a copy of the small index of the samples."""
    shutil.copytree(corpus, place / "index")
    return create_app(parse_settings({"index.directory": str(place / "index"), "offline": True}))


@pytest.fixture(scope="session")
def client(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Yield a client of one application for all tests, which do not disturb each other."""
    app = make_application(corpus, tmp_path_factory.mktemp("openai"))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture(scope="session")
def address(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of an application, with a slash at the end."""
    app = make_application(corpus, tmp_path_factory.mktemp("openai"))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, name="openai-server")
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join()
    # LangChain keeps connections for good; nobody else is to hear of them.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        _cached_sync_httpx_client.cache_clear()
        gc.collect()
