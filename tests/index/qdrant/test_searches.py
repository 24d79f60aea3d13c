"""Searches in a cluster find what the embedded index finds, for any number of shards."""

import json
import uuid
from collections import Counter
from collections.abc import Callable

import numpy as np
import pydantic
import pytest
from numpy.typing import NDArray
from tests.index.qdrant.conftest import make_unit_rows
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
ListedPredicate = Callable[[int], bool]
ServerStarter = Callable[..., EdgeServer]


def make_texts(count: int, seed: int) -> Texts:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    shares /= shares.sum()
    return [rng.choice(WORDS, size=rng.integers(1, 120), p=shares).tolist() for _ in range(count)]


def make_entries(some: Texts) -> list[tuple[int, int, dict[int, int]]]:
    return [
        (number, number // 4, {WORDS.index(term): count for term, count in Counter(terms).items()})
        for number, terms in enumerate(some)
    ]


def list_all(count: int) -> QdrantScope:
    return QdrantScope(chunks=count)


def build_truth(
    some: Texts, query: dict[int, float], average: float, listed: ListedPredicate = lambda _: True
) -> ScoreExactly:
    """Build the truth over these texts, or the listed ones, that scores candidates."""
    counts = {number: terms for number, _, terms in make_entries(some)}

    def score_exactly(numbers: Numbers) -> tuple[Numbers, Floats]:
        vectors = np.array([n for n in numbers if n in counts and listed(int(n))], dtype=np.int64)
        lengths = np.array([sum(counts[int(n)].values()) for n in vectors], dtype=np.int64)
        against, scores = compute_norms(quantise_lengths(lengths), average), np.zeros(len(vectors))
        for term, weight in query.items():
            held = np.array([counts[int(n)].get(term, 0) for n in vectors])
            scores += weight * held / (held + against)
        return vectors, scores

    return score_exactly


def search_words(words: QdrantWords, query: dict[str, int], some: Texts, k: int) -> ScoredChunks:
    weights, average = build_query(query, some)
    exact = build_truth(some, weights, average)
    return words.search(weights, average, exact, k=k, scope=list_all(len(some)))


def build_query(query: dict[str, int], some: Texts) -> tuple[dict[int, float], float]:
    frequencies = {term: sum(term in text for text in some) for term in query}
    statistics = Statistics(len(some), sum(map(len, some)), frequencies)
    weights = compute_query_weights(query, statistics)
    return {WORDS.index(term): weight for term, weight in weights.items()}, statistics.mean_length


def make_points(client: QdrantClient, dimension: int | None = None) -> TenantPoints:
    tenant_points = TenantPoints(client, uuid.uuid4(), dimension)
    tenant_points.create_collection()
    return tenant_points


def build_keyword_index(some: Texts) -> KeywordIndex:
    index = KeywordIndex(None, create=True)
    index.apply((KeywordEntry(n, n // 4, terms) for n, terms in enumerate(some)), [], "x.1")
    return index


def make_queries(count: int) -> list[dict[str, int]]:
    rng = np.random.default_rng(3)
    return [
        dict(Counter(rng.choice(WORDS, size=rng.integers(1, 7)).tolist())) for _ in range(count)
    ]


@pytest.mark.parametrize("made_with", [1.0, 0.4, 2.5])
def test_words_are_ranked_as_in_the_embedded_index(client: QdrantClient, made_with: float) -> None:
    """Also with weights made when chunks were shorter, or longer, on average."""
    some = make_texts(600, 1)
    embedded = build_keyword_index(some)
    _, average = build_query({}, some)
    words = QdrantWords(make_points(client), average * made_with)
    words.put(make_entries(some))
    for query in make_queries(25):
        scores = dict(search_words(words, query, some, 10))
        expected = dict(embedded.search(query, k=10, allowed=None))
        least = sorted(expected.values(), reverse=True)[:10][-1]
        assert {n for n, score in expected.items() if score > least * 1.00001} <= set(scores)
        for number, score in scores.items():
            assert score >= least * 0.99999
            if number in expected:
                assert score == pytest.approx(expected[number], rel=1e-5)


def test_several_shards_rank_as_one(start_edge_server: ServerStarter) -> None:
    some, vectors = make_texts(500, 2), make_unit_rows(500, 8, 2)
    results = []
    for shards in (1, 4):
        with QdrantClient(
            parse_qdrant_address(start_edge_server(shards=shards).url), policy=QUICK
        ) as client:
            tenant = make_points(client)
            words, near = QdrantWords(tenant, 50.0), QdrantVectors(make_points(client, 8))
            words.put(make_entries(some))
            near.put((n, n // 4, row) for n, row in enumerate(vectors))
            assert tenant.count() == 500
            assert sorted(tenant.iterate_chunks()) == list(range(500))
            rankings = [search_words(words, query, some, 10) for query in make_queries(25)]
            close = near.search(
                vectors[7].astype(np.float32),
                compute_cosines(vectors, 7),
                k=10,
                scope=list_all(500),
            )
            results.append(([sorted(ranking) for ranking in rankings], sorted(close)))
    assert results[0] == results[1]


def compute_cosines(vectors: NDArray[np.float16], query: int) -> ScoreExactly:
    rows = vectors.astype(np.float64)
    return lambda numbers: (numbers, (rows[numbers] * rows[query]).sum(axis=1))


def test_vectors_are_ranked_by_exact_cosine(client: QdrantClient) -> None:
    vectors = make_unit_rows(800, 8, 1)
    near = QdrantVectors(make_points(client, 8))
    near.put((number, number // 4, row) for number, row in enumerate(vectors))
    for query in (0, 17, 400):
        cosines = compute_cosines(vectors, query)
        _, every = cosines(np.arange(800))
        hits = near.search(vectors[query].astype(np.float32), cosines, k=20, scope=list_all(800))
        assert {number for number, _ in hits} == set(np.argsort(-every)[:20].tolist())
        assert all(score == every[number] for number, score in hits)


def test_unlisted_points_are_dropped_and_replaced_by_others(client: QdrantClient) -> None:
    same = [["w1"]] * 300
    words = QdrantWords(make_points(client), 1.0)
    words.put(make_entries(same))
    weights, average = build_query({"w1": 1}, same)
    odd = build_truth(same, weights, average, lambda number: number % 2 == 1)
    hits = words.search(weights, average, odd, k=5, scope=list_all(150))
    assert sorted(number for number, _ in hits) == list(range(1, 300, 2))  # all ties


def test_only_documents_in_scope_are_found(
    client: QdrantClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = make_texts(200, 4)
    words = QdrantWords(make_points(client), 50.0)
    words.put(make_entries(some))
    inside = np.array([*range(12, 16), *range(36, 40)])
    scope = QdrantScope(chunks=200, allowed=SearchScope(inside, np.array([3, 9])))
    weights, average = build_query({"w0": 1}, some)
    exact = build_truth(some, weights, average)
    held = [n for n in inside if "w0" in some[n]]
    assert sorted(n for n, _ in words.search(weights, average, exact, k=9, scope=scope)) == held
    # Too many to be named are dropped here.
    monkeypatch.setattr("fathom.index.qdrant.searches.MAX_NAMED_DOCUMENTS", 1)
    assert sorted(n for n, _ in words.search(weights, average, exact, k=9, scope=scope)) == held
    none = SearchScope(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    empty = QdrantScope(chunks=200, allowed=none)
    assert words.search(weights, average, exact, k=9, scope=empty) == []


def test_points_restored_from_before_a_mark_are_ignored(client: QdrantClient) -> None:
    tenant = make_points(client)
    words = QdrantWords(tenant, 3.0)
    words.put([(1, 1, {4: 1})])
    tenant.store_mark(1)
    assert [match.chunk for match in tenant.search_words({4: 1.0}, 3, None, 1)] == [1]
    tenant.store_mark(2)
    tenant.delete_other_marks(2)
    assert (tenant.has_mark(1), tenant.has_mark(2), tenant.count()) == (False, True, 1)
    with pytest.raises(MissingMarkError):
        tenant.search_words({4: 1.0}, 3, None, 1)
    with pytest.raises(MissingMarkError):
        words.search(
            {4: 1.0}, 3.0, build_truth([], {}, 3.0), k=1, scope=QdrantScope(chunks=1, mark=3)
        )
    tenant.clear()
    assert not tenant.has_mark(2)


def test_storing_twice_stores_once_and_replaced_points_are_replaced(client: QdrantClient) -> None:
    tenant = make_points(client)
    words = QdrantWords(tenant, 3.0)
    for terms in ({1: 1}, {1: 1}, {2: 4}):
        words.put([(5, 1, terms)])
    assert tenant.count() == 1
    assert tenant.search_words({1: 1.0}, 9, None) == []
    assert [match.chunk for match in tenant.search_words({2: 1.0}, 9, None)] == [5]
    tenant.remove([5, 6])
    tenant.remove([5])
    assert tenant.count() == 0


def test_a_chunk_without_words_is_counted_and_never_found(client: QdrantClient) -> None:
    tenant = make_points(client)
    words = QdrantWords(tenant, 3.0)
    words.put([(1, 1, {}), (2, 1, {4: 1})])
    assert tenant.count() == 2
    assert [match.chunk for match in tenant.search_words({4: 1.0}, 9, None)] == [2]


def test_twenty_tenants_see_nothing_of_each_other(client: QdrantClient) -> None:
    """Probe 10,000 times: each tenant asks for each other's words and vectors."""
    tenants = [(make_points(client), make_points(client, 8)) for _ in range(20)]
    rows = make_unit_rows(20 * 25, 8, 5)
    for place, (tenant, near) in enumerate(tenants):
        numbers = range(place * 25, place * 25 + 25)
        QdrantWords(tenant, 2.0).put([(n, n, {0: 1, 1 + n: 1}) for n in numbers])
        QdrantVectors(near).put((n, n, rows[n]) for n in numbers)
    leaks = probes = 0
    for place, (tenant, near) in enumerate(tenants):
        inside = range(place * 25, place * 25 + 25)
        batch = {0: 0.1} | {1 + n: 1.0 for n in range(500)}
        matches = [*tenant.search_words(batch, 500, None)]
        matches += near.search_vectors(rows[place].astype(np.float32), 500, None, exact=True)
        probes += 500
        leaks += sum(match.chunk not in inside for match in matches)
        assert len(matches) == 50
    for tenant, _ in tenants[:2]:
        tenant.clear()
    assert [tenant.count() for tenant, _ in tenants] == [0, 0] + [25] * 18
    assert (leaks, probes) == (0, 10_000)


def test_a_collection_of_another_layout_is_refused(
    client: QdrantClient, address: QdrantAddress
) -> None:
    path = f"/collections/{address.collection}-8"
    cosine = {"dense": {"size": 8, "distance": "Cosine", "datatype": "float16"}}
    client.request("PUT", path, {"vectors": cosine, "on_disk_payload": True})
    with pytest.raises(IndexMismatch, match="was not made by Fathom"):
        make_points(client, 8)


def test_a_missing_collection_counts_as_empty(client: QdrantClient) -> None:
    none = TenantPoints(client, uuid.uuid4(), None)
    assert (none.count(), list(none.iterate_chunks()), none.exists()) == (0, [], False)
    none.clear()
    assert none.search_words({1: 1.0}, 1, None) == []
    assert not none.has_mark(1)


def test_requests_follow_the_official_schema(
    address: QdrantAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The official client of Qdrant refuses fields that the server does not know."""
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
    paths = set()
    send_request = QdrantClient.request

    def check_request(self, method, path, body=None, params=None):  # type: ignore[no-untyped-def]
        kind = method, path.removeprefix("/collections/").partition("/")[2]
        kind = method, f"/{kind[1]}" if kind[1] else ""
        if body is not None and kind in shapes:
            pydantic.TypeAdapter(shapes[kind]).validate_json(json.dumps(body))
            paths.add(kind)
        return send_request(self, method, path, body, params)

    monkeypatch.setattr(QdrantClient, "request", check_request)
    with QdrantClient(address, policy=QUICK) as client:
        words, near = make_points(client), make_points(client, 8)
        QdrantWords(words, 1.0).put([(1, 1, {1: 1})])
        QdrantVectors(near).put([(1, 1, make_unit_rows(1, 8, 1)[0])])
        words.search_words({1: 1.0}, 3, [1])
        near.search_vectors(np.ones(8, dtype=np.float32), 3, None, exact=False)
        assert (words.count(), list(near.iterate_chunks())) == (1, [1])
        near.store_mark(1)
        assert near.search_vectors(np.ones(8, dtype=np.float32), 3, None, exact=True, mark=1)
        assert near.has_mark(1)
        near.delete_other_marks(2)
        near.remove([1])
    assert paths == set(shapes)
