import asyncio
import time
from contextlib import suppress
from math import inf

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.llm.factories import HELLO, Run, make_chat, make_deadline
from tests.llm.test_structured_reply import GOOD, Verdict
from tests.scripted_server import (
    Act,
    ScriptedServer,
    find_closed_url,
    never_ends,
    raw,
    resets,
    says,
    stalls,
    status,
)

from fathom.errors import ModelUnavailable
from fathom.llm.base import Call
from fathom.llm.faults import CallFailure
from fathom.llm.metered_model import MeteredModel
from fathom.llm.prompt import ModelRequest
from fathom.llm.retry import RetryingModel, RetryPolicy
from fathom.llm.structured_reply import request_object
from fathom.llm.tokens import count_prompt_tokens, limit_prompt_tokens
from fathom.runs.ledger import BudgetRefused, Ledger
from fathom.testing.doubles import ScriptedChat, completion
from fathom.usage import FREE, Budget, Price, Usage

MOST = limit_prompt_tokens(HELLO)
LIKELY = count_prompt_tokens(HELLO)
PRICE = Price(prompt=1_000_000.0, completion=2_000_000.0)  # one and two USD for a token


def spend_call(run: Run, act: Act, *, price: Price | None = PRICE, within_s: float = 5.0) -> Usage:
    """Return the bookings of one call; its failure does not matter."""

    async def go() -> Usage:
        ledger = Ledger(Budget(tokens=1000))
        async with ScriptedServer(act) as server:
            model = MeteredModel(make_chat(server.base_url), ledger, price)
            try:
                done = await model.complete(
                    Call(HELLO, max_tokens=20, deadline=make_deadline(within_s))
                )
                usage = done.usage
            except CallFailure as failed:
                usage = failed.usage
        balance = ledger.read_balance()
        assert balance.reserved.tokens == balance.reserved.llm_calls == 0
        assert balance.spent.tokens == usage.tokens
        assert balance.spent.cost_usd == usage.cost_usd
        return usage

    booked: Usage = run(go())
    return booked


def test_an_honest_server_is_believed_where_it_counts_more(run: Run) -> None:
    honest = {"prompt_tokens": LIKELY + 2, "completion_tokens": 9}
    usage = spend_call(run, says("Paris", usage=honest))

    assert (usage.llm_calls, usage.prompt_tokens, usage.completion_tokens) == (1, LIKELY + 2, 9)
    assert usage.cost_usd == LIKELY + 2 + 2 * 9


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    "lie",
    [
        None,
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": -(10**12), "completion_tokens": -1},
        {"prompt_tokens": 10**12, "completion_tokens": 10**12},
        {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
        {"prompt_tokens": "12", "completion_tokens": None},
    ],
)
def test_the_clients_own_count_overrides_a_lie(run: Run, lie: dict[str, object] | None) -> None:
    usage = spend_call(run, says("Paris", usage=lie))

    assert (usage.prompt_tokens, usage.completion_tokens) == (LIKELY, 2)


def test_an_unknown_price_makes_the_cost_unknown(run: Run) -> None:
    assert spend_call(run, says("Paris"), price=None).cost_usd is None
    assert spend_call(run, says("Paris"), price=FREE).cost_usd == 0.0


@pytest.mark.parametrize(
    ("act", "prompt", "completion"),
    [
        (status(429), 0, 0),
        (status(500), 0, 0),
        (status(401), 0, 0),
        (resets("Paris"), LIKELY, 2),
        (raw("data: null\n\n"), LIKELY, 0),
        (says("Paris", finish="content_filter", usage=None), LIKELY, 2),
        (never_ends(), LIKELY, 20),
    ],
)
def test_a_failed_call_costs_what_was_sent_and_received(
    run: Run, act: Act, prompt: int, completion: int
) -> None:
    usage = spend_call(run, act)

    assert usage.llm_calls == 1
    assert (usage.prompt_tokens, usage.completion_tokens) == (prompt, completion)


def test_a_call_that_stalls_costs_what_was_sent_and_received(run: Run) -> None:
    usage = spend_call(run, stalls("Paris"), within_s=0.5)

    assert usage.llm_calls == 1
    assert (usage.prompt_tokens, usage.completion_tokens) == (LIKELY, 2)


def test_a_call_that_does_not_fit_is_not_sent(run: Run) -> None:
    async def go() -> None:
        async with ScriptedServer(says("Paris")) as server:
            chat = make_chat(server.base_url)
            for budget, limit in (
                (Budget(tokens=MOST + 19), "tokens"),
                (Budget(calls=0), "calls"),
                (Budget(cost_usd=MOST + 2 * 20 - 0.5), "cost_usd"),
                (Budget(seconds=0), "seconds"),
            ):
                model = MeteredModel(chat, Ledger(budget), PRICE)
                with pytest.raises(BudgetRefused) as caught:
                    await model.complete(Call(HELLO, max_tokens=20, deadline=make_deadline()))
                assert caught.value.limit == limit
            model = MeteredModel(chat, Ledger(Budget(cost_usd=1.0)), None)
            with pytest.raises(BudgetRefused, match="cost is unknown"):
                await model.complete(Call(HELLO, max_tokens=20, deadline=make_deadline()))
            assert server.calls == 0
            exact = MeteredModel(chat, Ledger(Budget(tokens=MOST + 20, calls=1)), PRICE)
            assert (
                await exact.complete(Call(HELLO, max_tokens=20, deadline=make_deadline()))
            ).text == "Paris"

    run(go())


