"""Groq, Ollama and Anthropic through their own packages, in their own wire formats.

Covers fathom.llm.providers.anthropic, fathom.llm.providers.groq, fathom.llm.providers.ollama.
"""

import asyncio
import time
from dataclasses import dataclass

import pytest
from tests.llm.making import CANARY, HELLO, Run, soon
from tests.llm.wires import DIALECTS, Dialect
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
    found: Dialect = request.param
    package = PROVIDERS[found.provider].package
    pytest.importorskip(package, reason=f"the extra {found.provider} is not installed")
    return found


@dataclass
class Seen:
    outcome: object
    server: ScriptedServer
    seconds: float

    @property
    def set_outcome(self) -> Completion:
        assert isinstance(self.outcome, Completion), self.outcome
        return self.outcome


async def asked_at(
    dialect: Dialect, url: str, within_s: float, *, schema: bool = False, max_tokens: int = 50
) -> tuple[object, float]:
    name, keys = f"{dialect.provider}:m", {"CANARY": CANARY}
    endpoint = resolve_endpoint(name, base_url=url, key_env="CANARY", environment=keys)
    chat = LangChainChat(endpoint, LIMITS)
    chat.prepare()
    begun = time.monotonic()
    wanted = SCHEMA if schema else None
    outcome: object
    try:
        outcome = await chat.complete(
            Call(HELLO, schema=wanted, max_tokens=max_tokens, deadline=soon(within_s))
        )
    except CallFailure as failed:
        outcome = failed
    return outcome, time.monotonic() - begun


def call(run: Run, dialect: Dialect, act: Act, *, within_s: float = 20.0, **more: int) -> Seen:
    async def go() -> Seen:
        async with ScriptedServer(act) as server:
            root = server.base_url.removesuffix("/v1")
            outcome, took = await asked_at(dialect, root, within_s, **more)  # type: ignore[arg-type]
            await asyncio.wait_for(
                server.wait_until_idle(), 5
            )  # the server sees every connection closed
            return Seen(outcome, server, took)

    seen: Seen = run(go())
    return seen


def test_a_streamed_answer_comes_back(run: Run, dialect: Dialect) -> None:
    seen = call(run, dialect, dialect.outweighs("Par", "is"))
    assert (seen.set_outcome.text, seen.set_outcome.finish) == ("Paris", "stop")
    assert seen.set_outcome.model == f"{dialect.provider}:m"
    assert (seen.set_outcome.usage.llm_calls, seen.set_outcome.usage.completion_tokens) == (1, 2)
    reported = ReportedUsage(prompt=12, completion=3) if dialect.reports else ReportedUsage()
    assert seen.set_outcome.reported == reported


def test_the_request_is_as_we_promise(run: Run, dialect: Dialect) -> None:
    (asked,) = call(run, dialect, dialect.outweighs("x"), schema=True).server.requests
    assert asked.path == dialect.path
    assert asked.headers["authorization"] == f"Bearer {CANARY}"
    assert asked.headers["accept-encoding"] == "identity"
    options = asked.body.get("options", asked.body)
    assert options["temperature"] < 1e-6  # langchain-groq makes 1e-8 of 0
    assert options.get("max_tokens", options.get("num_predict")) == 50
    assert ("seed" in options) == dialect.seeded
    said = [turn["content"] for turn in asked.messages if turn["role"] == "user"]
    assert said == [HELLO[1].text]


def test_a_reply_that_is_too_long_is_cut(run: Run, dialect: Dialect) -> None:
    seen = call(run, dialect, dialect.outweighs(*["and "] * 500, silent=True), max_tokens=9)
    assert (seen.set_outcome.finish, seen.set_outcome.usage.completion_tokens) == ("length", 9)
    by_server = call(run, dialect, dialect.outweighs("Par", finish="length"))
    assert by_server.set_outcome.finish == "length"


def test_silence_is_cut_at_the_deadline(run: Run, dialect: Dialect) -> None:
    seen = call(run, dialect, dialect.outweighs("Par", silent=True), within_s=0.5)
    assert isinstance(seen.outcome, ModelFault)
    assert "did not finish before the deadline" in str(seen.outcome)
    assert seen.seconds < 2.5  # however busy the machine


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
    seen = call(run, dialect, dialect.declines(code, f"no {CANARY}", headers))
    assert isinstance(seen.outcome, kind), seen.outcome
    assert part in str(seen.outcome)
    assert CANARY not in str(seen.outcome)
    assert "\n" not in str(seen.outcome)
    assert seen.server.calls == 1  # the packages do not try again on their own
    if code == 429 and isinstance(seen.outcome, ModelFault) and dialect.provider != "ollama":
        assert seen.outcome.retry_after_s == 7.0


@pytest.mark.parametrize("how", ["reset", "flood", "nobody"])
def test_a_way_that_breaks_is_typed(run: Run, dialect: Dialect, how: str) -> None:
    if how == "nobody":
        url = find_closed_url().removesuffix("/v1")
        outcome, _ = run(asked_at(dialect, url, 5.0))
    else:
        outcome = call(run, dialect, resets() if how == "reset" else floods()).outcome
    assert isinstance(outcome, CallFailure), outcome
    assert outcome.exit_code == 5
    assert "\n" not in str(outcome)
