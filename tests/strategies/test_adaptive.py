import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.making import QUESTION, engine_at, ingested

from fathom.errors import SettingsError
from fathom.planner.actions import Action, executions
from fathom.strategies.adaptive import Adaptive
from fathom.strategies.base import make_strategy
from fathom.strategies.outcomes import ActionOutcome, outcomes
from fathom.types import Query

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/adaptive.md"


def forced(folder: Path, *actions: str, **sections: Any) -> tuple[Any, Any]:
    """The answer and the trace of a run that executes these."""
    with engine_at(folder, adaptive={"forced": actions}, **sections) as engine:
        answer = engine.ask(QUESTION, strategy="adaptive")
        return answer, engine.traces.get(str(answer.trace_id))


def test_the_picture_in_the_docs_is_the_code(tmp_path: Path) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        drawn = make_strategy("adaptive", engine.assembly).graph().compile().get_graph()
    assert f"```mermaid\n{drawn.draw_mermaid()}```" in PAGE.read_text(encoding="utf-8")


def test_a_sure_first_look_is_all(tmp_path: Path) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        answer = engine.ask(QUESTION, strategy="adaptive")
        naive = engine.ask(QUESTION, strategy="naive")
        trace = engine.traces.get(str(answer.trace_id))
    assert [step.id for step in trace.steps] == ["search", "read", "plan", "finalize"]
    assert (answer.status, answer.phase, answer.usage.retrievals) == ("answered", "look", 1)
    assert answer.answer == naive.answer


@pytest.mark.parametrize("actions", list(executions(has_model=False, most=2)))
def test_forced_executors_work_in_their_order(tmp_path: Path, actions: tuple[Action, ...]) -> None:
    answer, trace = forced(ingested(tmp_path), *actions)
    planned = [step.outputs["action"] for step in trace.steps if step.agent == "planner"]
    assert planned == [*actions, "stop"]
    assert answer.status == "answered"


@pytest.mark.parametrize("actions", [("deeper", "deeper"), ("dig",), ("stop", "deeper")])
def test_what_is_not_legal_cannot_be_forced(tmp_path: Path, actions: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError, match=r"adaptive\.forced = .* give at most 3 of deeper"):
        forced(ingested(tmp_path), *actions)


def test_outcomes_are_those_of_forced_runs(tmp_path: Path) -> None:
    async def all_of(strategy: Adaptive, executor: Any) -> list[ActionOutcome]:
        found = outcomes(strategy, Query(text=QUESTION), executor, most=2)
        return [each async for each in found]

    folder = ingested(tmp_path)
    with engine_at(folder) as engine:
        strategy = make_strategy("adaptive", engine.assembly)
        assert isinstance(strategy, Adaptive)
        found = asyncio.run(all_of(strategy, engine.executor))
    assert [each.tried for each in found] == list(executions(has_model=False, most=2))
    for each in found:
        answer, _ = forced(folder, *each.tried)
        assert (each.answer.answer, each.answer.phase) == (answer.answer, answer.phase)
        assert each.usage.retrievals == answer.usage.retrievals
        assert each.observation.tried == each.tried
