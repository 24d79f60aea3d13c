"""Groq, Ollama and Anthropic through their own packages, in their own wire formats.

Covers fathom.llm.providers.anthropic, fathom.llm.providers.groq, fathom.llm.providers.ollama.
"""

import asyncio
import time
from dataclasses import dataclass

import pytest
from tests.llm.factories import CANARY, HELLO, Run, make_deadline
from tests.llm.wire_formats import DIALECTS, Dialect
from tests.scripted_server import Act, ScriptedServer, find_closed_url, floods, resets

from fathom.llm.base import Call, Completion
from fathom.llm.chat import LangChainChat, ReplyLimits
from fathom.llm.endpoint import PROVIDERS, resolve_endpoint
from fathom.llm.faults import CallFailure, ModelDeclined, ModelFault
from fathom.runs.reservation import ReportedUsage

SCHEMA = {"title": "Reply", "type": "object", "properties": {"city": {"type": "string"}}}
LIMITS = ReplyLimits(first_s=3.0, silence_s=3.0)


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.provider)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    parameter: Dialect = request.param
    package = PROVIDERS[parameter.provider].package
    pytest.importorskip(package, reason=f"the extra {parameter.provider} is not installed")
    return parameter


@dataclass
class ProviderCall:
    outcome: object
    server: ScriptedServer
    seconds: float

    @property
    def failure(self) -> Completion:
        assert isinstance(self.outcome, Completion), self.outcome
        return self.outcome


async def make_call(
    dialect: Dialect, url: str, within_s: float, *, schema: bool = False, max_tokens: int = 50
) -> tuple[object, float]:
    name, keys = f"{dialect.provider}:m", {"CANARY": CANARY}
    endpoint = resolve_endpoint(name, base_url=url, key_env="CANARY", environment=keys)
    chat = LangChainChat(endpoint, LIMITS)
    chat.prepare()
    begun = time.monotonic()
    schema_class = SCHEMA if schema else None
    outcome: object
    try:
        outcome = await chat.complete(
            Call(
                HELLO, schema=schema_class, max_tokens=max_tokens, deadline=make_deadline(within_s)
            )
        )
    except CallFailure as failed:
        outcome = failed
    return outcome, time.monotonic() - begun


def call_provider(
    run: Run, dialect: Dialect, act: Act, *, within_s: float = 20.0, **more: int
) -> ProviderCall:
    async def run_call() -> ProviderCall:
        async with ScriptedServer(act) as server:
            root = server.base_url.removesuffix("/v1")
            outcome, took = await make_call(dialect, root, within_s, **more)  # type: ignore[arg-type]
            await asyncio.wait_for(
                server.wait_until_idle(), 5
            )  # the server sees every connection closed
            return ProviderCall(outcome, server, took)

    record: ProviderCall = run(run_call())
    return record


def test_a_streamed_answer_comes_back(run: Run, dialect: Dialect) -> None:
    record = call_provider(run, dialect, dialect.stream_reply("Par", "is"))
    assert (record.failure.text, record.failure.finish) == ("Paris", "stop")
    assert record.failure.model == f"{dialect.provider}:m"
    assert (record.failure.usage.llm_calls, record.failure.usage.completion_tokens) == (1, 2)
    reported = ReportedUsage(prompt=12, completion=3) if dialect.reports else ReportedUsage()
    assert record.failure.reported == reported


def test_the_request_has_the_promised_fields(run: Run, dialect: Dialect) -> None:
    (request,) = call_provider(run, dialect, dialect.stream_reply("x"), schema=True).server.requests
    assert request.path == dialect.path
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    assert request.headers["accept-encoding"] == "identity"
    options = request.body.get("options", request.body)
    assert options["temperature"] < 1e-6  # langchain-groq makes 1e-8 of 0
    assert options.get("max_tokens", options.get("num_predict")) == 50
    assert ("seed" in options) == dialect.seeded
    texts = [turn["content"] for turn in request.messages if turn["role"] == "user"]
    assert texts == [HELLO[1].text]


def test_a_reply_that_is_too_long_is_cut(run: Run, dialect: Dialect) -> None:
    record = call_provider(
        run, dialect, dialect.stream_reply(*["and "] * 500, silent=True), max_tokens=9
    )
    assert (record.failure.finish, record.failure.usage.completion_tokens) == ("length", 9)
    by_server = call_provider(run, dialect, dialect.stream_reply("Par", finish="length"))
    assert by_server.failure.finish == "length"


def test_silence_is_cut_at_the_deadline(run: Run, dialect: Dialect) -> None:
    record = call_provider(run, dialect, dialect.stream_reply("Par", silent=True), within_s=0.5)
    assert isinstance(record.outcome, ModelFault)
    assert "did not finish before the deadline" in str(record.outcome)
    assert record.seconds < 2.5  # however busy the machine


@pytest.mark.parametrize(
    ("code", "kind", "part"),
    [
        (401, ModelDeclined, "check the key in CANARY"),
        (404, ModelDeclined, "declined with 404"),
        (429, ModelFault, "answered 429"),
        (500, ModelFault, "answered 500"),
        (503, ModelFault, "answered 503"),
    ],
)
def test_a_refusal_is_typed_and_quotes_no_key(
    run: Run, dialect: Dialect, code: int, kind: type[CallFailure], part: str
) -> None:
    headers = {"Retry-After": "7"} if code == 429 else {}
    record = call_provider(run, dialect, dialect.decline(code, f"no {CANARY}", headers))
    assert isinstance(record.outcome, kind), record.outcome
    assert part in str(record.outcome)
    assert CANARY not in str(record.outcome)
    assert "\n" not in str(record.outcome)
    assert record.server.calls == 1  # the packages do not try again on their own
    if code == 429 and isinstance(record.outcome, ModelFault) and dialect.provider != "ollama":
        assert record.outcome.retry_after_s == 7.0


@pytest.mark.parametrize("how", ["reset", "flood", "nobody"])
def test_a_broken_connection_is_typed(run: Run, dialect: Dialect, how: str) -> None:
    if how == "nobody":
        url = find_closed_url().removesuffix("/v1")
        outcome, _ = run(make_call(dialect, url, 5.0))
    else:
        outcome = call_provider(run, dialect, resets() if how == "reset" else floods()).outcome
    assert isinstance(outcome, CallFailure), outcome
    assert outcome.exit_code == 5
    assert "\n" not in str(outcome)
