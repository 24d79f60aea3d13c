"""What a cluster finds is what the embedded index finds, however its shards lie."""

import json
import uuid
from collections import Counter
from collections.abc import Callable

import numpy as np
import pydantic
import pytest
from numpy.typing import NDArray
from tests.index.qdrant.conftest import unit_rows
from tests.qdrant_server import QUICK, EdgeServer

from fathom.errors import IndexMismatch
from fathom.index.bm25 import Statistics, compute_norms, compute_query_weights, quantise_lengths
from fathom.index.embedded.keyword import KeywordEntry, KeywordIndex
from fathom.index.filters import Numbers, SearchScope
from fathom.index.qdrant.address import QdrantAddress, parse_qdrant_address
from fathom.index.qdrant.client import QdrantClient
from fathom.index.qdrant.collection import MissingMarkError, TenantPoints
from fathom.index.qdrant.searches import (
    Floats,
    QdrantScope,
    QdrantVectors,
    QdrantWords,
    ScoredChunks,
    ScoreExactly,
)

WORDS = [f"w{number}" for number in range(200)]
Texts = list[list[str]]
Listed = Callable[[int], bool]
Start = Callable[..., EdgeServer]


def texts(count: int, seed: int) -> Texts:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    shares /= shares.sum()
    return [rng.choice(WORDS, size=rng.integers(1, 120), p=shares).tolist() for _ in range(count)]


