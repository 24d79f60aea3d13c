"""What every retriever promises, over a real index."""

from collections.abc import Iterator

import pytest

from fathom.config import IndexSettings, Settings
from fathom.engine import Engine
from fathom.models.hashing import HashingEmbedder
from fathom.types import Filter, Query

TEXTS = {
    "ferry.md": "# Ferry\n\nThe ferry to the island sails at noon and at six.",
    "bridge.md": "# Bridge\n\nThe bridge to the island is closed in winter.",
    "permit.md": "# Permit\n\nA mooring permit costs forty crowns a year.",
    "izin.md": "# Izin\n\nBiaya izin tambat kapal adalah empat puluh ribu rupiah.",
    "copy.md": "# Copy\n\nThe bridge to the island is closed in winter.",
}
QUERIES = ("when does the ferry sail", "bridge island winter", "berapa biaya izin", "zzz qqq", "!?")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("corpus")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    settings = Settings(index=IndexSettings(directory=folder / "index"))
    with Engine(settings, embedder=HashingEmbedder(dimension=64)) as made:
        made.ingest([folder])
        yield made


NAMES = ("vector", "keyword", "hybrid", "lead", "sentence", "vector_feedback", "keyword_feedback")


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("k", [1, 3, 50])
def test_ranks_have_no_gaps_and_scores_never_grow(
    engine: Engine, name: str, text: str, k: int
) -> None:
    hits = engine.retriever(name).retrieve(Query(text=text), k=k)
    assert len(hits) <= k
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert {hit.retriever for hit in hits} <= {name}
    assert len({hit.chunk.id for hit in hits}) == len(hits)


def test_a_shorter_list_is_the_beginning_of_a_longer_one(engine: Engine, name: str) -> None:
    retriever = engine.retriever(name)
    query = Query(text="bridge island winter")
    assert retriever.retrieve(query, k=2) == retriever.retrieve(query, k=4)[:2]


def test_the_same_query_gives_the_same_list(engine: Engine, name: str) -> None:
    query = Query(text="island")
    assert engine.retriever(name).retrieve(query, k=5) == engine.retriever(name).retrieve(
        query, k=5
    )


def test_every_hit_is_cut_from_its_document(engine: Engine, name: str) -> None:
    for hit in engine.retriever(name).retrieve(Query(text="island permit"), k=9):
        document = engine.document(hit.chunk.document_id)
        assert hit.chunk.span.cut(document.text) == hit.chunk.text


def test_filters_hold_for_every_hit(engine: Engine, name: str) -> None:
    query = Query(text="izin permit", filters=(Filter("language", "=", "id"),))
    hits = engine.retriever(name).retrieve(query, k=9)
    assert {engine.document(hit.chunk.document_id).language for hit in hits} == {"id"}
