"""The embedded index passes the conformance suite of indexes.

That is what covers fathom.testing.index_conformance, and fathom.index.context_slot.
"""

from collections.abc import Mapping
from pathlib import Path

from fathom.index.base import IndexReader, IndexWriter
from fathom.index.embedded.opening import open_reader, open_writer
from fathom.index.rights import Viewer
from fathom.testing import IndexConformance


class TestEmbedded(IndexConformance):
    def open_writer(self, place: Path, identity: Mapping[str, str] | None) -> IndexWriter:
        return open_writer(place, identity)

    def open_reader(self, place: Path, identity: Mapping[str, str] | None = None) -> IndexReader:
        return open_reader(place, identity)

    def open_viewer(self, place: Path, viewer: Viewer) -> IndexReader:
        return open_reader(place, viewer=viewer)
