"""Failures below a question: the outcome is typed and the trace names the reason."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.factories import QUESTION, engine_at, index_fees
from tests.scripted_server import raw, serve

from fathom.engine import Engine
from fathom.errors import ModelError
from fathom.models.base import Matrix
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder
from fathom.usage import Budget

COSTS = "A mooring permit costs 40 crowns a year. [1]"


@pytest.fixture(scope="module")
def fees_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return index_fees(tmp_path_factory.mktemp("fees"))


class BreakableEmbedder(HashingEmbedder):
    """A sound embedder that breaks on request."""

    def __init__(self, gives: Callable[[Matrix], Matrix]) -> None:
        super().__init__(64)
        self.gives = gives

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self.gives(super().embed(texts))


def refuse_connection(_: Matrix) -> Matrix:
    raise ConnectionError("the embedder is down")


def return_nan(_: Matrix) -> Matrix:
    raise ModelError("the embedder has lost its weights")


FAULTS: dict[str, tuple[Callable[[Matrix], Matrix], str]] = {
    "down": (refuse_connection, "ConnectionError in tests/test_faults.py"),
    "gone": (return_nan, "lost its weights"),
    "wrong dimension": (lambda vectors: vectors[:, :7], "shape (1, 7), expected (1, 64)"),
    "NaN": (lambda vectors: vectors * np.float32(np.nan), "are not numbers"),
    "zero": (lambda vectors: vectors * np.float32(0), "not of unit length"),
}


def open_with_embedder(folder: Path, gives: Callable[[Matrix], Matrix], retriever: str) -> Engine:
    tree = {"index": {"directory": folder / "index"}, "retrieval": {"retriever": retriever}}
    settings = Settings.model_validate(tree)
    return Engine(settings, embedder=BreakableEmbedder(gives), cross_reader=OVERLAP)


@pytest.mark.parametrize("retriever", ["hybrid", "vector"])
@pytest.mark.parametrize("fault", FAULTS)
def test_without_its_embedder_a_search_falls_back_on_words(
    fees_index: Path, fault: str, retriever: str
) -> None:
    gives, part = FAULTS[fault]
    with open_with_embedder(fees_index, gives, retriever) as engine:
        answer = engine.ask(QUESTION)
        trace = engine.traces.get(str(answer.trace_id))
        with pytest.raises(ModelError):
            engine.search(QUESTION)
    with open_with_embedder(fees_index, gives, retriever) as engine:
        assert engine.replay(trace.id).same
    assert answer.answer == COSTS
    (search,) = (step for step in trace.steps if step.name == "search")
    assert search.verdict == "fallback"
    assert search.reason.startswith("keyword search instead: the embedder ")
    assert part in search.reason


@pytest.mark.parametrize("fault", FAULTS)
def test_vectors_of_a_broken_embedder_never_enter_the_index(tmp_path: Path, fault: str) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("Some words.")
    gives, _ = FAULTS[fault]
    with open_with_embedder(tmp_path, gives, "hybrid") as engine, pytest.raises(ModelError):
        engine.ingest([tmp_path / "corpus"])
    with engine_at(tmp_path) as engine:
        assert [document.title for document in engine.documents.list()] == [
            "a"
        ]  # found by its words
        assert engine.status().lacking == 1
        assert engine.ingest([tmp_path / "corpus"]).unchanged == 1
        assert engine.status().lacking == 0
        assert engine.verify() == []


def test_a_reader_of_vectors_gets_no_document_without_them(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("Some words.")
    tree = {"index": {"directory": tmp_path / "index"}, "ingest": {"wait_vectors": True}}
    broken = Engine(
        Settings.model_validate(tree),
        embedder=BreakableEmbedder(refuse_connection),
        cross_reader=OVERLAP,
    )
    with broken as engine, pytest.raises(ModelError):
        engine.ingest([tmp_path / "corpus"])
    with engine_at(tmp_path) as engine:
        assert list(engine.documents.list()) == []
        assert engine.ingest([tmp_path / "corpus"]).new == 1


def open_with_model(folder: Path, url: str) -> Engine:
    pytest.importorskip("langchain_openai")
    return engine_at(
        folder, llm={"model": "openai:m", "base_url": url, "tries": 1, "skip_above_confidence": 2}
    )


def find_reason(engine: Engine, answer: Any) -> str:
    trace = engine.traces.get(str(answer.trace_id))
    return [step.reason for step in trace.steps if step.name == "read"][-1]


def test_an_unknown_host_falls_back_on_the_local_answer(fees_index: Path) -> None:
    with open_with_model(fees_index, "http://no-such-host.invalid/v1") as engine:
        answer = engine.ask(QUESTION, budget=Budget(seconds=20))
        assert engine.replay(str(answer.trace_id)).same
        assert find_reason(engine, answer).startswith("openai:m ")
    assert answer.answer == COSTS


def test_a_server_without_tls_falls_back_on_the_local_answer(fees_index: Path) -> None:
    with serve(raw("{}")) as server:
        url = server.base_url.replace("http://", "https://")
        with open_with_model(fees_index, url) as engine:
            answer = engine.ask(QUESTION, budget=Budget(seconds=4))
            assert engine.replay(str(answer.trace_id)).same
            assert "cannot be reached" in find_reason(engine, answer)
    assert answer.answer == COSTS
    assert server.calls == 0


@pytest.fixture
def slow_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Make name look-ups wait until the test lets them answer."""
    event = threading.Event()

    def getaddrinfo(*_: Any, **__: Any) -> Any:
        event.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield event
    event.set()


def test_a_silent_name_server_is_not_waited_for(
    fees_index: Path, slow_name_server: threading.Event
) -> None:
    threads = set(threading.enumerate())
    with open_with_model(fees_index, "http://slow.invalid/v1") as engine:
        answer = engine.ask(QUESTION, budget=Budget(seconds=1.5))
        assert not slow_name_server.is_set()
        assert answer.usage.seconds < 15
    assert answer.answer == COSTS
    slow_name_server.set()
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)
        assert not thread.is_alive()
