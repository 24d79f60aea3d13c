from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.engine import Engine
from fathom.retrieval.vector import VectorFeedback
from fathom.types import Query

TEXTS = {
    "one": "The helicase unwinds the helix. A helicase needs energy from nucleotides.",
    "two": "Nucleotides give energy.",
    "three": "A ferry sails at noon.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("feedback")
    (folder / "corpus").mkdir()
    for name, text in TEXTS.items():
        (folder / "corpus" / f"{name}.txt").write_text(text)
    with engine_at(folder) as opened:
        opened.ingest([folder / "corpus"])
        yield opened


def find_documents(engine: Engine, name: str, question: str) -> list[str]:
    hits = engine.retriever(name).retrieve(Query(text=question), k=3)
    return [hit.chunk.title for hit in hits]


def test_words_of_the_best_hits_find_more_than_the_query(engine: Engine) -> None:
    assert find_documents(engine, "keyword", "What unwinds a helix?") == ["one"]
    assert find_documents(engine, "keyword_feedback", "What unwinds a helix?") == ["one", "two"]


def test_the_query_moves_towards_its_best_hit(engine: Engine) -> None:
    query = Query(text="What unwinds a helix?")
    index, embedder = engine.reader(), engine.embedder
    plain, moved = (
        VectorFeedback(
            index=index, embedder=embedder, texts=embedder, hits=1, original=share
        ).retrieve(query, k=1)
        for share in (1.0, 0.5)
    )
    assert plain[0].chunk == moved[0].chunk
    assert plain[0].score < moved[0].score


def test_a_query_without_hits_stays_without_hits(engine: Engine) -> None:
    assert find_documents(engine, "keyword_feedback", "zzz") == []
    assert len(find_documents(engine, "vector_feedback", "!?")) <= 3
