import asyncio
from math import inf

import pytest
from tests.llm.making import HELLO, Run, chat_at, soon
from tests.scripted_server import ScriptedServer, resets, says, status

from fathom.errors import ModelUnavailable
from fathom.llm.base import Call
from fathom.llm.circuit_breaker import CircuitBreaker
from fathom.llm.faults import CallFailure, ModelDeclined, ModelFault, ReplyGarbled
from fathom.llm.retry import RetryingModel, RetryPolicy
from fathom.runs.ledger import BudgetRefused
from fathom.testing.doubles import ScriptedChat, completion
from fathom.usage import Usage

ONE = Usage(llm_calls=1, prompt_tokens=10)
POLICY = RetryPolicy(tries=4, first_wait_s=0.5, longest_wait_s=1.5)


class Clock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def fault(**more: object) -> ModelFault:
    return ModelFault("openai:m answered 503: scripted", ONE, **more)  # type: ignore[arg-type]


def patient(
    model: ScriptedChat, clock: Clock, breaker: CircuitBreaker | None = None
) -> RetryingModel:
    return RetryingModel(model, policy=POLICY, breaker=breaker, clock=clock, sleep=clock.sleep)


def outcome(run: Run, model: ScriptedChat, clock: Clock, *, deadline: float = 60.0) -> object:
    async def go() -> object:
        try:
            return await patient(model, clock).complete(
                Call(HELLO, max_tokens=5, deadline=deadline)
            )
        except CallFailure as failed:
            return failed

    return run(go())


def test_waits_double_up_to_the_longest_and_every_try_is_paid(run: Run) -> None:
    clock, model = Clock(), ScriptedChat(fault(), fault(), fault(), completion("x", usage=ONE))
    done = outcome(run, model, clock)

    assert done.text == "x"  # type: ignore[attr-defined]
    assert clock.slept == [0.5, 1.0, 1.5]
    assert done.usage == ONE + ONE + ONE + ONE  # type: ignore[attr-defined]
    assert {call.deadline for call in model.calls} == {60.0}


def test_gives_up_after_its_tries_with_what_all_have_cost(run: Run) -> None:
    model = ScriptedChat(*(fault() for _ in range(4)), completion("never asked for"))
    failed = outcome(run, model, Clock())

    assert isinstance(failed, ModelFault)
    assert failed.usage.prompt_tokens == 40
    assert len(model.outcomes) == 1


def test_a_server_may_ask_for_a_longer_wait_but_not_for_a_shorter_one(run: Run) -> None:
    clock = Clock()
    model = ScriptedChat(fault(retry_after_s=20.0), fault(retry_after_s=0.0), completion("x"))
    outcome(run, model, clock)

    assert clock.slept == [20.0, 1.0]


def test_a_server_that_asks_for_too_much_is_not_waited_for_also_without_a_deadline(
    run: Run,
) -> None:
    clock = Clock()
    failed = outcome(run, ScriptedChat(fault(retry_after_s=61.0)), clock, deadline=inf)

    assert isinstance(failed, ModelFault)
    assert clock.slept == []


@pytest.mark.parametrize("retry_after_s", [60.0, 1e12])
def test_a_wait_past_the_deadline_is_not_begun(run: Run, retry_after_s: float) -> None:
    clock = Clock()
    failed = outcome(run, ScriptedChat(fault(retry_after_s=retry_after_s)), clock)

    assert isinstance(failed, ModelFault)
    assert clock.slept == []


@pytest.mark.parametrize(
    "failed", [ModelDeclined("no", ONE), ReplyGarbled("what?", ONE), fault(retriable=False)]
)
def test_what_will_not_pass_is_not_tried_again(run: Run, failed: CallFailure) -> None:
    clock = Clock()

    assert outcome(run, ScriptedChat(failed, completion("x")), clock) is failed
    assert clock.slept == []


def test_another_request_needs_no_wait(run: Run) -> None:
    clock = Clock()
    outcome(run, ScriptedChat(fault(at_once=True), completion("x")), clock)

    assert clock.slept == [0.0]


def test_a_refused_budget_ends_the_tries_with_the_fault_before(run: Run) -> None:
    refused = BudgetRefused("calls", needed=1, left=0)
    failed = outcome(run, ScriptedChat(fault(), refused), Clock())

    assert isinstance(failed, ModelFault)
    assert failed.usage == ONE

    with pytest.raises(BudgetRefused):
        outcome(run, ScriptedChat(refused), Clock())


def test_the_breaker_opens_for_all_who_share_it_and_closes_again(run: Run) -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=3, rest_s=30, clock=clock)
    model = ScriptedChat(fault(), fault(), fault(), completion("back"))

    async def go() -> None:
        one, other = patient(model, clock, breaker), patient(model, clock, breaker)
        with pytest.raises(ModelUnavailable, match="left alone for 28 s"):
            await one.complete(Call(HELLO, max_tokens=5, deadline=100))  # opens at 1.5 s
        with pytest.raises(ModelUnavailable, match="left alone"):
            await other.complete(Call(HELLO, max_tokens=5, deadline=100))
        assert len(model.calls) == 3
        clock.now += 30
        done = await other.complete(Call(HELLO, max_tokens=5, deadline=100))
        assert done.text == "back"

    run(go())


def test_cancelling_while_it_waits_is_heard(run: Run) -> None:
    async def go() -> None:
        model = ScriptedChat(fault(retry_after_s=30.0), completion("x"))
        call = asyncio.create_task(
            RetryingModel(model).complete(Call(HELLO, max_tokens=5, deadline=soon(60)))
        )
        while not model.calls:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    run(go())


def test_over_the_wire_429_then_503_then_reset_then_an_answer(run: Run) -> None:
    acts = (status(429, headers={"Retry-After": "0"}), status(503), resets(), says("Paris"))

    async def go() -> None:
        async with ScriptedServer(*acts) as server:
            model = RetryingModel(chat_at(server.base_url), policy=RetryPolicy(first_wait_s=0.01))
            shown: list[str] = []
            done = await model.complete(
                Call(HELLO, max_tokens=9, deadline=soon(), on_text=shown.append)
            )
            assert (done.text, shown) == ("Paris", ["Paris"])
            assert (done.usage.llm_calls, server.calls) == (4, 4)

    run(go())


def test_shown_words_are_not_shown_again(run: Run) -> None:
    async def go() -> None:
        async with ScriptedServer(resets("Par"), says("Paris")) as server:
            model = RetryingModel(chat_at(server.base_url), policy=RetryPolicy(first_wait_s=0.01))
            shown: list[str] = []
            with pytest.raises(ModelUnavailable):
                await model.complete(
                    Call(HELLO, max_tokens=9, deadline=soon(), on_text=shown.append)
                )
            assert shown == ["Par"]
        async with ScriptedServer(resets("Par"), says("Paris")) as server:
            model = RetryingModel(chat_at(server.base_url), policy=RetryPolicy(first_wait_s=0.01))
            done = await model.complete(Call(HELLO, max_tokens=9, deadline=soon()))
            assert done.text == "Paris"

    run(go())
