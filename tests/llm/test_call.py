import asyncio
from math import inf

import pytest
from pydantic import BaseModel
from tests.llm.factories import HELLO

from fathom.errors import ModelUnavailable
from fathom.llm.base import Call, ChatModel, Completion
from fathom.llm.call import AbsentModel, ModelReply, RoleModel, ask_model
from fathom.llm.faults import CallFailure, ModelDeclined, ModelFault
from fathom.llm.prompt import ModelRequest
from fathom.llm.retry import RetryPolicy
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.runs.recorder import Recorder
from fathom.runs.replay import MissingEventError, RecordedEvents
from fathom.testing.doubles import ScriptedChat, completion, run_context
from fathom.usage import Budget, Price, Usage


class Number(BaseModel):
    number: int


ONE = Usage(llm_calls=1, prompt_tokens=10, completion_tokens=2)
DOWN = ModelFault("openai:m is down", ONE)


def call_role(model: ChatModel, context: RunContext, deadline: float = inf) -> object:
    try:
        return asyncio.run(model.complete(Call(HELLO, max_tokens=5, deadline=deadline)))
    except (CallFailure, BudgetRefused) as failed:
        return type(failed), str(failed), getattr(failed, "usage", None)


def make_role(chat: ChatModel) -> RoleModel:
    price = Price(prompt=1.0, completion=2.0)
    return RoleModel(chat=chat, price=price, retry=RetryPolicy(tries=2, first_wait_s=0.0))


@pytest.mark.parametrize(
    ("outcomes", "calls"),
    [
        ((completion("Paris", usage=ONE),), 1),
        ((DOWN, completion("Paris", usage=ONE)), 2),
        ((DOWN, DOWN), 2),
        ((ModelDeclined("openai:m declined", ONE),), 1),
    ],
)
def test_all_tries_are_one_event_that_a_replay_returns(
    outcomes: tuple[Completion | Exception, ...], calls: int
) -> None:
    scripted = ScriptedChat(*outcomes)
    with run_context(Budget(calls=5)) as context:
        first = call_role(make_role(scripted).bind_to_run(context), context)
        assert context.ledger.usage.llm_calls == calls
        assert isinstance(context.scope, Recorder)
        trace = context.scope.seal(None)
    assert len(trace.events) == 1
    with run_context(Budget(calls=0), events=RecordedEvents(trace)) as again:
        assert call_role(make_role(AbsentModel("openai:m")).bind_to_run(again), again) == first
        with pytest.raises(MissingEventError):
            call_role(make_role(AbsentModel("openai:m")).bind_to_run(again), again)


def test_a_budget_refusal_is_recorded_and_replayed() -> None:
    with run_context(Budget(calls=0)) as context:
        first = call_role(make_role(ScriptedChat()).bind_to_run(context), context)
        assert len(context.refusals) == 1
        assert isinstance(context.scope, Recorder)
        trace = context.scope.seal(None)
    with run_context(events=RecordedEvents(trace)) as again:
        assert call_role(make_role(AbsentModel("openai:m")).bind_to_run(again), again) == first
        assert again.refusals == context.refusals


def test_a_fault_after_the_deadline_counts_as_refused_by_the_budget() -> None:
    with run_context() as context:
        call_role(
            make_role(ScriptedChat(ModelFault("late", ONE))).bind_to_run(context),
            context,
            deadline=0.0,
        )
        assert context.refusals == ["openai:m was cut at the deadline; raise --deadline"]


def test_a_replay_calls_no_model() -> None:
    with pytest.raises(ModelUnavailable, match="a replay asks no language model"):
        asyncio.run(AbsentModel("openai:m").complete(Call(HELLO, max_tokens=5, deadline=inf)))


def request_reply(
    *outcomes: Completion | Exception, budget: Budget | None = None
) -> ModelReply[Number]:
    with run_context(budget) as context:
        return asyncio.run(
            ask_model(RoleModel(chat=ScriptedChat(*outcomes)), Number, ModelRequest(HELLO), context)
        )


def test_a_reply_is_a_value_and_a_repair_is_reported() -> None:
    assert request_reply(completion('{"number": 4}')).require_value() == Number(number=4)
    repaired = request_reply(completion("?"), completion('{"number": 4}'))
    assert (repaired.value, repaired.reason) == (Number(number=4), "after one repair")


def test_a_missing_reply_has_a_reason_and_a_cost() -> None:
    down = request_reply(ModelFault("down", Usage(llm_calls=1), retriable=False))
    assert (down.value, down.reason) == (None, "down")
    assert down.usage is not None
    assert down.usage.llm_calls == 1
    with pytest.raises(ModelFault, match="down"):
        down.require_value()


def test_a_request_beyond_the_budget_is_a_reply_without_value() -> None:
    refused = request_reply(budget=Budget(calls=0))
    assert (refused.value, refused.usage) == (None, None)
    with pytest.raises(BudgetRefused, match="budget"):
        refused.require_value()
