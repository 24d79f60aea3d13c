"""Answers of a language model have to earn their confidence in every shipped strategy.

Covers `fathom.agents.reader.confidence` and `fathom.agents.reader.llm` from the outside.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.factories import QUESTION, index_fees, read_fees
from tests.scripted_server import Extractive, serve

from fathom.engine import Engine
from fathom.registry import STRATEGIES
from fathom.settings import Settings
from fathom.testing.doubles import HashingEmbedder, ScriptedCrossReader

COSTS = "A mooring permit costs 40 crowns a year."
OFF = "It is paid at the harbour office."
ReplyFunction = Callable[[list[dict[str, str]]], str]


def make_copying_model(sentence: str, short: str) -> ReplyFunction:
    """Return a model that copies this sentence wherever it is shown."""

    def reply(messages: list[dict[str, str]]) -> str:
        chunks = re.split(r"=== [0-9a-f]{16} === chunk \d+", messages[1]["content"])[1:]
        place = next(at for at, text in enumerate(chunks, start=1) if sentence in text)
        sentence_reply = {"quotes": [{"chunk": place, "quote": sentence}], "text": sentence}
        return json.dumps({"answer": {"sentences": [sentence_reply], "short_answer": short}})

    return reply


def open_engine(folder: Path, base_url: str, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setenv("SCRIPTED_KEY", "scripted")
    model = {"model": "openai:m", "base_url": base_url, "key_env": "SCRIPTED_KEY", "tries": 1}
    llm = {**model, "skip_above_confidence": 2, "fallback": "abstain"}
    tree = {"index": {"directory": folder / "index"}, "llm": llm}
    reader = ScriptedCrossReader(read_fees)
    settings = Settings.model_validate(tree)
    return Engine(settings, embedder=HashingEmbedder(64), cross_reader=reader)


@pytest.fixture(scope="module")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return index_fees(tmp_path_factory.mktemp("answers"))


@pytest.mark.parametrize("strategy", ["naive", "maf"])
def test_an_irrelevant_sentence_is_not_an_answer_even_if_copied_exactly(
    index_folder: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        serve(Extractive(make_copying_model(OFF, "harbour office"))) as server,
        open_engine(index_folder, server.base_url, monkeypatch) as opened,
    ):
        answer = opened.ask(QUESTION, strategy=strategy)
        trace = opened.trace(answer.trace_id or "")
    reader = next(step for step in trace.steps if step.verdict == "model")
    assert reader.outputs["confidence"] < 0.3
    if strategy == "naive":
        assert (answer.status, answer.stop_reason) == ("abstained", "low_confidence")
    else:
        verdicts = [step.verdict for step in trace.steps if step.agent == "maf"]
        assert verdicts[0] == "escalate"


@pytest.mark.parametrize("strategy", ["naive", "maf"])
def test_the_sentence_that_answers_is_accepted_at_once(
    index_folder: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        serve(Extractive(make_copying_model(COSTS, "40 crowns"))) as server,
        open_engine(index_folder, server.base_url, monkeypatch) as opened,
    ):
        answer = opened.ask(QUESTION, strategy=strategy)
    assert (answer.status, answer.short_answer) == ("answered", "40 crowns")
    assert answer.phase == {"naive": "read", "maf": "vor"}[strategy]


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_the_model_is_asked_every_question_where_no_confidence_is_enough(
    index_folder: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even a question of which the local reader is sure goes to the model, in every strategy."""
    with (
        serve(Extractive(make_copying_model(COSTS, "40 crowns"))) as server,
        open_engine(index_folder, server.base_url, monkeypatch) as opened,
    ):
        answer = opened.ask("What does a mooring permit cost a year?", strategy=strategy)
        assert answer.usage.llm_calls >= 1
        assert server.calls >= 1
