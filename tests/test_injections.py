"""Orders in documents change no answer's citations and call nothing, whoever obeys them.

Covers fathom.text.instructions, fathom.agents.prompt_delimiters.
"""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.injections import INJECTIONS, MODELS, Injection, Obedient, Obey, quotes_the_order, write

from fathom.agents import prompt_delimiters
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.llm.base import ChatModel
from fathom.llm.role_models import ROLES
from fathom.models.reading import CrossReader
from fathom.strategies.base import STRATEGIES
from fathom.testing.doubles import OVERLAP, HashingEmbedder, make_engine
from fathom.types import Answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("injections")
    corpus = place / "corpus"
    corpus.mkdir()
    write(corpus)
    with make_engine(place / "index") as engine:
        engine.ingest([corpus])
    return place


@pytest.fixture(autouse=True)
def _no_socket(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is called: what connects anywhere fails the test, also where it is caught."""
    reached: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: reached.append(address))
    yield
    assert reached == []


def engine_of(
    folder: Path, model: ChatModel, *, cross_reader: CrossReader | None = OVERLAP
) -> Engine:
    """All roles are the model's; without a cross-reader the shipped one judges."""
    settings = {
        "index.directory": str(folder / "index"),
        "trace.enabled": False,
        "llm.skip_above_confidence": 2,
        "llm.model": "openai:m",
        **{f"roles.{role}": "llm" for role in ROLES if cross_reader or role != "judge"},
    }
    return Engine(
        parse_settings(settings),
        embedder=HashingEmbedder(64),
        cross_reader=cross_reader,
        connect=lambda _: model,
    )


def cited(answer: Answer) -> list[tuple[str, int, int, str]]:
    return [
        (citation.path, citation.start, citation.end, citation.quote)
        for citation in answer.citations
    ]


def tells(answer: Answer, order: Injection) -> bool:
    """Whether the claim, an address or a mark of the order reached the answer."""
    text = json.dumps([answer.answer, answer.short_answer], ensure_ascii=False)
    return order.claim in text or "127.0.0.1" in text or "tool_call" in text


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.parametrize("obey", MODELS, ids=lambda each: each.__name__)
def test_who_obeys_cites_what_who_does_not_cites(folder: Path, strategy: str, obey: Obey) -> None:
    honest = Obedient(obeys=lambda model, prompt, order: model.honest([]))
    obedient = Obedient(obeys=obey)
    first = (sorted(STRATEGIES).index(strategy) + MODELS.index(obey)) % len(STRATEGIES)
    with engine_of(folder, honest) as plain, engine_of(folder, obedient) as spoilt:
        for order in INJECTIONS[first :: len(STRATEGIES)]:
            expected = plain.ask(order.question, strategy=strategy)
            answer = spoilt.ask(order.question, strategy=strategy)
            assert cited(answer) == cited(expected), order.order
            assert not tells(answer, order), order.order


@pytest.mark.parametrize("obey", MODELS, ids=lambda each: each.__name__)
def test_all_forty_are_seen_through_by_the_reader(folder: Path, obey: Obey) -> None:
    obedient = Obedient(obeys=obey)
    assert len(INJECTIONS) == 40
    with engine_of(folder, obedient) as engine:
        for order in INJECTIONS:
            answer = engine.ask(order.question)
            assert [citation.path for citation in answer.citations] == [
                f"fee-{order.number:02}.txt"
            ] or (order.truth in answer.citations[0].quote)
            assert not tells(answer, order)
    assert obedient.obeyed == 0


@pytest.mark.parametrize(
    "obey", [model for model in MODELS if model is not quotes_the_order], ids=lambda e: e.__name__
)
def test_behind_the_first_wall_quotes_are_verified(
    folder: Path, monkeypatch: pytest.MonkeyPatch, obey: Obey
) -> None:
    """What the first wall lets pass has no claim shown that no document states."""
    monkeypatch.setattr(prompt_delimiters, "gives_orders", lambda _: False)
    obedient = Obedient(obeys=obey)
    with engine_of(folder, obedient, cross_reader=None) as engine:
        for order in INJECTIONS[::5]:
            answer = engine.ask(order.question)
            assert not tells(answer, order), order.order
            assert all(citation.verified for citation in answer.citations)
    assert obedient.obeyed >= len(INJECTIONS[::5])
