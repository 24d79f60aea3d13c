"""The additions of the hybrid retriever: definitions come first, words are looked up in
parallel.
"""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.retrieval.hits import make_hit

from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.models.base import Matrix
from fathom.models.runtime import count_cores
from fathom.retrieval.hybrid import HybridRetriever, put_definitions_first
from fathom.testing.doubles import HashingEmbedder
from fathom.types import Query


def test_a_definition_of_the_term_comes_first_and_the_rest_keeps_its_order() -> None:
    hits = [
        make_hit("The levy is paid at the levy office.", document="a", score=0.9, rank=1),
        make_hit("Who owes a levy pays it.", document="b", score=0.8, rank=2),
        make_hit("2. Levy (or due) means what a ship pays.", document="c", score=0.7, rank=3),
        make_hit("A quay is a wall.", document="d", score=0.6, rank=4),
    ]
    ordered = put_definitions_first(hits, "levy")
    assert [hit.chunk.document_id for hit in ordered] == ["a", "c", "b", "d"]
    assert [hit.rank for hit in ordered] == [1, 2, 3, 4]
    scores = [hit.score for hit in ordered]
    assert scores == sorted(scores, reverse=True)
    assert put_definitions_first([], "levy") == []


def test_a_definition_is_found_among_many_mentions(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(14):
        text = (
            f"Berth levy {number}: the berth levy of berth {number}, a levy, is paid to the berth."
        )
        (corpus / f"mention-{number}.txt").write_text(text, encoding="utf-8")
    defined = "Words used here.\n\nBerth levy means what a ship pays each day for lying at a wall."
    (corpus / "words.txt").write_text(defined, encoding="utf-8")
    with Engine.open(tmp_path / "index", {"offline": True}) as engine:
        engine.ingest([corpus])
        (first,) = engine.search("What does berth levy mean?", k=1)
        assert first.chunk.path.endswith("words.txt")
        mentions = engine.search("berth levy", k=5)
        assert not any(hit.chunk.path.endswith("words.txt") for hit in mentions)
        answer = engine.ask("What does berth levy mean?")
        assert answer.citations[0].quote.startswith("Berth levy means what a ship pays")


class WaitingEmbedder:
    """An embedder that waits until the words are looked up, or until the end."""

    def __init__(self, *, looked_up: Event, fails: bool = False) -> None:
        self._real, self._asked, self._fails = HashingEmbedder(), looked_up, fails
        self.saw = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def embed(self, texts: Sequence[str]) -> Matrix:
        if texts == ["the quay"]:
            self.saw = self._asked.wait(20)
            if self._fails:
                raise ModelError("no vector")
        return self._real.embed(texts)


@contextmanager
def open_quay(
    place: Path, *, fails: bool = False
) -> Iterator[tuple[Engine, WaitingEmbedder, Event]]:
    (place / "quay.txt").write_text("The quay is a wall.", encoding="utf-8")
    begun, done = Event(), Event()
    embedder = WaitingEmbedder(looked_up=begun, fails=fails)
    with Engine.open(place / "index") as real:
        settings = real.settings
    with Engine(settings, embedder=embedder) as engine:
        engine.ingest([place / "quay.txt"])
        index = engine.reader()
        plain = index.keyword_search

        def record_search(*args: Any, **kwargs: Any) -> Any:
            begun.set()
            matches = plain(*args, **kwargs)
            done.set()
            return matches

        index.keyword_search = record_search  # type: ignore[method-assign]
        yield engine, embedder, done


@pytest.mark.skipif(count_cores() == 1, reason="one core has nothing to do beside")
def test_words_are_looked_up_while_the_question_is_embedded(tmp_path: Path) -> None:
    with open_quay(tmp_path) as (engine, embedder, _):
        (hit,) = engine.search("the quay")
        assert hit.found_by == 2
        assert embedder.saw


@pytest.mark.skipif(count_cores() == 1, reason="one core has nothing to do beside")
def test_without_a_vector_no_thread_keeps_searching(tmp_path: Path) -> None:
    with open_quay(tmp_path, fails=True) as (engine, _, done):
        with pytest.raises(ModelError, match="no vector"):
            engine.search("the quay")
        assert done.is_set()


def test_words_are_looked_up_by_the_caller_if_all_threads_are_busy(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "index") as engine, ThreadPoolExecutor(1) as pool:
        (tmp_path / "quay.txt").write_text("The quay is a wall.", encoding="utf-8")
        engine.ingest([tmp_path / "quay.txt"])
        hybrid = engine.retriever("hybrid")
        assert isinstance(hybrid, HybridRetriever)
        end = Event()
        pool.submit(end.wait)
        try:
            hits = replace(hybrid, executor=pool).retrieve(Query(text="the quay"), k=3)
        finally:
            end.set()
        assert hits == replace(hybrid, executor=None).retrieve(Query(text="the quay"), k=3)


def make_engine_at_quay(tmp_path: Path) -> Engine:
    (tmp_path / "levy.txt").write_text("The levy is paid at the quay.", encoding="utf-8")
    engine = Engine.open(tmp_path / "index", {"offline": True})
    engine.ingest([tmp_path / "levy.txt"])
    return engine


def test_a_search_is_complete_after_its_threads_have_ended(tmp_path: Path) -> None:
    with make_engine_at_quay(tmp_path) as engine:
        before = engine.search("levy")
        engine.models.close()
        ended = ThreadPoolExecutor(1)
        ended.shutdown()
        vars(engine.models)["lookup_pool"] = ended
        assert engine.search("levy") == before


@pytest.mark.skipif(count_cores() < 2, reason="nothing is done beside a search on one core")
def test_a_search_that_ends_while_its_engine_closes_leaves_no_thread(tmp_path: Path) -> None:
    engine = make_engine_at_quay(tmp_path)
    at_work, closing = threading.Event(), threading.Event()

    def search_late() -> None:
        at_work.set()
        closing.wait(30)
        with engine.open_snapshot() as index:
            beside = HybridRetriever.of(engine.assembly, index).executor
        assert beside is not None
        beside.submit(int).result()

    engine.executor.submit(search_late)
    at_work.wait(30)
    threading.Timer(0.5, closing.set).start()  # `close` has ended the threads by then, and waits
    engine.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("words")]
