"""Promises of every strategy whose roles use a language model, over a real socket.

The stand-in that quotes its prompt is there because every one of its replies is usable, so that
each role goes to its end. The real model tells what else may come.
"""

import asyncio
import json
from pathlib import Path

import pytest
from experiments.lab.stub_llm import ExtractiveModel
from tests.factories import QUESTION, SAMPLES, engine_at, index_fees
from tests.real_model import LOCAL, RealModel
from tests.role_mixes import sections
from tests.scripted_server import Extractive, serve

from fathom.engine import Engine
from fathom.engine.request import AskRequest
from fathom.jsonable import dump_canonical
from fathom.llm.role_models import ROLES
from fathom.registry import STRATEGIES
from fathom.runs.recorder import format_answer
from fathom.strategies.run import RunOutcome
from fathom.testing.doubles import OVERLAP
from fathom.usage import Budget

TWO_PARTS = "What does a mooring permit cost, and where is it paid?"
LINES = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
QUESTIONS = (*(json.loads(line)["text"] for line in LINES[:1]), QUESTION, "🙂")


@pytest.fixture
def index_folder(samples: Path) -> Path:
    pytest.importorskip("langchain_openai")
    return samples


@pytest.fixture(params=sorted(STRATEGIES))
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["mixed", "all roles"])
def mix(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def quote_extract() -> Extractive:
    return Extractive(ExtractiveModel(OVERLAP))


def test_quotes_are_verified_and_the_run_replays_with_the_server_gone(
    index_folder: Path, strategy: str, mix: str
) -> None:
    with serve(quote_extract()) as server:
        with engine_at(index_folder, **sections(mix, server.base_url)) as engine:
            answers = [engine.ask(question, strategy=strategy) for question in QUESTIONS]
            traces = [engine.traces.get(str(answer.trace_id)) for answer in answers]
            for citation in (quoted for answer in answers for quoted in answer.citations):
                text = engine.documents.get(citation.document).text
                assert citation.verified
                assert text[citation.start : citation.end] == citation.quote
        assert sum(answer.usage.llm_calls for answer in answers) == server.calls > 0
    assert {answer.status for answer in answers} <= {"answered", "abstained"}
    assert any(answer.status == "answered" for answer in answers)
    # Every prompt was understood: no role fell back because its model failed.
    reasons = [step.reason for trace in traces for step in trace.steps]
    assert not [reason for reason in reasons if "openai:scripted" in reason]
    with engine_at(index_folder, **sections(mix, server.base_url)) as engine:
        for answer in answers:
            done = engine.replay(str(answer.trace_id))
            assert done.same, done.difference
            assert dump_canonical(format_answer(done.answer)) == dump_canonical(
                format_answer(answer)
            )


@pytest.mark.parametrize("calls", [0, 2])
def test_the_budget_holds_and_nothing_is_left_behind(
    index_folder: Path, strategy: str, mix: str, calls: int
) -> None:
    budget = Budget(calls=calls, tokens=6_000)

    async def count_left(engine: Engine) -> RunOutcome:
        outcome = await engine.arun(
            AskRequest.parse(QUESTIONS[0], strategy=strategy, budget=budget)
        )
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return outcome

    with serve(quote_extract()) as server:
        with engine_at(index_folder, **sections(mix, server.base_url)) as engine:
            answer = asyncio.run(count_left(engine)).answer
        assert answer.usage.llm_calls == server.calls <= calls
    assert answer.status in {"answered", "abstained"}
    assert answer.usage.tokens <= 6_000
    assert all(citation.verified for citation in answer.citations)


@pytest.mark.parametrize(
    "strategy",
    [
        # The real model reads for `naive` in a test of its role, and speaks for `maf` in one of it.
        name if name == "adaptive" else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(STRATEGIES)
    ],
)
def test_the_output_of_a_real_model_is_bounded_verified_and_replayed(
    tmp_path: Path, strategy: str, real_model: RealModel
) -> None:
    budget = Budget(calls=2, tokens=8_000)
    llm = {"model": LOCAL, "max_tokens": 120, "skip_above_confidence": 2, "tries": 1}
    settings = {"llm": llm, "roles": dict.fromkeys(ROLES, "llm"), "retrieval": {"k": 2}}
    index_fees(tmp_path)
    with engine_at(tmp_path, connect=real_model.chat, **settings) as engine:
        answer = engine.ask(TWO_PARTS, strategy=strategy, budget=budget)
        for citation in answer.citations:
            text = engine.documents.get(citation.document).text
            assert citation.verified
            assert text[citation.start : citation.end] == citation.quote
    assert 1 <= answer.usage.llm_calls <= 2
    assert 0 < answer.usage.tokens <= 8_000
    assert answer.status in {"answered", "abstained"}
    with engine_at(tmp_path, **settings) as engine:  # which would start a model of its own
        done = engine.replay(str(answer.trace_id))
        assert done.same, done.difference
        assert dump_canonical(format_answer(done.answer)) == dump_canonical(format_answer(answer))
