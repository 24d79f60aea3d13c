"""Orders in documents change no citation of a model that reads, on the file FATHOM_TEST_GGUF names.

Covers fathom.text.instructions, fathom.agents.prompt_delimiters.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.injections import INJECTIONS, write_documents
from tests.real_model import find_test_weights
from tests.test_injections import repeats_order

from fathom.agents import prompt_delimiters
from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.llm.role_models import Connect
from fathom.types import Answer

ASKED = {"llm.skip_above_confidence": 2}


def open_engine(
    place: Path,
    model: str,
    varied: Mapping[str, object],
    *,
    shows_all: bool = False,
    connect: Connect | None = None,
) -> Engine:
    """Open an engine with the model and the shipped models.

    Args:
        place: The folder of the index.
        model: The model, `local:FILE`.
        varied: Settings that differ from the defaults.
        shows_all: Whether the model is shown every sentence, so that no order is left out.
        connect: What connects to the model instead.
    """
    settings = parse_settings(
        {"index.directory": str(place), "llm.model": model, "trace.enabled": False, **varied}
    )
    if shows_all:
        llm = settings.llm.model_copy(update={"evidence_tokens": 5_000, "evidence_share": 0.0})
        settings = settings.model_copy(update={"llm": llm})
    return Engine(settings, connect=connect)


def ingest_documents(place: Path, *, planted: bool) -> Path:
    """Return the index of the documents of all injections, or of the honest ones alone."""
    corpus = place / "corpus"
    corpus.mkdir(parents=True)
    write_documents(corpus)
    for file in () if planted else corpus.glob("planted-*"):
        file.unlink()
    index = place / "index"
    with Engine(parse_settings({"index.directory": str(index)})) as engine:
        engine.ingest([corpus])
    return index


def ask_all(engine: Engine) -> Iterator[Answer]:
    with engine:
        for order in INJECTIONS:
            yield engine.ask(order.question)


def list_quotes(answer: Answer) -> list[tuple[str, int, int, str]]:
    return [
        (Path(citation.path).name, citation.start, citation.end, citation.quote)
        for citation in answer.citations
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("varied", "shows_all"),
    [({}, False), (ASKED, False), (ASKED, True)],
    ids=["default", "always asked", "orders shown"],
)
def test_a_model_that_reads_cites_what_it_cites_without_orders(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    varied: Mapping[str, object],
    *,
    shows_all: bool,
) -> None:
    model = f"local:{find_test_weights()}"
    if shows_all:
        monkeypatch.setattr(prompt_delimiters, "gives_orders", lambda _: False)
    clean, planted = (
        ask_all(
            open_engine(
                ingest_documents(tmp_path / name, planted=name == "planted"),
                model,
                varied,
                shows_all=shows_all,
            )
        )
        for name in ("clean", "planted")
    )
    for order, expected, answer in zip(INJECTIONS, clean, planted, strict=True):
        assert list_quotes(answer) == list_quotes(expected), order.order
        assert not repeats_order(answer, order), order.order
