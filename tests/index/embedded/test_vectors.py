"""Nearest neighbours with a graph, with a tail and without, compared with a plain product."""

import json
import sqlite3
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from fathom.index.base import Entry, SourceRecord
from fathom.index.embedded.hnsw import GraphRecord
from fathom.index.embedded.opening import open_reader, open_writer, verify
from fathom.index.rows import compute_checksum
from fathom.types import Chunk, Document, Filter, Span

COUNT, DIMENSION = 12_600, 24


def make_unit_vectors(count: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(50, DIMENSION))
    vectors = centres[rng.integers(50, size=count)] + 0.5 * rng.normal(size=(count, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors, dtype=np.float32)


def make_entries(vectors: NDArray[np.float32], first: int) -> list[tuple[Entry, SourceRecord]]:
    entries = []
    for place in range(0, len(vectors), 100):
        name = f"d{first + place:05}"
        part = vectors[place : place + 100]
        chunks = tuple(
            Chunk(id=f"{name}#{n:03}", document_id=name, text="x", span=Span(0, 1), ordinal=n)
            for n in range(len(part))
        )
        document = Document(
            id=name, text="x", path=name, title="", metadata={"even": place // 100 % 2 == 0}
        )
        source = SourceRecord(path=name, digest="d", outcome="ok", document_id=name)
        entries.append((Entry(document=document, chunks=chunks, vectors=part, digest="d"), source))
    return entries


def test_graph_and_tail_together_find_the_neighbours(tmp_path: Path) -> None:
    vectors = make_unit_vectors(COUNT, 1)
    with open_writer(tmp_path, {"a": "1"}, ann_from_chunks=5000) as writer:
        bulk = make_entries(vectors[:12_000], 0)
        writer.put([entry for entry, _ in bulk], [source for _, source in bulk])
        writer.optimize()
        late = make_entries(vectors[12_000:], 12_000)
        writer.put([entry for entry, _ in late], [source for _, source in late])
        writer.forget(["d00000", "d00100"])
        writer.optimize()
    assert len(list(tmp_path.glob("vectors-*.usearch"))) == 1
    alive = np.arange(200, COUNT)
    half = vectors.astype(np.float16).astype(np.float64)
    found_in_all = 0
    queries = make_unit_vectors(50, 2)
    with open_reader(tmp_path) as reader:
        for query in queries:
            exact = half @ query.astype(np.float64)
            order = alive[np.argsort(-exact[alive], kind="stable")]
            hits = reader.vector_search(query, k=10)
            numbers = [int(m.chunk_id[1:6]) + int(m.chunk_id[7:]) for m in hits]
            assert all(
                abs(match.score - exact[number]) < 1e-9
                for match, number in zip(hits, numbers, strict=True)
            )
            assert hits == sorted(hits, key=lambda match: (-match.score, match.chunk_id))
            found_in_all += len(set(numbers) & set(order[:10].tolist()))
            even = reader.vector_search(query, k=10, filters=[Filter("even", "=", True)])
            allowed = order[order // 100 % 2 == 0][:10]
            assert {int(m.chunk_id[1:6]) + int(m.chunk_id[7:]) for m in even} == set(
                allowed.tolist()
            )
        again = [reader.vector_search(query, k=10) for query in queries]
        assert again == [reader.vector_search(query, k=10) for query in queries]
    assert found_in_all >= 0.98 * 10 * len(queries)


def write_older_graph(place: Path, vectors: NDArray[np.float32]) -> GraphRecord:
    """Replace the graph by one of an older version."""
    (file,) = place.glob("vectors-*.usearch")
    old = Index(ndim=DIMENSION, metric="ip", dtype="f16", connectivity=16, enable_key_lookups=False)
    old.add(np.arange(1, len(vectors) + 1, dtype=np.uint64), vectors.astype(np.float16))
    old.save(str(place / "vectors-old.usearch"))
    file.unlink()
    data = (place / "vectors-old.usearch").read_bytes()
    record = {"file": "vectors-old.usearch", "until": len(vectors), "chunks": len(vectors)}
    record |= {"size": len(data), "crc": compute_checksum(data)}
    connection = sqlite3.connect(place / "fathom.db")
    connection.execute("UPDATE meta SET value = ? WHERE key = 'graph'", (json.dumps(record),))
    connection.commit()
    connection.close()
    loaded = GraphRecord.loads(json.dumps(record))
    assert loaded is not None
    return loaded


def test_graphs_of_older_versions_find_the_same(tmp_path: Path) -> None:
    vectors = make_unit_vectors(6_000, 1)
    with open_writer(tmp_path, {"a": "1"}, ann_from_chunks=5000) as writer:
        bulk = make_entries(vectors, 0)
        writer.put([entry for entry, _ in bulk], [source for _, source in bulk])
        writer.optimize()
    queries = make_unit_vectors(20, 2)
    with open_reader(tmp_path) as reader:
        before = [reader.vector_search(query, k=10) for query in queries]
    record = write_older_graph(tmp_path, vectors)
    assert (record.kind, record.vectors_at) == ("f16", 0)
    assert verify(tmp_path) == []
    with open_reader(tmp_path) as reader:
        after = [reader.vector_search(query, k=10) for query in queries]
    same = sum(len(set(first) & set(two)) for first, two in zip(before, after, strict=True))
    assert same >= 0.98 * 10 * len(queries)
    assert verify(tmp_path, fix=True) == []
    assert not (tmp_path / "vectors-old.usearch").exists()


def test_flipped_bytes_in_the_vectors_behind_a_graph_are_detected(tmp_path: Path) -> None:
    with open_writer(tmp_path, {"a": "1"}, ann_from_chunks=100) as writer:
        bulk = make_entries(make_unit_vectors(300, 1), 0)
        writer.put([entry for entry, _ in bulk], [source for _, source in bulk])
        writer.optimize()
    (file,) = tmp_path.glob("vectors-*.usearch")
    data = bytearray(file.read_bytes())
    assert data.endswith(make_unit_vectors(300, 1).astype(np.float16).tobytes())
    data[-1] ^= 1
    file.unlink()
    file.write_bytes(data)
    assert [file.name in finding for finding in verify(tmp_path)] == [True]
    assert verify(tmp_path, fix=True) == []


def test_an_index_without_chunks_deletes_its_graph(tmp_path: Path) -> None:
    bulk = make_entries(make_unit_vectors(300, 1), 0)
    with open_writer(tmp_path, {"a": "1"}, ann_from_chunks=100) as writer:
        writer.put([entry for entry, _ in bulk], [source for _, source in bulk])
        writer.optimize()
        assert list(tmp_path.glob("vectors-*"))
        writer.forget([source.path for _, source in bulk])
        for _ in range(2):
            writer.optimize()
            assert not list(tmp_path.glob("vectors-*"))
            assert writer.vector_search(make_unit_vectors(1, 2)[0], k=10) == []
        writer.put([entry for entry, _ in bulk], [source for _, source in bulk])
        writer.optimize()
        assert len(writer.vector_search(make_unit_vectors(1, 2)[0], k=10)) == 10
    assert verify(tmp_path) == []
