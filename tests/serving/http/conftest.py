"""A small index of the samples, and clients of the real application over it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from fathom import Engine
from fathom.config import settings_of
from fathom.serving.http.app import create_app
from fathom.settings import Settings

ROOT = Path(__file__).parent.parent.parent.parent
FILES = ("road-repair-handbook.docx", "library-rules.odt", "apprenticeships.docx")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of three sample documents; not to be written to."""
    place = tmp_path_factory.mktemp("serving") / "index"
    with Engine.open(place, {"offline": True}) as engine:
        engine.ingest([ROOT / "samples" / "corpus" / name for name in FILES])
    return place


@pytest.fixture
def settings(corpus: Path, tmp_path: Path) -> Settings:
    """Those of a copy of the index."""
    place = tmp_path / "index"
    shutil.copytree(corpus, place)
    return settings_of({"index.directory": str(place), "offline": True})


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """Asks the application as the local user."""
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        yield client
