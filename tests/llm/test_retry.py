import asyncio
from math import inf

import pytest
from tests.llm.factories import HELLO, Run, make_chat, make_deadline
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


class SimulatedClock:
    """A clock on which time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def make_fault(**more: object) -> ModelFault:
    return ModelFault("openai:m answered 503: scripted", ONE, **more)  # type: ignore[arg-type]


def make_patient(
    model: ScriptedChat, clock: SimulatedClock, breaker: CircuitBreaker | None = None
) -> RetryingModel:
    return RetryingModel(model, policy=POLICY, breaker=breaker, clock=clock, sleep=clock.sleep)


def call_model(
    run: Run, model: ScriptedChat, clock: SimulatedClock, *, deadline: float = 60.0
) -> object:
    async def go() -> object:
        try:
            return await make_patient(model, clock).complete(
                Call(HELLO, max_tokens=5, deadline=deadline)
            )
        except CallFailure as failed:
            return failed

    return run(go())


def test_waits_double_up_to_a_maximum_and_every_try_is_charged(run: Run) -> None:
    clock, model = (
        SimulatedClock(),
        ScriptedChat(make_fault(), make_fault(), make_fault(), completion("x", usage=ONE)),
    )
    done = call_model(run, model, clock)

    assert done.text == "x"  # type: ignore[attr-defined]
    assert clock.slept == [0.5, 1.0, 1.5]
    assert done.usage == ONE + ONE + ONE + ONE  # type: ignore[attr-defined]
    assert {call.deadline for call in model.calls} == {60.0}


def test_it_gives_up_after_its_tries_and_charges_all_of_them(run: Run) -> None:
    model = ScriptedChat(*(make_fault() for _ in range(4)), completion("never asked for"))
    failed = call_model(run, model, SimulatedClock())

    assert isinstance(failed, ModelFault)
    assert failed.usage.prompt_tokens == 40
    assert len(model.outcomes) == 1


def test_a_server_may_ask_for_a_longer_wait_but_not_for_a_shorter_one(run: Run) -> None:
    clock = SimulatedClock()
    model = ScriptedChat(
        make_fault(retry_after_s=20.0), make_fault(retry_after_s=0.0), completion("x")
    )
    call_model(run, model, clock)

    assert clock.slept == [20.0, 1.0]


def test_an_excessive_wait_is_refused_even_without_a_deadline(
    run: Run,
) -> None:
    clock = SimulatedClock()
    failed = call_model(run, ScriptedChat(make_fault(retry_after_s=61.0)), clock, deadline=inf)

    assert isinstance(failed, ModelFault)
    assert clock.slept == []


@pytest.mark.parametrize("retry_after_s", [60.0, 1e12])
def test_a_wait_past_the_deadline_is_not_begun(run: Run, retry_after_s: float) -> None:
    clock = SimulatedClock()
    failed = call_model(run, ScriptedChat(make_fault(retry_after_s=retry_after_s)), clock)

    assert isinstance(failed, ModelFault)
    assert clock.slept == []


@pytest.mark.parametrize(
    "failed", [ModelDeclined("no", ONE), ReplyGarbled("what?", ONE), make_fault(retriable=False)]
)
def test_a_permanent_fault_is_not_retried(run: Run, failed: CallFailure) -> None:
    clock = SimulatedClock()

    assert call_model(run, ScriptedChat(failed, completion("x")), clock) is failed
    assert clock.slept == []


def test_another_request_needs_no_wait(run: Run) -> None:
    clock = SimulatedClock()
    call_model(run, ScriptedChat(make_fault(at_once=True), completion("x")), clock)

    assert clock.slept == [0.0]


def test_a_budget_refusal_ends_the_tries_with_the_fault_before(run: Run) -> None:
    refused = BudgetRefused("calls", needed=1, left=0)
    failed = call_model(run, ScriptedChat(make_fault(), refused), SimulatedClock())

    assert isinstance(failed, ModelFault)
    assert failed.usage == ONE

    with pytest.raises(BudgetRefused):
        call_model(run, ScriptedChat(refused), SimulatedClock())


def test_the_breaker_opens_for_all_its_users_and_closes_again(run: Run) -> None:
    clock = SimulatedClock()
    breaker = CircuitBreaker(failures=3, rest_s=30, clock=clock)
    model = ScriptedChat(make_fault(), make_fault(), make_fault(), completion("back"))

    async def go() -> None:
        first, other = make_patient(model, clock, breaker), make_patient(model, clock, breaker)
        with pytest.raises(ModelUnavailable, match="left alone for 28 s"):
            await first.complete(Call(HELLO, max_tokens=5, deadline=100))  # opens at 1.5 s
        with pytest.raises(ModelUnavailable, match="left alone"):
            await other.complete(Call(HELLO, max_tokens=5, deadline=100))
        assert len(model.calls) == 3
        clock.now += 30
        done = await other.complete(Call(HELLO, max_tokens=5, deadline=100))
        assert done.text == "back"

    run(go())


def test_cancelling_during_a_wait_is_obeyed(run: Run) -> None:
    async def go() -> None:
        model = ScriptedChat(make_fault(retry_after_s=30.0), completion("x"))
        call = asyncio.create_task(
            RetryingModel(model).complete(Call(HELLO, max_tokens=5, deadline=make_deadline(60)))
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
            model = RetryingModel(make_chat(server.base_url), policy=RetryPolicy(first_wait_s=0.01))
            streamed: list[str] = []
            done = await model.complete(
                Call(HELLO, max_tokens=9, deadline=make_deadline(), on_text=streamed.append)
            )
            assert (done.text, streamed) == ("Paris", ["Paris"])
            assert (done.usage.llm_calls, server.calls) == (4, 4)

    run(go())


def test_streamed_words_are_not_streamed_again(run: Run) -> None:
    async def go() -> None:
        async with ScriptedServer(resets("Par"), says("Paris")) as server:
            model = RetryingModel(make_chat(server.base_url), policy=RetryPolicy(first_wait_s=0.01))
            streamed: list[str] = []
            with pytest.raises(ModelUnavailable):
                await model.complete(
                    Call(HELLO, max_tokens=9, deadline=make_deadline(), on_text=streamed.append)
                )
            assert streamed == ["Par"]
        async with ScriptedServer(resets("Par"), says("Paris")) as server:
            model = RetryingModel(make_chat(server.base_url), policy=RetryPolicy(first_wait_s=0.01))
            done = await model.complete(Call(HELLO, max_tokens=9, deadline=make_deadline()))
            assert done.text == "Paris"

    run(go())
