"""What a cluster finds is what the embedded index finds, however its shards lie."""

import json
import uuid
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.qdrant.conftest import QUICK, EdgeServer, unit_rows

from fathom.errors import IndexMismatch
from fathom.index.bm25 import Statistics, query_weights
from fathom.index.embedded.keyword import Entered, KeywordLeg
from fathom.index.qdrant.address import QdrantAddress, qdrant_address
from fathom.index.qdrant.client import QdrantClient
from fathom.index.qdrant.collection import TenantPoints
from fathom.index.qdrant.searches import QdrantVectors, QdrantWords, Scope

WORDS = [f"w{number}" for number in range(200)]
Texts = list[list[str]]
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


def everything(count: int) -> Scope:
    return Scope(chunks=count, documents=None, listed=lambda numbers: numbers < count)


def weighted(query: dict[str, int], some: Texts) -> tuple[dict[int, float], float]:
    frequencies = {term: sum(term in text for text in some) for term in query}
    statistics = Statistics(len(some), sum(map(len, some)), frequencies)
    weights = query_weights(query, statistics)
    return {WORDS.index(term): weight for term, weight in weights.items()}, statistics.average


def points(client: QdrantClient, dimension: int | None = None) -> TenantPoints:
    made = TenantPoints(client, uuid.uuid4(), dimension)
    made.make()
    return made


def leg(some: Texts) -> KeywordLeg:
    made = KeywordLeg(None, create=True)
    made.apply((Entered(n, n // 4, terms) for n, terms in enumerate(some)), [], "x.1")
    return made


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
        weights, average = weighted(query, some)
        found = dict(words.search(weights, average, k=10, scope=everything(len(some))))
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
        with QdrantClient(qdrant_address(edge_server(shards=shards).url), policy=QUICK) as client:
            tenant = points(client)
            words, near = QdrantWords(tenant, 50.0), QdrantVectors(points(client, 8))
            words.put(entered(some))
            near.put((n, n // 4, row) for n, row in enumerate(vectors))
            assert tenant.count() == 500
            assert sorted(tenant.chunks()) == list(range(500))
            found = [
                words.search(*weighted(query, some), k=10, scope=everything(500))
                for query in queries(25)
            ]
            close = near.search(
                vectors[7].astype(np.float32),
                exact_cosines(vectors, 7),
                k=10,
                scope=everything(500),
            )
            results.append(([sorted(one) for one in found], sorted(close)))
    assert results[0] == results[1]


def exact_cosines(
    vectors: NDArray[np.float16], query: int
) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    rows = vectors.astype(np.float64)
    return lambda numbers: (rows[numbers] * rows[query]).sum(axis=1)


def test_vectors_by_exact_cosine(client: QdrantClient) -> None:
    vectors = unit_rows(800, 8, 1)
    near = QdrantVectors(points(client, 8))
    near.put((number, number // 4, row) for number, row in enumerate(vectors))
    for query in (0, 17, 400):
        cosines = exact_cosines(vectors, query)
        every = cosines(np.arange(800))
        found = near.search(vectors[query].astype(np.float32), cosines, k=20, scope=everything(800))
        assert {number for number, _ in found} == set(np.argsort(-every)[:20].tolist())
        assert all(score == every[number] for number, score in found)


def test_what_is_not_listed_is_dropped_and_made_up_for(client: QdrantClient) -> None:
    same = [["w1"]] * 300
    words = QdrantWords(points(client), 1.0)
    words.put(entered(same))
    odd = Scope(chunks=150, documents=None, listed=lambda numbers: numbers % 2 == 1)
    weights, average = weighted({"w1": 1}, same)
    found = words.search(weights, average, k=5, scope=odd)
    assert sorted(number for number, _ in found) == list(range(1, 300, 2))  # all ties


def test_only_documents_in_scope(client: QdrantClient) -> None:
    some = texts(200, 4)
    words = QdrantWords(points(client), 50.0)
    words.put(entered(some))
    scope = Scope(
        chunks=8, documents=np.array([3, 9]), listed=lambda numbers: np.isin(numbers // 4, [3, 9])
    )
    weights, average = weighted({"w0": 1}, some)
    held = [n for n in (*range(12, 16), *range(36, 40)) if "w0" in some[n]]
    assert sorted(n for n, _ in words.search(weights, average, k=9, scope=scope)) == held
    empty = Scope(chunks=0, documents=np.array([], dtype=np.int64), listed=lambda n: n < 0)
    assert words.search(weights, average, k=9, scope=empty) == []


def test_twice_is_once_and_replaced_is_replaced(client: QdrantClient) -> None:
    tenant = points(client)
    words = QdrantWords(tenant, 3.0)
    for terms in ({1: 1}, {1: 1}, {2: 4}):
        words.put([(5, 1, terms)])
    assert tenant.count() == 1
    assert words.search({1: 1.0}, 3.0, k=1, scope=everything(9)) == []
    tenant.remove([5, 6])
    tenant.remove([5])
    assert tenant.count() == 0


def test_a_chunk_without_words_is_counted_and_never_found(client: QdrantClient) -> None:
    tenant = points(client)
    words = QdrantWords(tenant, 3.0)
    words.put([(1, 1, {}), (2, 1, {4: 1})])
    assert tenant.count() == 2
    assert [n for n, _ in words.search({4: 1.0}, 3.0, k=5, scope=everything(9))] == [2]


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
        found = [*own.worded(batch, 500, None)]
        found += near.nearest(rows[place].astype(np.float32), 500, None, exact=True)
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
    assert (none.count(), list(none.chunks()), none.is_there()) == (0, [], False)
    none.clear()
    assert QdrantWords(none, 1.0).search({1: 1.0}, 1.0, k=1, scope=everything(1)) == []


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
        ("POST", "/points/count"): models.CountRequest,
        ("POST", "/points/scroll"): models.ScrollRequest,
    }
    seen = set()
    asked = QdrantClient.request

    def checked(self, method, path, body=None, params=None):  # type: ignore[no-untyped-def]
        kind = method, path.removeprefix("/collections/").partition("/")[2]
        kind = method, f"/{kind[1]}" if kind[1] else ""
        if body is not None and kind in shapes:
            shapes[kind].model_validate_json(json.dumps(body))
            seen.add(kind)
        return asked(self, method, path, body, params)

    monkeypatch.setattr(QdrantClient, "request", checked)
    with QdrantClient(address, policy=QUICK) as client:
        words, near = points(client), points(client, 8)
        QdrantWords(words, 1.0).put([(1, 1, {1: 1})])
        QdrantVectors(near).put([(1, 1, unit_rows(1, 8, 1)[0])])
        words.worded({1: 1.0}, 3, [1])
        near.nearest(np.ones(8, dtype=np.float32), 3, None, exact=False)
        assert (words.count(), list(near.chunks())) == (1, [1])
    assert seen == set(shapes)
