import asyncio
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from tests.llm.factories import HELLO

from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.call import AbsentModel
from fathom.llm.faults import CallFailure, ModelDeclined, ModelFault, ReplyGarbled
from fathom.llm.recorded_model import RecordedModel
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.runs.recorder import Recorder
from fathom.runs.replay import MissingEventError, RecordedEvents
from fathom.runs.reservation import ReportedUsage
from fathom.runs.trace import Trace
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.usage import Usage

ONE = Usage(llm_calls=1, prompt_tokens=10, completion_tokens=2, seconds=0.25, cost_usd=None)
WHOLE = completion(
    "Paris", finish="length", usage=ONE, reported=ReportedUsage(prompt=10**12), reasoning_tokens=1
)
CALL = Call(HELLO, max_tokens=5, deadline=inf)


def call_model(model: ChatModel, context: RunContext, call: Call = CALL) -> object:
    try:
        return asyncio.run(RecordedModel(model, context).complete(call))
    except (CallFailure, BudgetRefused) as failed:
        return type(failed), str(failed), getattr(failed, "usage", None)


def make_trace(context: RunContext) -> Trace:
    assert isinstance(context.scope, Recorder)
    return context.scope.seal(None)


@pytest.mark.parametrize(
    "live",
    [
        WHOLE,
        ModelFault("openai:m answered 503: scripted", ONE, retriable=False),
        ModelDeclined("openai:m declined with 400: no", ONE),
        ReplyGarbled("openai:m sent what is not a chat reply", ONE),
        BudgetRefused("tokens", needed=100, left=3),
    ],
)
def test_a_replay_returns_the_recording(live: Completion | Exception) -> None:
    with run_context() as context:
        then = call_model(ScriptedChat(live), context)
        trace = make_trace(context)
    with run_context(events=RecordedEvents(trace)) as again:
        assert call_model(AbsentModel("openai:m"), again) == then
        assert again.refusals == context.refusals
        assert [e.value for e in make_trace(again).events] == [e.value for e in trace.events]
    if isinstance(live, Completion):
        assert then == live


def test_the_same_request_again_is_another_event() -> None:
    other = replace(CALL, messages=HELLO[1:])
    with run_context() as context:
        model = ScriptedChat(completion("one"), completion("two"), completion("three"))
        live = [
            call_model(model, context),
            call_model(model, context),
            call_model(model, context, other),
        ]
        trace = make_trace(context)
    with run_context(events=RecordedEvents(trace)) as again:
        absent = AbsentModel("openai:m")
        assert call_model(absent, again, other) == live[2]
        assert [call_model(absent, again), call_model(absent, again)] == live[:2]


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("groq:m", {}),
        ("openai:m", {"messages": HELLO[:1]}),
        ("openai:m", {"schema": {}}),
        ("openai:m", {"max_tokens": 6}),
    ],
)
def test_another_request_is_missing_from_the_recording(name: str, changed: dict[str, Any]) -> None:
    with run_context() as context:
        call_model(ScriptedChat(completion("Paris")), context)
        trace = make_trace(context)
    with run_context(events=RecordedEvents(trace)) as again, pytest.raises(MissingEventError):
        call_model(AbsentModel(name), again, replace(CALL, **changed))


def test_refusals_of_older_traces_are_understood() -> None:
    request = {"model": "openai:m", "messages": HELLO, "schema": None, "max_tokens": 5}
    older = {"refused": {"limit": "tokens", "needed": 100, "left": 3}, "late": False}
    with run_context() as context:
        context.scope.observe("llm", request, lambda: older)
        trace = make_trace(context)
    refused = BudgetRefused("tokens", needed=100, left=3)
    with run_context(events=RecordedEvents(trace)) as again:
        assert call_model(AbsentModel("openai:m"), again) == (BudgetRefused, str(refused), None)
        assert again.refusals == [str(refused)]
