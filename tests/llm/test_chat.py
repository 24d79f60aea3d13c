"""The real client and its faults, against a server that misbehaves in every known way."""

import asyncio
import threading
import time

import pytest
from tests.llm.factories import HELLO, Run, make_chat, make_deadline
from tests.llm.observed_call import LIMITS, call_server
from tests.scripted_server import (
    Act,
    ReceivedRequest,
    ScriptedServer,
    Wire,
    find_closed_url,
    raw,
    resets,
    says,
    stalls,
    status,
    waits,
)

from fathom.errors import MalformedReply, ModelRefused, ModelUnavailable
from fathom.llm.base import Call
from fathom.llm.chat import ReplyLimits
from fathom.llm.faults import ModelFault
from fathom.runs.reservation import ReportedUsage


def test_a_streamed_answer_has_its_usage(run: Run) -> None:
    record = call_server(run, says("Par", "is"))

    assert record.outcome.text == record.shown == "Paris"  # type: ignore[attr-defined]
    assert record.outcome.finish == "stop"  # type: ignore[attr-defined]
    assert record.outcome.reported == ReportedUsage(prompt=12, completion=3)  # type: ignore[attr-defined]
    assert record.outcome.usage.llm_calls == 1  # type: ignore[attr-defined]
    assert record.outcome.usage.completion_tokens == 2  # type: ignore[attr-defined]  # 0.8 + 0.33
    assert record.outcome.usage.cost_usd is None  # type: ignore[attr-defined]