def entered(some: Texts) -> list[tuple[int, int, dict[int, int]]]:
    return [
        (number, number // 4, {WORDS.index(term): count for term, count in Counter(terms).items()})
        for number, terms in enumerate(some)
    ]


def everything(count: int) -> QdrantScope:
    return QdrantScope(chunks=count)


def of_texts(
    some: Texts, query: dict[int, float], average: float, listed: Listed = lambda _: True
) -> ScoreExactly:
    """What a truth that has these texts, or of them the listed ones, makes of candidates."""
    counts = {number: terms for number, _, terms in entered(some)}

    def exact(numbers: Numbers) -> tuple[Numbers, Floats]:
        vectors = np.array([n for n in numbers if n in counts and listed(int(n))], dtype=np.int64)
        lengths = np.array([sum(counts[int(n)].values()) for n in vectors], dtype=np.int64)
        against, scores = compute_norms(quantise_lengths(lengths), average), np.zeros(len(vectors))
        for term, weight in query.items():
            held = np.array([counts[int(n)].get(term, 0) for n in vectors])
            scores += weight * held / (held + against)
        return vectors, scores

    return exact


def found_by(words: QdrantWords, query: dict[str, int], some: Texts, k: int) -> ScoredChunks:
    weights, average = weighted(query, some)
    exact = of_texts(some, weights, average)
    return words.search(weights, average, exact, k=k, scope=everything(len(some)))


def weighted(query: dict[str, int], some: Texts) -> tuple[dict[int, float], float]:
    frequencies = {term: sum(term in text for text in some) for term in query}
    statistics = Statistics(len(some), sum(map(len, some)), frequencies)
    weights = compute_query_weights(query, statistics)
    return {WORDS.index(term): weight for term, weight in weights.items()}, statistics.mean_length


def points(client: QdrantClient, dimension: int | None = None) -> TenantPoints:
    made = TenantPoints(client, uuid.uuid4(), dimension)
    made.create_collection()
    return made


def leg(some: Texts) -> KeywordIndex:
    index = KeywordIndex(None, create=True)
    index.apply((KeywordEntry(n, n // 4, terms) for n, terms in enumerate(some)), [], "x.1")
    return index


def queries(count: int) -> list[dict[str, int]]:
    rng = np.random.default_rng(3)
    return [
        dict(Counter(rng.choice(WORDS, size=rng.integers(1, 7)).tolist())) for _ in range(count)
    ]


@pytest.mark.parametrize("made_with", [1.0, 0.4, 2.5])
def test_words_as_the_embedded_index_finds_them(client: QdrantClient, made_with: float) -> None:
    """Also with weights made when chunks were shorter, or longer, on average."""
    some = texts(600, 1)
    embedded = leg(some)
    _, average = weighted({}, some)
    words = QdrantWords(points(client), average * made_with)
    words.put(entered(some))
    for query in queries(25):
        found = dict(found_by(words, query, some, 10))
        expected = dict(embedded.search(query, k=10, allowed=None))
        least = sorted(expected.values(), reverse=True)[:10][-1]
        assert {n for n, score in expected.items() if score > least * 1.00001} <= set(found)
        for number, score in found.items():
            assert score >= least * 0.99999
            if number in expected:
                assert score == pytest.approx(expected[number], rel=1e-5)


def test_several_shards_rank_as_one(edge_server: Start) -> None:
    some, vectors = texts(500, 2), unit_rows(500, 8, 2)
    results = []
    for shards in (1, 4):
        with QdrantClient(
            parse_qdrant_address(edge_server(shards=shards).url), policy=QUICK
        ) as client:
            tenant = points(client)
            words, near = QdrantWords(tenant, 50.0), QdrantVectors(points(client, 8))
            words.put(entered(some))
            near.put((n, n // 4, row) for n, row in enumerate(vectors))
            assert tenant.count() == 500
            assert sorted(tenant.iterate_chunks()) == list(range(500))
            found = [found_by(words, query, some, 10) for query in queries(25)]
            close = near.search(
                vectors[7].astype(np.float32),
                exact_cosines(vectors, 7),
                k=10,
                scope=everything(500),
            )
            results.append(([sorted(one) for one in found], sorted(close)))
    assert results[0] == results[1]


def exact_cosines(vectors: NDArray[np.float16], query: int) -> ScoreExactly:
    rows = vectors.astype(np.float64)
    return lambda numbers: (numbers, (rows[numbers] * rows[query]).sum(axis=1))


def test_vectors_by_exact_cosine(client: QdrantClient) -> None:
    vectors = unit_rows(800, 8, 1)
    near = QdrantVectors(points(client, 8))
    near.put((number, number // 4, row) for number, row in enumerate(vectors))
    for query in (0, 17, 400):
        cosines = exact_cosines(vectors, query)
        _, every = cosines(np.arange(800))
        hits = near.search(vectors[query].astype(np.float32), cosines, k=20, scope=everything(800))
        assert {number for number, _ in hits} == set(np.argsort(-every)[:20].tolist())
        assert all(score == every[number] for number, score in hits)


def test_what_is_not_listed_is_dropped_and_made_up_for(client: QdrantClient) -> None:
    same = [["w1"]] * 300
    words = QdrantWords(points(client), 1.0)
    words.put(entered(same))
    weights, average = weighted({"w1": 1}, same)
    odd = of_texts(same, weights, average, lambda number: number % 2 == 1)
    hits = words.search(weights, average, odd, k=5, scope=everything(150))
    assert sorted(number for number, _ in hits) == list(range(1, 300, 2))  # all ties


def test_only_documents_in_scope(client: QdrantClient, monkeypatch: pytest.MonkeyPatch) -> None:
    some = texts(200, 4)
    words = QdrantWords(points(client), 50.0)
    words.put(entered(some))
    inside = np.array([*range(12, 16), *range(36, 40)])
    scope = QdrantScope(chunks=200, allowed=SearchScope(inside, np.array([3, 9])))
    weights, average = weighted({"w0": 1}, some)
    exact = of_texts(some, weights, average)
    held = [n for n in inside if "w0" in some[n]]
    assert sorted(n for n, _ in words.search(weights, average, exact, k=9, scope=scope)) == held
    # Too many to be named are dropped here.
    monkeypatch.setattr("fathom.index.qdrant.searches.MAX_NAMED_DOCUMENTS", 1)
    assert sorted(n for n, _ in words.search(weights, average, exact, k=9, scope=scope)) == held
    none = SearchScope(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    empty = QdrantScope(chunks=200, allowed=none)
    assert words.search(weights, average, exact, k=9, scope=empty) == []


def test_what_was_restored_from_before_a_mark_gives_nothing(client: QdrantClient) -> None:
    tenant = points(client)
    words = QdrantWords(tenant, 3.0)
    words.put([(1, 1, {4: 1})])
    tenant.store_mark(1)
    assert [one.chunk for one in tenant.search_words({4: 1.0}, 3, None, 1)] == [1]
    tenant.store_mark(2)
    tenant.delete_other_marks(2)
    assert (tenant.has_mark(1), tenant.has_mark(2), tenant.count()) == (False, True, 1)
    with pytest.raises(MissingMarkError):
        tenant.search_words({4: 1.0}, 3, None, 1)
    with pytest.raises(MissingMarkError):
        words.search({4: 1.0}, 3.0, of_texts([], {}, 3.0), k=1, scope=QdrantScope(chunks=1, mark=3))
    tenant.clear()
    assert not tenant.has_mark(2)


def test_twice_is_once_and_replaced_is_replaced(client: QdrantClient) -> None:
    tenant = points(client)
    words = QdrantWords(tenant, 3.0)
    for terms in ({1: 1}, {1: 1}, {2: 4}):
        words.put([(5, 1, terms)])
    assert tenant.count() == 1
    assert tenant.search_words({1: 1.0}, 9, None) == []
    assert [one.chunk for one in tenant.search_words({2: 1.0}, 9, None)] == [5]
    tenant.remove([5, 6])
    tenant.remove([5])
    assert tenant.count() == 0


def test_a_chunk_without_words_is_counted_and_never_found(client: QdrantClient) -> None:
    tenant = points(client)
    words = QdrantWords(tenant, 3.0)
    words.put([(1, 1, {}), (2, 1, {4: 1})])
    assert tenant.count() == 2
    assert [one.chunk for one in tenant.search_words({4: 1.0}, 9, None)] == [2]


def test_twenty_tenants_see_nothing_of_each_other(client: QdrantClient) -> None:
    """10,000 probes: each tenant asks for each other's words and vectors."""
    tenants = [(points(client), points(client, 8)) for _ in range(20)]
    rows = unit_rows(20 * 25, 8, 5)
    for place, (own, near) in enumerate(tenants):
        numbers = range(place * 25, place * 25 + 25)
        QdrantWords(own, 2.0).put([(n, n, {0: 1, 1 + n: 1}) for n in numbers])
        QdrantVectors(near).put((n, n, rows[n]) for n in numbers)
    leaks = probes = 0
    for place, (own, near) in enumerate(tenants):
        inside = range(place * 25, place * 25 + 25)
        batch = {0: 0.1} | {1 + n: 1.0 for n in range(500)}
        found = [*own.search_words(batch, 500, None)]
        found += near.search_vectors(rows[place].astype(np.float32), 500, None, exact=True)
        probes += 500
        leaks += sum(one.chunk not in inside for one in found)
        assert len(found) == 50
    for own, _ in tenants[:2]:
        own.clear()
    assert [own.count() for own, _ in tenants] == [0, 0] + [25] * 18
    assert (leaks, probes) == (0, 10_000)


def test_a_collection_of_another_make_is_refused(
    client: QdrantClient, address: QdrantAddress
) -> None:
    path = f"/collections/{address.collection}-8"
    cosine = {"dense": {"size": 8, "distance": "Cosine", "datatype": "float16"}}
    client.request("PUT", path, {"vectors": cosine, "on_disk_payload": True})
    with pytest.raises(IndexMismatch, match="was not made by Fathom"):
        points(client, 8)


def test_no_collection_is_an_empty_one(client: QdrantClient) -> None:
    none = TenantPoints(client, uuid.uuid4(), None)
    assert (none.count(), list(none.iterate_chunks()), none.exists()) == (0, [], False)
    none.clear()
    assert none.search_words({1: 1.0}, 1, None) == []
    assert not none.has_mark(1)


def test_requests_are_of_the_official_schema(
    address: QdrantAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client of Qdrant's makers refuses fields that the server does not know."""
    models = pytest.importorskip("qdrant_client.http.models")
    shapes = {
        ("PUT", ""): models.CreateCollection,
        ("PUT", "/index"): models.CreateFieldIndex,
        ("PUT", "/points"): models.PointsList,
        ("POST", "/points/query"): models.QueryRequest,
        ("POST", "/points/query/batch"): models.QueryRequestBatch,
        ("POST", "/points/delete"): models.PointsSelector,
        ("POST", "/points/count"): models.CountRequest,
        ("POST", "/points/scroll"): models.ScrollRequest,
    }
    seen = set()
    asked = QdrantClient.request

    def checked(self, method, path, body=None, params=None):  # type: ignore[no-untyped-def]
        kind = method, path.removeprefix("/collections/").partition("/")[2]
        kind = method, f"/{kind[1]}" if kind[1] else ""
        if body is not None and kind in shapes:
            pydantic.TypeAdapter(shapes[kind]).validate_json(json.dumps(body))
            seen.add(kind)
        return asked(self, method, path, body, params)

    monkeypatch.setattr(QdrantClient, "request", checked)
    with QdrantClient(address, policy=QUICK) as client:
        words, near = points(client), points(client, 8)
        QdrantWords(words, 1.0).put([(1, 1, {1: 1})])
        QdrantVectors(near).put([(1, 1, unit_rows(1, 8, 1)[0])])
        words.search_words({1: 1.0}, 3, [1])
        near.search_vectors(np.ones(8, dtype=np.float32), 3, None, exact=False)
        assert (words.count(), list(near.iterate_chunks())) == (1, [1])
        near.store_mark(1)
        assert near.search_vectors(np.ones(8, dtype=np.float32), 3, None, exact=True, mark=1)
        assert near.has_mark(1)
        near.delete_other_marks(2)
        near.remove([1])
    assert seen == set(shapes)
