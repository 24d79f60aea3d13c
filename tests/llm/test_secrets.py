"""A key shows up in no error, no repr, no log and no event, whatever the server does with it."""

import logging
import traceback

import pytest
from tests.llm.making import CANARY, HELLO, Run, chat_at, soon
from tests.scripted_server import (
    Act,
    ScriptedServer,
    echoes_the_key,
    find_closed_url,
    floods,
    raw,
    resets,
    says,
    stalls,
    status,
)

from fathom.llm.base import Call
from fathom.llm.call import RoleModel
from fathom.llm.faults import CallFailure
from fathom.llm.retry import RetryPolicy
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import run_context
from fathom.usage import FREE


@pytest.mark.parametrize(
    "act",
    [
        says("Paris"),
        says(f"Your key is {CANARY}"),
        echoes_the_key(401),
        echoes_the_key(400),
        echoes_the_key(429),
        echoes_the_key(500),
        status(403, CANARY * 100),
        raw(f"<html>{CANARY}</html>", code=502),
        raw(f'data: {{"error": {{"message": "{CANARY}"}}}}\n\n'),
        raw(f"data: {CANARY}\n\n"),
        resets(),
        stalls(),
        floods(),
        None,
    ],
)
def test_the_canary_is_seen_nowhere(
    run: Run, act: Act | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []

    async def ask(base_url: str) -> None:
        chat = chat_at(base_url)
        role = RoleModel(chat=chat, price=FREE, retry=RetryPolicy(tries=2, first_wait_s=0.001))
        seen.extend([repr(chat), repr(chat.endpoint), str(vars(chat))])
        call = Call(HELLO, max_tokens=50, deadline=soon(0.3))
        with run_context() as context:
            try:
                seen.append(repr(await role.bind_to_run(context).complete(call)))
            except CallFailure as failed:
                seen.extend([str(failed), repr(failed), *traceback.format_exception(failed)])
            assert isinstance(context.scope, Recorder)
            seen.extend(repr(event) for event in context.scope.seal(None).events)

    async def go() -> None:
        async with ScriptedServer(*([act] * 2 if act else [])) as server:
            await ask(server.base_url if act else find_closed_url())
            if act:
                assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"

    run(go())
    records = [logging.Formatter().format(record) for record in caplog.records]
    printed = capfd.readouterr()
    assert len(seen) >= 4
    assert CANARY not in "\n".join([*seen, *records, printed.out, printed.err])
