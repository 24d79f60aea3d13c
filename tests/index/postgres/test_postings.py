"""The graph of neighbours, which small indexes do without, and words that are remembered."""

import numpy as np
import pytest
from tests.index.postgres.test_opening import open_workspace
from tests.postgres_server import Server

from fathom.index.base import Entry, Matrix, Vector
from fathom.index.filters import Numbers
from fathom.index.postgres import connections, postings
from fathom.index.postgres.opening import open_reader, open_writer
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, entry, put
from fathom.types import Filter

CHUNKS = 600
BY_GRAPH = ("SET enable_seqscan = off", "SET enable_sort = off")
"""So few chunks are sooner looked at all than by their graph."""
DRAWN = np.random.default_rng(5)


def make_unit_vectors(count: int) -> Matrix:
    drawn = DRAWN.normal(size=(count, 24))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def make_documents(vectors: Matrix, start: int = 0) -> list[Entry]:
    """Return documents of one chunk each, of which every other one is marked even."""
    entries = []
    for number, vector in enumerate(vectors, start):
        indexed = entry(f"d{number}", [f"text {number}"], [[1]], half=number % 2)
        entries.append(
            Entry(document=indexed.document, chunks=indexed.chunks, vectors=vector[None], digest="")
        )
    return entries


def find_nearest(vectors: Matrix, query: Vector, numbers: Numbers) -> set[str]:
    cosines = vectors[numbers].astype(np.float16).astype(np.float64) @ query
    return {f"d{number}#0" for number in numbers[np.argsort(-cosines)[:10]]}


def test_a_graph_finds_near_vectors(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "GRAPH_FROM_CHUNKS", 50)
    monkeypatch.setattr(postings, "MAX_EXACT_CHUNKS", 10)
    monkeypatch.setattr(connections, "SETTINGS", (*connections.SETTINGS, *BY_GRAPH))
    vectors, queries = make_unit_vectors(CHUNKS), make_unit_vectors(20)
    half = Filter("half", "=", 1)
    with open_writer(open_workspace(postgres, "graph"), IDENTITY) as writer:
        put(writer, *make_documents(vectors[:500]))
        assert "graph" not in explain_search(writer)
        writer.optimize()
        assert "graph" in explain_search(writer)
        put(writer, *make_documents(vectors[500:], 500))  # joins it
        writer.forget([f"/c/d{number}" for number in range(0, CHUNKS, 3)])
        remaining = np.array([number for number in range(CHUNKS) if number % 3])
        odd = remaining[remaining % 2 == 1]
        shares = []
        for query in queries:
            for numbers, filters in ((remaining, []), (odd, [half])):
                hits = writer.vector_search(query, k=10, filters=filters)
                exact = find_nearest(vectors, query, numbers)
                shares.append(len({match.chunk_id for match in hits} & exact) / 10)
                cosines = [float(vectors[int(m.chunk_id[1:-2])] @ query) for m in hits]
                assert [m.score for m in hits] == pytest.approx(cosines, abs=2e-3)
        assert np.mean(shares) >= 0.98
        # More than the graph gives at once.
        many = {match.chunk_id for match in writer.vector_search(queries[0], k=380)}
        expected = remaining[np.argsort(-(vectors[remaining] @ queries[0]))[:380]]
        assert len(many & {f"d{number}#0" for number in expected}) >= 0.98 * 380


def test_enough_hits_are_found_where_the_nearest_were_removed(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "GRAPH_FROM_CHUNKS", 50)
    monkeypatch.setattr(connections, "SETTINGS", (*connections.SETTINGS, *BY_GRAPH))
    query = make_unit_vectors(1)[0]
    order = np.argsort(-(vectors := make_unit_vectors(CHUNKS)) @ query)
    with open_writer(open_workspace(postgres, "removed"), IDENTITY) as writer:
        put(writer, *make_documents(vectors))
        writer.optimize()
        assert "graph" in explain_search(writer)
        # More than the graph gives at once; they stay in it until the server vacuums.
        gone = order[: connections.EXPANSION_SEARCH + 50]
        writer.forget([f"/c/d{number}" for number in gone])
        chunk_ids = {match.chunk_id for match in writer.vector_search(query, k=10)}
    assert len(chunk_ids & {f"d{number}#0" for number in order[len(gone) : len(gone) + 10]}) >= 9


def explain_search(writer: object) -> str:
    """Return the query plan of a search in the largest space."""
    with writer._connections.borrow() as connection:  # type: ignore[attr-defined]
        [(number,)] = connection.execute("SELECT no FROM fathom.spaces WHERE filled > 0").fetchall()
        zeros = "[" + ",".join("1" * 24) + "]"
        rows = connection.execute(
            f"EXPLAIN SELECT chunk_no FROM fathom.vectors_{number} "
            f"ORDER BY (vector::halfvec(24)) <#> '{zeros}'::halfvec(24) LIMIT 47"
        ).fetchall()
    return "\n".join(row[0] for row in rows)


def test_cached_words_belong_to_the_state_that_is_read(postgres: Server) -> None:
    address = open_workspace(postgres, "remembered")
    with open_writer(address, IDENTITY) as writer, open_reader(address) as reader:
        put(writer, CATS)
        with reader.snapshot():
            before = reader.keyword_search("cats sleep sea", k=9)
            put(writer, SHIPS)
            later = writer.keyword_search("cats sleep sea", k=9)
            assert reader.keyword_search("cats sleep sea", k=9) == before
        assert reader.keyword_search("cats sleep sea", k=9) == later != before