def test_the_request_has_the_promised_fields(run: Run) -> None:
    request = call_server(run, says("x")).server.requests[0]

    assert request.path == "/v1/chat/completions"
    assert request.body["messages"][0] == {"role": "system", "content": "Be brief."}
    expected = {"model": "m", "temperature": 0.0, "seed": 0, "max_tokens": 50, "stream": True}
    assert expected.items() <= request.body.items()
    assert request.body["stream_options"] == {"include_usage": True}
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("acts", "answer", "at_least"),
    [
        (says("<think>It is known that</think>Paris"), "Paris", 7),
        (says("Paris", reasoning="It is known that it is"), "Paris", 6),
        (says("", reasoning="thought only"), "", 2),
    ],
)
def test_reasoning_is_left_out_and_counted(run: Run, acts: Act, answer: str, at_least: int) -> None:
    record = call_server(run, acts)

    assert record.outcome.text == record.shown == answer  # type: ignore[attr-defined]
    assert record.outcome.usage.completion_tokens >= at_least  # type: ignore[attr-defined]
    assert record.outcome.reasoning_tokens > 0  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    ("usage", "reported"),
    [
        (None, ReportedUsage()),
        ({"prompt_tokens": 0, "completion_tokens": 0}, ReportedUsage(prompt=0, completion=0)),
        ({"prompt_tokens": -9, "completion_tokens": -9}, ReportedUsage(prompt=-9, completion=-9)),
        (
            {"prompt_tokens": 10**12, "completion_tokens": 1},
            ReportedUsage(prompt=10**12, completion=1),
        ),
        ({"prompt_tokens": "many", "completion_tokens": 1.5}, ReportedUsage()),
        ({}, ReportedUsage()),
    ],
)
def test_a_false_usage_report_changes_no_count(
    run: Run, usage: dict[str, object] | None, reported: ReportedUsage
) -> None:
    honest, lying = call_server(run, says("Paris")), call_server(run, says("Paris", usage=usage))

    assert lying.outcome.usage == honest.outcome.usage  # type: ignore[attr-defined]
    assert lying.outcome.reported == reported  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_usage_that_is_no_number_is_ignored(run: Run) -> None:
    event = '{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":'
    record = call_server(
        run, raw(f'data: {event}{{"prompt_tokens":NaN,"completion_tokens":1e999}}}}\n\n')
    )

    assert record.outcome.text == "x"  # type: ignore[attr-defined]
    assert record.outcome.reported == ReportedUsage()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("act", "retry_after_s", "words"),
    [
        (status(429, headers={"Retry-After": "7"}), 7.0, "answered 429: scripted"),
        (status(429, headers={"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}), 0.0, "429"),
        (status(429, headers={"Retry-After": "-3"}), 0.0, "429"),
        (status(429, headers={"Retry-After": "nan"}), None, "429"),
        (status(429, headers={"Retry-After": "soon"}), None, "429"),
        (status(429), None, "429"),
        (status(500), None, "answered 500"),
        (raw("<html>Bad gateway</html>", code=502), None, "answered 502"),
        (status(503, "a\nb  c"), None, "answered 503: a b c"),
        (resets(), None, "connection broke"),
        (raw('data: {"error": {"message": "overloaded"}}\n\n'), None, "error inside its reply"),
    ],
)
def test_temporary_faults_are_typed(
    run: Run, act: Act, retry_after_s: float | None, words: str
) -> None:
    record = call_server(run, act)

    assert isinstance(record.outcome, ModelFault)
    assert record.outcome.retriable
    assert record.outcome.retry_after_s == retry_after_s
    assert words in str(record.outcome)
    assert record.server.calls == 1  # the SDK itself does not try again


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone is that of the system")
@pytest.mark.parametrize("form", ["%a, %d %b %Y %H:%M:%S -0000", "%a %b %d %H:%M:%S %Y"])
def test_a_date_without_a_zone_is_in_utc(
    run: Run, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("TZ", "Asia/Jakarta")
    time.tzset()
    date = time.strftime(form, time.gmtime(time.time() + 20))
    record = call_server(run, status(429, headers={"Retry-After": date}))
    monkeypatch.undo()
    time.tzset()

    assert isinstance(record.outcome, ModelFault)
    assert 10 < (record.outcome.retry_after_s or 0) <= 20


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (status(400, "context too long"), "declined with 400: context too long"),
        (status(401), "check the key in CANARY"),
        (status(403), "check what the key in CANARY may do"),
        (status(404), "check the model's name and the base_url"),
        (status(302, headers={"Location": "http://127.0.0.1:1/"}), "declined with 302"),
        (says(refusal="I cannot help with that"), "declined to answer"),
        (says("bad", finish="content_filter"), "declined to answer"),
    ],
)
def test_refusals_are_typed(run: Run, act: Act, words: str) -> None:
    record = call_server(run, act)

    assert isinstance(record.outcome, ModelRefused)
    assert words in str(record.outcome)


@pytest.mark.parametrize(
    "body",
    [
        "",
        'data: {"choices":[{"ind',
        "data: [1, 2]\n\n",
        "data: null\n\n",
        'data: {"choices": null}\n\n',
        'data: {"choices": [{"delta": 7}]}\n\n',
        "<html>Welcome to the hotel's network</html>",
        '{"choices":[{"message":{"content":"not streamed"}}]}',
    ],
)
def test_an_invalid_reply_is_a_fault(run: Run, body: str) -> None:
    record = call_server(run, raw(body))

    assert isinstance(record.outcome, MalformedReply)
    assert record.shown == ""


@pytest.mark.parametrize(
    "act",
    [
        resets("Par"),
        says("Par", finish=None),
        says("Par", finish=None, done=False),
    ],
)
def test_a_truncated_reply_is_no_answer(run: Run, act: Act) -> None:
    record = call_server(run, act)

    assert isinstance(record.outcome, ModelUnavailable)
    assert record.outcome.usage.completion_tokens > 0  # type: ignore[attr-defined]


def test_a_reply_without_done_but_with_a_finish_is_complete(run: Run) -> None:
    assert call_server(run, says("Paris", done=False)).outcome.text == "Paris"  # type: ignore[attr-defined]


def test_a_connection_that_breaks_behind_the_finish_loses_no_reply(run: Run) -> None:
    event = '{"choices":[{"index":0,"delta":{"content":"Paris"},"finish_reason":"stop"}]}'
    act = raw(f"data: {event}\n\n", headers={"Content-Length": "9999"})

    assert call_server(run, act).outcome.text == "Paris"  # type: ignore[attr-defined]


def test_silence_behind_the_finish_loses_no_reply(run: Run) -> None:
    async def act(request: ReceivedRequest, wire: Wire) -> None:
        await says("Paris", done=False)(request, wire)
        await asyncio.Event().wait()

    limits = ReplyLimits(first_s=2.0, silence_s=0.2)

    assert call_server(run, act, limits=limits).outcome.text == "Paris"  # type: ignore[attr-defined]


def test_halves_of_characters_are_joined_or_replaced(run: Run) -> None:
    answer = call_server(run, says("a\ud83d", "\ude00b \ud83d")).outcome.text  # type: ignore[attr-defined]

    assert answer == "a😀b \ufffd"


def test_an_absent_server_is_a_fault(run: Run) -> None:
    async def go() -> None:
        with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
            await make_chat(find_closed_url()).complete(
                Call(HELLO, max_tokens=5, deadline=make_deadline())
            )
        assert caught.value.usage.tokens == 0  # type: ignore[attr-defined]

    run(go())


def test_an_unknown_host_is_a_fault(run: Run) -> None:
    async def go() -> None:
        chat = make_chat("http://no-such-host.invalid/v1")
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            await chat.complete(Call(HELLO, max_tokens=5, deadline=make_deadline()))

    run(go())


def test_a_server_without_tls_is_a_fault(run: Run) -> None:
    async def go() -> None:
        async with ScriptedServer(says("x")) as server:
            chat = make_chat(server.base_url.replace("http:", "https:"))
            with pytest.raises(ModelUnavailable):
                await chat.complete(Call(HELLO, max_tokens=5, deadline=make_deadline(0.3)))

    run(go())


def test_cancelling_closes_the_connection(run: Run) -> None:
    async def go() -> None:
        async with ScriptedServer(stalls("Par")) as server:
            chat = make_chat(server.base_url, limits=LIMITS)
            heard = asyncio.Event()
            call = asyncio.create_task(
                chat.complete(
                    Call(
                        HELLO,
                        max_tokens=5,
                        deadline=make_deadline(30),
                        on_text=lambda _: heard.set(),
                    )
                )
            )
            await asyncio.wait_for(heard.wait(), 5)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.wait_for(server.wait_until_idle(), 2)

    run(go())


def test_an_error_of_the_listener_ends_the_call(run: Run) -> None:
    def raise_broken_pipe(text: str) -> None:
        raise BrokenPipeError(text)

    async def go() -> None:
        async with ScriptedServer(stalls("Par")) as server:
            chat = make_chat(server.base_url, limits=LIMITS)
            with pytest.raises(BrokenPipeError, match="Par"):
                await chat.complete(
                    Call(HELLO, max_tokens=5, deadline=make_deadline(), on_text=raise_broken_pipe)
                )
            await asyncio.wait_for(server.wait_until_idle(), 2)

    run(go())


def test_concurrent_calls_do_not_mix(run: Run) -> None:
    async def go() -> None:
        acts = [waits(0.01 * (n % 3), says(f"answer {n}")) for n in range(12)]
        async with ScriptedServer(*acts) as server:
            chat = make_chat(server.base_url)
            calls = [
                chat.complete(Call(HELLO, max_tokens=9, deadline=make_deadline()))
                for _ in range(12)
            ]
            answers = {done.text for done in await asyncio.gather(*calls)}
        assert answers == {f"answer {n}" for n in range(12)}

    run(go())


def test_no_tracer_is_fed_whatever_the_environment_says(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with ScriptedServer(says("x")) as server, ScriptedServer() as spy:
            monkeypatch.setenv("LANGSMITH_TRACING", "true")
            monkeypatch.setenv("LANGSMITH_API_KEY", "k")
            monkeypatch.setenv("LANGSMITH_ENDPOINT", spy.base_url)
            await make_chat(server.base_url).complete(
                Call(HELLO, max_tokens=5, deadline=make_deadline())
            )
            assert not [t for t in threading.enumerate() if "tracing" in t.name]
            assert spy.calls == 0

    run(go())


def test_a_schema_is_requested_and_dropped_where_it_is_unknown(run: Run) -> None:
    schema = {"type": "object"}
    acts = [
        status(400, "response_format.type json_schema is not supported"),
        status(422, "response_format: unknown field"),
        status(400, "stream_options is not allowed"),
        status(400, "Unsupported value: 'temperature'"),
        status(400, "unknown field: seed"),
        says("{}"),
    ]

    async def go() -> ScriptedServer:
        async with ScriptedServer(*acts) as server:
            chat = make_chat(server.base_url)
            for _ in acts[:-1]:
                with pytest.raises(ModelFault) as caught:
                    await chat.complete(
                        Call(HELLO, schema=schema, max_tokens=5, deadline=make_deadline())
                    )
                assert caught.value.at_once
            await chat.complete(Call(HELLO, schema=schema, max_tokens=5, deadline=make_deadline()))
            return server

    first, second, third, fourth, fifth, last = run(go()).requests
    assert first.body["response_format"]["json_schema"]["schema"] == schema
    assert second.body["response_format"] == {"type": "json_object"}
    assert "response_format" not in third.body
    assert "stream_options" in third.body
    assert "stream_options" not in fourth.body
    assert "temperature" in fourth.body
    assert "temperature" not in fifth.body
    assert {"seed", "temperature", "stream_options", "response_format"}.isdisjoint(last.body)
