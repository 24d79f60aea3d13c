"""The index on PostgreSQL with a Qdrant cluster passes the conformance suite of indexes.

That is what covers fathom.index.qdrant.backend and fathom.index.qdrant.records, beside
`tests.index.qdrant.test_legs`.
"""

import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from fathom.index.base import IndexReader, IndexWriter
from fathom.index.rights import Viewer
from fathom.testing import IndexConformance

pytest.importorskip("psycopg", reason="needs the extra qdrant")
from tests.postgres_server import Server
from tests.qdrant_server import KEY_ENV, QUICK

from fathom.index.engines import Index, locate_index, switch_workspace
from fathom.index.qdrant.address import parse_qdrant_address
from fathom.index.qdrant.client import QdrantClient


@pytest.fixture(scope="module")
def collections(cluster_url: str) -> Iterator[str]:
    """Yield the address of collections that are deleted after the tests."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield f"{cluster_url}/{name}"
    with QdrantClient(parse_qdrant_address(cluster_url, key_env=KEY_ENV), policy=QUICK) as client:
        for suffix in ("words", "4"):
            with suppress(Exception):  # that of the wheel removes none
                client.request("DELETE", f"/collections/{name}-{suffix}")


class TestQdrant(IndexConformance):
    many_writers = True

    @pytest.fixture(autouse=True)
    def _servers(self, postgres: Server, collections: str) -> None:
        self.url = f"{postgres.shared}+qdrant:{collections}"

    def _open_index(self, place: Path) -> Index:
        url = switch_workspace(self.url, f"q{zlib.crc32(str(place).encode())}")
        return locate_index(url, place, qdrant_key_env=KEY_ENV)

    def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> IndexWriter:
        return self._open_index(place).open_writer(identity)

    def open_reader(self, place: Path, identity: Mapping[str, str] | None = None) -> IndexReader:
        return self._open_index(place).open_reader(identity)

    def open_viewer(self, place: Path, viewer: Viewer) -> IndexReader:
        return self._open_index(place).open_reader(viewer=viewer)
