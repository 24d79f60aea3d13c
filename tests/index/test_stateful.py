"""Any sequence of changes, compared with a dictionary and a plain search."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.opening import open_reader, open_writer, verify
from fathom.types import Chunk, Document, Span

DIMENSION = 4
names = st.sampled_from(["a", "b", "c", "d"])
paths = st.sampled_from(["/1", "/2", "/3"])
words = st.lists(st.sampled_from(["red", "green", "blue"]), min_size=1, max_size=3)


def make_entry(name: str, parts: list[str]) -> Entry:
    text = "\n".join(parts)
    spans, start = [], 0
    for part in parts:
        spans.append(Span(start, start + len(part)))
        start += len(part) + 1
    chunks = tuple(
        Chunk(
            id=f"{name}#{n}",
            document_id=name,
            text=span.cut(text),
            span=span,
            ordinal=n,
            path=f"/{name}",
        )
        for n, span in enumerate(spans)
    )
    rng = np.random.default_rng(len(text) + ord(name))
    vectors = rng.normal(size=(len(parts), DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    document = Document(id=name, text=text, path=f"/{name}", title="", language="en")
    return Entry(document=document, chunks=chunks, vectors=vectors, digest=text)


class IndexMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        # Opening it starts a thread of tantivy that may lock the folder while it is removed.
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.place = Path(self.folder.name)
        self.documents: dict[str, Entry] = {}
        self.held: dict[str, str] = {}
        self.open()

    def open(self) -> None:
        self.writer = open_writer(self.place, {"a": "1"}, ann_from_chunks=4)
        self.reader = open_reader(self.place)

    def delete_file(self, path: str) -> None:
        name = self.held.pop(path, "")
        if name and name not in self.held.values():
            self.documents.pop(name, None)

    @rule(name=names, path=paths, parts=words)
    def put(self, name: str, path: str, parts: list[str]) -> None:
        indexed = make_entry(name, parts)
        source = SourceRecord(path=path, digest=indexed.digest, outcome="ok", document_id=name)
        self.writer.put([indexed], [source])
        self.documents[name] = indexed
        if self.held.get(path) != name:
            self.delete_file(path)
        self.held[path] = name

    @rule(path=paths, purge=st.booleans())
    def forget(self, path: str, purge: bool) -> None:
        before = len(self.documents)
        self.delete_file(path)
        assert self.writer.forget([path], purge=purge) == before - len(self.documents)

    @rule()
    def purge(self) -> None:
        self.writer.purge()

    @rule()
    def optimize(self) -> None:
        self.writer.optimize()

    @rule(damage=st.sampled_from(["none", "tantivy", "graph"]))
    def reopen(self, damage: str) -> None:
        self.writer.close()
        self.reader.close()
        if damage == "tantivy":
            gone = self.place / "gone"  # at once: tantivy's own threads may still tidy up there
            (self.place / "tantivy").rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        if damage == "graph":
            for path in self.place.glob("vectors-*"):
                path.unlink()
        self.open()

    @invariant()
    def check_agreement(self) -> None:
        chunks = {c.id: c for document in self.documents.values() for c in document.chunks}
        paths = {s.id: s.path for s in self.reader.list_documents()}
        assert paths.keys() == set(self.documents)
        placed = {chunk_id: replace(c, path=paths[c.document_id]) for chunk_id, c in chunks.items()}
        assert self.reader.chunks(sorted(chunks)) == [placed[chunk] for chunk in sorted(chunks)]
        held = {s.path: s.document_id for s in self.reader.list_sources()}
        assert held == self.held
        for word in ("red", "blue"):
            chunk_ids = {m.chunk_id for m in self.reader.keyword_search(word, k=99)}
            assert chunk_ids == {
                chunk_id for chunk_id, chunk in chunks.items() if word in chunk.text
            }
        self.check_nearest(len(chunks))

    def check_nearest(self, total: int) -> None:
        query = np.full(DIMENSION, 0.5, dtype=np.float32)
        scored: list[tuple[float, str]] = []
        for document in self.documents.values():
            assert document.vectors is not None
            half = document.vectors.astype(np.float16).astype(np.float64)
            scored += [
                (-float(row @ query), c.id) for row, c in zip(half, document.chunks, strict=True)
            ]
        hits = self.reader.vector_search(query, k=total + 1)
        expected = sorted((round(score, 9), name) for score, name in scored)
        assert sorted((round(-m.score, 9), m.chunk_id) for m in hits) == expected

    def teardown(self) -> None:
        self.writer.close()
        self.reader.close()
        assert verify(self.place) in ([], self.list_missing_graphs())
        self.folder.cleanup()

    def list_missing_graphs(self) -> list[str]:
        return [finding for finding in verify(self.place) if "usearch" in finding]


TestIndex = IndexMachine.TestCase
TestIndex.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
