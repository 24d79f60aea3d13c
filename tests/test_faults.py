"""Whatever breaks below a question, its end is typed and its trace says why."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.making import QUESTION, engine_at, ingested
from tests.scripted_server import raw, served

from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.models.base import Matrix
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder
from fathom.usage import Budget

COSTS = "A mooring permit costs 40 crowns a year. [1]"


@pytest.fixture(scope="module")
def fees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("fees"))


class Faulty(HashingEmbedder):
    """Sound until it is told to break."""

    def __init__(self, gives: Callable[[Matrix], Matrix]) -> None:
        super().__init__(64)
        self.gives = gives

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self.gives(super().embed(texts))


def down(_: Matrix) -> Matrix:
    raise ConnectionError("the embedder is down")


def gone(_: Matrix) -> Matrix:
    raise ModelError("the embedder has lost its weights")


FAULTS: dict[str, tuple[Callable[[Matrix], Matrix], str]] = {
    "down": (down, "ConnectionError in tests/test_faults.py"),
    "gone": (gone, "lost its weights"),
    "wrong dimension": (lambda vectors: vectors[:, :7], "shape (1, 7), expected (1, 64)"),
    "NaN": (lambda vectors: vectors * np.float32(np.nan), "are not numbers"),
    "zero": (lambda vectors: vectors * np.float32(0), "not of unit length"),
}


def with_embedder(folder: Path, gives: Callable[[Matrix], Matrix], retriever: str) -> Engine:
    tree = {"index": {"directory": folder / "index"}, "retrieval": {"retriever": retriever}}
    settings = Settings.model_validate(tree)
    return Engine(settings, embedder=Faulty(gives), cross_reader=OVERLAP)


@pytest.mark.parametrize("retriever", ["hybrid", "vector"])
@pytest.mark.parametrize("fault", FAULTS)
def test_without_its_embedder_a_search_falls_back_on_words(
    fees: Path, fault: str, retriever: str
) -> None:
    gives, part = FAULTS[fault]
    with with_embedder(fees, gives, retriever) as engine:
        answer = engine.ask(QUESTION)
        trace = engine.traces.get(str(answer.trace_id))
        with pytest.raises(ModelError):
            engine.search(QUESTION)
    with with_embedder(fees, gives, retriever) as engine:
        assert engine.replay(trace.id).same
    assert answer.answer == COSTS
    (search,) = (step for step in trace.steps if step.name == "search")
    assert search.verdict == "fallback"
    assert search.reason.startswith("keyword search instead: the embedder ")
    assert part in search.reason


@pytest.mark.parametrize("fault", FAULTS)
def test_no_vector_enters_the_index_that_a_broken_embedder_made(tmp_path: Path, fault: str) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("Some words.")
    gives, _ = FAULTS[fault]
    with with_embedder(tmp_path, gives, "hybrid") as engine, pytest.raises(ModelError):
        engine.ingest([tmp_path / "corpus"])
    with engine_at(tmp_path) as engine:
        assert [each.title for each in engine.documents.list()] == ["a"]  # found by its words
        assert engine.status().lacking == 1
        assert engine.ingest([tmp_path / "corpus"]).unchanged == 1
        assert engine.status().lacking == 0
        assert engine.verify() == []


def test_who_waits_for_vectors_gets_no_document_without_them(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("Some words.")
    tree = {"index": {"directory": tmp_path / "index"}, "ingest": {"wait_vectors": True}}
    broken = Engine(Settings.model_validate(tree), embedder=Faulty(down), cross_reader=OVERLAP)
    with broken as engine, pytest.raises(ModelError):
        engine.ingest([tmp_path / "corpus"])
    with engine_at(tmp_path) as engine:
        assert list(engine.documents.list()) == []
        assert engine.ingest([tmp_path / "corpus"]).new == 1


def with_model(folder: Path, url: str) -> Engine:
    pytest.importorskip("langchain_openai")
    return engine_at(
        folder, llm={"model": "openai:m", "base_url": url, "tries": 1, "skip_above_confidence": 2}
    )


def reason_of(engine: Engine, answer: Any) -> str:
    trace = engine.traces.get(str(answer.trace_id))
    return [step.reason for step in trace.steps if step.name == "read"][-1]


def test_a_host_that_nobody_knows_leaves_the_local_answer(fees: Path) -> None:
    with with_model(fees, "http://no-such-host.invalid/v1") as engine:
        answer = engine.ask(QUESTION, budget=Budget(seconds=20))
        assert engine.replay(str(answer.trace_id)).same
        assert reason_of(engine, answer).startswith("openai:m ")
    assert answer.answer == COSTS


def test_tls_with_a_server_that_speaks_none_leaves_the_local_answer(fees: Path) -> None:
    with served(raw("{}")) as server:
        url = server.base_url.replace("http://", "https://")
        with with_model(fees, url) as engine:
            answer = engine.ask(QUESTION, budget=Budget(seconds=4))
            assert engine.replay(str(answer.trace_id)).same
            assert "cannot be reached" in reason_of(engine, answer)
    assert answer.answer == COSTS
    assert server.calls == 0


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A name server that answers when it is told to."""
    event = threading.Event()

    def getaddrinfo(*_: Any, **__: Any) -> Any:
        event.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield event
    event.set()


def test_a_name_server_that_says_nothing_is_not_waited_for(
    fees: Path, slow_names: threading.Event
) -> None:
    threads = set(threading.enumerate())
    with with_model(fees, "http://slow.invalid/v1") as engine:
        answer = engine.ask(QUESTION, budget=Budget(seconds=1.5))
        assert not slow_names.is_set()
        assert answer.usage.seconds < 15
    assert answer.answer == COSTS
    slow_names.set()
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)
        assert not thread.is_alive()
