"""What every strategy keeps, whatever its graph."""

import asyncio
from pathlib import Path

import pytest
from tests.making import QUESTION, engine_at, ingested

from fathom.engine import Engine
from fathom.strategies.base import STRATEGIES
from fathom.types import Answer
from fathom.usage import Budget

QUESTIONS = (
    QUESTION,
    "Where is it paid?",
    "Berapa biaya izin tambat setahun, dan di mana dibayar?",
    "Which enzyme unwinds a helix?",
    "🙂",
    "SELECT 1; --",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("strategies"))


@pytest.fixture(params=sorted(STRATEGIES))
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine(folder: Path) -> Engine:
    return engine_at(folder)


def test_quotes_are_verified_and_stand_in_the_document(engine: Engine, strategy: str) -> None:
    with engine:
        for question in QUESTIONS:
            answer = engine.ask(question, strategy=strategy)
            assert answer.strategy == strategy
            for citation in answer.citations:
                text = engine.document(citation.document).text
                assert citation.verified
                assert text[citation.start : citation.end] == citation.quote


def test_equal_questions_have_equal_answers(engine: Engine, strategy: str) -> None:
    with engine:
        first, second = (engine.ask(QUESTION, strategy=strategy) for _ in range(2))
        traces = [engine.traces.get(str(each.trace_id)) for each in (first, second)]
    assert (first.answer, first.citations) == (second.answer, second.citations)
    # Branches that work side by side end in any order.
    assert sorted(s.id for s in traces[0].steps) == sorted(s.id for s in traces[1].steps)


def test_questions_asked_at_once_are_answered_as_if_alone(engine: Engine, strategy: str) -> None:
    async def at_once() -> list[Answer]:
        asked = (engine.aask(question, strategy=strategy) for question in QUESTIONS)
        return await asyncio.gather(*asked)

    with engine:
        alone = [engine.ask(question, strategy=strategy) for question in QUESTIONS]
        together = asyncio.run(at_once())
    for one, other in zip(alone, together, strict=True):
        assert (one.answer, one.citations) == (other.answer, other.citations)


def test_the_steps_account_for_the_usage_and_the_run_replays(engine: Engine, strategy: str) -> None:
    with engine:
        for question in QUESTIONS:
            answer = engine.ask(question, strategy=strategy)
            trace = engine.traces.get(str(answer.trace_id))
            assert trace.usage.retrievals == answer.usage.retrievals
            assert trace.usage.tokens == answer.usage.tokens
            done = engine.replay(trace.id)
            assert done.same, done.difference


@pytest.mark.parametrize("retrievals", [0, 1])
def test_the_budget_holds(engine: Engine, strategy: str, retrievals: int) -> None:
    budget = Budget(calls=0, tokens=0, cost_usd=0.0, retrievals=retrievals)
    with engine:
        answer = engine.ask(QUESTION, strategy=strategy, budget=budget)
    assert answer.usage.retrievals <= retrievals
    assert (answer.usage.llm_calls, answer.usage.tokens, answer.usage.cost_usd) == (0, 0, 0.0)
    assert retrievals or answer.stop_reason == "budget"
