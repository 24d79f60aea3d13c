from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.engine import Engine
from fathom.types import Filter, Query

FERRY = "The ferry sails at noon."
SHEEP = "Sheep graze on the hills all summer long and come down before the snow. " * 4
TEXTS = {
    "harbour": f"# Harbour\n\n{SHEEP}\n\n" + f"## Ferry\n\n{f'{FERRY} ' * 12}\n\n" * 40,
    "ferry": f"# Ferry\n\n{FERRY} It is blue.\n\n## Fares\n\n{SHEEP}",
    "hills": f"# Hills\n\n{SHEEP}\n\n## Ferry\n\n{FERRY}",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("lead")
    (folder / "corpus").mkdir()
    for name, text in TEXTS.items():
        (folder / "corpus" / f"{name}.md").write_text(text)
    with engine_at(folder, chunking={"max_tokens": 64}) as opened:
        opened.ingest([folder / "corpus"])
        yield opened


def test_beginnings_are_found_behind_any_number_of_nearer_places(engine: Engine) -> None:
    query = Query(text=FERRY)
    nearest = engine.retriever("vector").retrieve(query, k=12)
    assert [hit.chunk.ordinal == 0 for hit in nearest] == [False] * 12

    hits = engine.retriever("lead").retrieve(query, k=3)

    assert [hit.chunk.ordinal for hit in hits] == [0, 0, 0]
    assert hits[0].chunk.title == "Ferry"


def test_beginnings_are_ordered_as_in_vector_search(engine: Engine) -> None:
    query = Query(text="Where do sheep graze?")
    every = engine.retriever("vector").retrieve(query, k=engine.status().chunks)
    firsts = [(hit.chunk, hit.score) for hit in every if hit.chunk.ordinal == 0]

    for k in (1, 2, 9):
        hits = engine.retriever("lead").retrieve(query, k=k)
        assert [(hit.chunk, hit.score) for hit in hits] == firsts[:k]


def test_filters_apply_to_beginnings(engine: Engine) -> None:
    query = Query(text=FERRY, filters=(Filter("title", "in", ("Harbour", "Hills")),))
    titles = {hit.chunk.title for hit in engine.retriever("lead").retrieve(query, k=3)}
    assert titles == {"Harbour", "Hills"}
