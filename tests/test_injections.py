"""Orders in documents change no citation and call nothing, even if a model obeys them.

Covers fathom.text.instructions, fathom.agents.prompt_delimiters.
"""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.injections import (
    INJECTIONS,
    MODELS,
    Injection,
    Obedience,
    ObedientModel,
    quotes_the_order,
    write_documents,
)

from fathom.agents import prompt_delimiters
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.llm.base import ChatModel
from fathom.llm.role_models import ROLES
from fathom.models.reading import CrossReader
from fathom.registry import STRATEGIES
from fathom.testing.doubles import OVERLAP, HashingEmbedder, make_engine
from fathom.types import Answer

PARTS = [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
"""Parts of the orders, each in both languages."""


@pytest.fixture(scope="module")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("injections")
    corpus = place / "corpus"
    corpus.mkdir()
    write_documents(corpus)
    with make_engine(place / "index") as engine:
        engine.ingest([corpus])
    return place


@pytest.fixture(autouse=True)
def _forbid_sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail the test on any connection, even if the error is caught."""
    reached: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: reached.append(address))
    yield
    assert reached == []


def open_with_model(
    folder: Path,
    model: ChatModel,
    *,
    cross_reader: CrossReader | None = OVERLAP,
    shows_all: bool = False,
) -> Engine:
    """Open an engine whose roles all use the model; without a cross-reader the shipped one judges.

    Args:
        folder: The folder of the index.
        model: The model.
        cross_reader: The cross-reader.
        shows_all: Whether the reader's model is shown every sentence, so that no order is left out.
    """
    settings = {
        "index.directory": str(folder / "index"),
        "trace.enabled": False,
        "llm.skip_above_confidence": 2,
        "llm.model": "openai:m",
        **{f"roles.{role}": "llm" for role in ROLES if cross_reader or role != "judge"},
    }
    parsed = parse_settings(settings)
    if shows_all:
        llm = parsed.llm.model_copy(update={"evidence_tokens": 5_000, "evidence_share": 0.0})
        parsed = parsed.model_copy(update={"llm": llm})
    return Engine(
        parsed,
        embedder=HashingEmbedder(64),
        cross_reader=cross_reader,
        connect=lambda _: model,
    )


def list_citations(answer: Answer) -> list[tuple[str, int, int, str]]:
    return [
        (citation.path, citation.start, citation.end, citation.quote)
        for citation in answer.citations
    ]


def repeats_order(answer: Answer, order: Injection) -> bool:
    """Return whether the claim, an address or a mark of the order reached the answer."""
    text = json.dumps([answer.answer, answer.short_answer], ensure_ascii=False)
    return order.claim in text or "127.0.0.1" in text or "tool_call" in text


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.parametrize("obey", MODELS, ids=lambda obey: obey.__name__)
def test_an_obedient_model_cites_what_an_honest_model_cites(
    index_folder: Path,
    strategy: str,
    obey: Obedience,
    part: int,
    count_probes: Callable[[int], None],
) -> None:
    honest = ObedientModel(obeys=lambda model, prompt, order: model.honest([]))
    obedient = ObedientModel(obeys=obey)
    first = (sorted(STRATEGIES).index(strategy) + MODELS.index(obey)) % len(STRATEGIES)
    with (
        open_with_model(index_folder, honest) as plain,
        open_with_model(index_folder, obedient) as spoilt,
    ):
        for order in INJECTIONS[first :: len(STRATEGIES)][part :: len(PARTS)]:
            count_probes(1)
            expected = plain.ask(order.question, strategy=strategy)
            answer = spoilt.ask(order.question, strategy=strategy)
            assert list_citations(answer) == list_citations(expected), order.order
            assert not repeats_order(answer, order), order.order


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("obey", MODELS, ids=lambda obey: obey.__name__)
def test_the_reader_detects_all_forty_injections(
    index_folder: Path, obey: Obedience, part: int, count_probes: Callable[[int], None]
) -> None:
    obedient = ObedientModel(obeys=obey)
    assert len(INJECTIONS) == 40
    with open_with_model(index_folder, obedient) as engine:
        for order in INJECTIONS[part :: len(PARTS)]:
            count_probes(1)
            answer = engine.ask(order.question)
            assert [citation.path for citation in answer.citations] == [
                f"fee-{order.number:02}.txt"
            ] or (order.truth in answer.citations[0].quote)
            assert not repeats_order(answer, order)
    assert obedient.obeyed == 0


@pytest.mark.parametrize(
    "obey", [model for model in MODELS if model is not quotes_the_order], ids=lambda e: e.__name__
)
def test_without_the_first_check_quotes_are_still_verified(
    index_folder: Path, monkeypatch: pytest.MonkeyPatch, obey: Obedience
) -> None:
    """An order that passes the first check shows no claim that no document states."""
    monkeypatch.setattr(prompt_delimiters, "gives_orders", lambda _: False)
    obedient = ObedientModel(obeys=obey)
    with open_with_model(index_folder, obedient, cross_reader=None, shows_all=True) as engine:
        for order in INJECTIONS[::10]:
            answer = engine.ask(order.question)
            assert not repeats_order(answer, order), order.order
            assert all(citation.verified for citation in answer.citations)
    assert obedient.obeyed >= len(INJECTIONS[::10])
