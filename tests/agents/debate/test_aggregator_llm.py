import asyncio
import json
from typing import Any

from tests.agents.debate.test_aggregator import WHO, make_position

from fathom.agents.debate.aggregator import LLMAggregator, LocalAggregator
from fathom.agents.debate.debater import Position
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.llm.retry import RetryPolicy
from fathom.question.question import Question
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.types import Draft
from fathom.usage import Usage

THREE = (make_position("Ada Vale", 1), make_position("Bo Hill", 2), make_position("Cy Roe", 3))


def aggregate(
    outcome: list[dict[str, Any]] | Exception, *positions: Position
) -> tuple[Draft, str, int]:
    """Return the draft, its aggregator, and the number of calls of the model."""
    text = json.dumps({"readings": outcome}) if isinstance(outcome, list) else ""
    chat = ScriptedChat(
        outcome if isinstance(outcome, Exception) else completion(text, usage=Usage(llm_calls=1))
    )
    model = RoleModel(chat=chat, retry=RetryPolicy(tries=1))
    agent = LLMAggregator(model=model, local=LocalAggregator())
    with run_context() as context:
        draft = asyncio.run(agent.aggregate(Question(WHO), positions or THREE, context))
        assert isinstance(context.scope, Recorder)
        step = next(s for s in context.scope.seal(None).steps if s.id == "aggregate")
    return draft, step.verdict, len(chat.calls)


def test_a_reading_of_the_model_counts_where_an_agent_gives_it() -> None:
    readings: list[dict[str, Any]] = [
        {"answer": "Cy Roe", "agents": [3], "refuted": True},
        {"answer": "Bo Hill", "agents": [2, 9, 1]},
        {"answer": "Dee Fox", "agents": [1]},
        {"answer": "Ada Vale", "agents": [1]},
    ]
    draft, verdict, _ = aggregate(readings)
    assert verdict == "model"
    assert draft.short_answer == "Bo Hill"
    beside = [(other.text, other.refuted) for other in draft.alternatives]
    assert beside == [("Ada Vale", False), ("Cy Roe", True)]
    assert draft.claims[-1].text == "1 of 3 chunks says Cy Roe, which others contradict."


def test_the_model_is_not_asked_if_the_agents_agree() -> None:
    draft, _, calls = aggregate([], make_position("Vale", 2), make_position("Ada Vale", 1, 0.6))
    assert (draft.short_answer, calls) == ("Ada Vale", 0)


def test_without_a_valid_reading_the_local_aggregator_decides() -> None:
    nobody: list[dict[str, Any]] = [
        {"answer": "Dee Fox", "agents": [1]},
        {"answer": "Cy Roe", "agents": []},
    ]
    all_refuted = [{"answer": "Cy Roe", "agents": [3], "refuted": True}]
    down = ModelFault("openai:m is down", Usage(llm_calls=1), retriable=False)
    outcomes: tuple[list[dict[str, Any]] | Exception, ...] = (nobody, all_refuted, down)
    for outcome in outcomes:
        draft, verdict, calls = aggregate(outcome)
        assert (draft.short_answer, verdict, calls) == ("Ada Vale", "local", 1)
