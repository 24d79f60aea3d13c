"""The index on a PostgreSQL server passes the conformance suite of indexes.

That is what covers fathom.index.identity, and of fathom.index.postgres:
fathom.index.postgres.connections, fathom.index.postgres.dialect, fathom.index.postgres.halfvec,
fathom.index.postgres.search_backend,
fathom.index.postgres.postings, fathom.index.postgres.snapshot, fathom.index.postgres.spaces,
fathom.index.postgres.status, fathom.index.postgres.store, fathom.index.postgres.writer.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from fathom.index.base import IndexReader, IndexWriter
from fathom.index.rights import Viewer
from fathom.testing import IndexConformance

pytest.importorskip("psycopg", reason="needs the extra postgres")
from tests.postgres_server import Server

from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_reader, open_writer


class TestPostgres(IndexConformance):
    many_writers = True

    @pytest.fixture(autouse=True)
    def _database(self, postgres: Server) -> None:
        self.url = postgres.shared

    def _acquire_address(self, place: Path) -> Address:
        return Address.from_url(self.url).switch_workspace(f"w{zlib.crc32(str(place).encode())}")

    def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> IndexWriter:
        return open_writer(self._acquire_address(place), identity)

    def open_reader(self, place: Path, identity: Mapping[str, str] | None = None) -> IndexReader:
        return open_reader(self._acquire_address(place), identity)

    def open_viewer(self, place: Path, viewer: Viewer) -> IndexReader:
        return open_reader(self._acquire_address(place), viewer=viewer)