def test_each_retry_and_the_repair_are_reserved(run: Run) -> None:
    async def go() -> None:
        acts = (status(503), says("no JSON"), status(503), says(GOOD))
        async with ScriptedServer(*acts) as server:
            ledger = Ledger(Budget(calls=4))
            metered = MeteredModel(make_chat(server.base_url), ledger, FREE)
            model = RetryingModel(metered, policy=RetryPolicy(first_wait_s=0.01))
            reply = await request_object(
                Verdict, model, ModelRequest(HELLO), max_tokens=50, deadline=make_deadline()
            )
            assert reply.usage.llm_calls == ledger.usage.llm_calls == server.calls == 4
            assert reply.usage.tokens == ledger.usage.tokens

        async with ScriptedServer(*acts) as server:
            metered = MeteredModel(make_chat(server.base_url), Ledger(Budget(calls=3)), FREE)
            model = RetryingModel(metered, policy=RetryPolicy(first_wait_s=0.01))
            with pytest.raises(ModelUnavailable):
                await request_object(
                    Verdict, model, ModelRequest(HELLO), max_tokens=50, deadline=make_deadline()
                )
            assert server.calls == 3

    run(go())


def test_a_cancelled_call_is_booked_in_full(run: Run) -> None:
    async def go() -> None:
        ledger = Ledger(Budget(tokens=1000))
        async with ScriptedServer(stalls("Par")) as server:
            heard = asyncio.Event()
            model = MeteredModel(make_chat(server.base_url), ledger, PRICE)
            call = asyncio.create_task(
                model.complete(
                    Call(
                        HELLO,
                        max_tokens=20,
                        deadline=make_deadline(),
                        on_text=lambda _: heard.set(),
                    )
                )
            )
            await asyncio.wait_for(heard.wait(), 5)
            call.cancel()
            await asyncio.wait([call])
        assert ledger.usage.tokens == MOST + 20
        assert ledger.read_balance().reserved.tokens == 0

    run(go())


def test_the_time_of_the_budget_is_the_deadline_of_the_call(run: Run) -> None:
    async def go() -> None:
        async with ScriptedServer(stalls("Par")) as server:
            chat = make_chat(server.base_url)
            model = MeteredModel(chat, Ledger(Budget(seconds=1)), FREE)
            begun = time.monotonic()
            with pytest.raises(ModelUnavailable, match="deadline"):
                await model.complete(Call(HELLO, max_tokens=20, deadline=inf))
            assert time.monotonic() - begun < 2

    run(go())


def test_an_absent_server_costs_a_call_and_no_token(run: Run) -> None:
    async def go() -> None:
        ledger = Ledger(Budget(cost_usd=1e6))
        model = MeteredModel(make_chat(find_closed_url()), ledger, PRICE)
        with pytest.raises(ModelUnavailable):
            await model.complete(Call(HELLO, max_tokens=20, deadline=make_deadline()))
        assert (ledger.usage.llm_calls, ledger.usage.tokens) == (1, 0)
        assert ledger.usage.cost_usd == 0.0

    run(go())


COUNTS = st.one_of(st.none(), st.integers(-10, 10**13), st.just(10**400))
ACTS = st.one_of(
    st.builds(
        lambda prompt, completion, words: says(
            "word " * words, usage={"prompt_tokens": prompt, "completion_tokens": completion}
        ),
        COUNTS,
        COUNTS,
        st.integers(0, 60),
    ),
    st.sampled_from([status(429), status(500), resets(), resets("Par"), never_ends(), raw("x")]),
)


@given(
    branches=st.lists(st.lists(ACTS, min_size=1, max_size=3), min_size=1, max_size=3),
    tokens=st.integers(0, 400),
    calls=st.integers(0, 6),
)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_fault_and_no_lie_overruns_the_budget(
    run: Run, branches: list[list[Act]], tokens: int, calls: int
) -> None:
    async def go() -> None:
        ledger = Ledger(Budget(tokens=tokens, calls=calls))
        requests = 0

        async def branch(acts: list[Act]) -> None:
            nonlocal requests
            async with ScriptedServer(*acts) as server:
                metered = MeteredModel(make_chat(server.base_url), ledger, PRICE)
                model = RetryingModel(metered, policy=RetryPolicy(tries=3, first_wait_s=0.001))
                for _ in acts:
                    with suppress(CallFailure, BudgetRefused):
                        await model.complete(Call(HELLO, max_tokens=30, deadline=make_deadline()))
                    balance = ledger.read_balance()
                    assert balance.spent.tokens + balance.reserved.tokens <= tokens
                requests += server.calls

        await asyncio.gather(*(branch(acts) for acts in branches))
        assert requests == ledger.usage.llm_calls <= calls
        assert ledger.usage.tokens <= tokens
        assert ledger.read_balance().reserved.tokens == 0

    run(go())


def test_the_reported_time_is_that_of_the_call(run: Run) -> None:
    done = run(
        MeteredModel(ScriptedChat(completion("x")), Ledger(Budget()), FREE).complete(
            Call(HELLO, max_tokens=5, deadline=make_deadline())
        )
    )

    assert 0 <= done.usage.seconds < 5
