"""A key occurs in no error, repr, log or event, whatever the server does with it."""

import logging
import traceback

import pytest
from tests.llm.factories import CANARY, HELLO, Run, make_chat, make_deadline
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

ACTS: dict[str, Act] = {
    "answers": says("Paris"),
    "answers with the key": says(f"Your key is {CANARY}"),
    "401 with the key": echoes_the_key(401),
    "400 with the key": echoes_the_key(400),
    "429 with the key": echoes_the_key(429),
    "500 with the key": echoes_the_key(500),
    "403 with many keys": status(403, CANARY * 100),
    "a page in place of JSON": raw(f"<html>{CANARY}</html>", code=502),
    "an error in the stream": raw(f'data: {{"error": {{"message": "{CANARY}"}}}}\n\n'),
    "a stream of no JSON": raw(f"data: {CANARY}\n\n"),
    "resets": resets(),
    "stalls": stalls(),
    "floods": floods(),
}


@pytest.mark.parametrize("name", [*ACTS, "is not there"])
def test_the_canary_occurs_nowhere(
    run: Run, name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    act = ACTS.get(name)
    # Only a server that stalls needs a near deadline; a busy machine must reach all others.
    seconds = 1 if name == "stalls" else 60
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []

    async def ask(base_url: str) -> None:
        chat = make_chat(base_url)
        role = RoleModel(chat=chat, price=FREE, retry=RetryPolicy(tries=2, first_wait_s=0.001))
        texts.extend([repr(chat), repr(chat.endpoint), str(vars(chat))])
        call = Call(HELLO, max_tokens=50, deadline=make_deadline(seconds))
        with run_context() as context:
            try:
                texts.append(repr(await role.bind_to_run(context).complete(call)))
            except CallFailure as failed:
                texts.extend([str(failed), repr(failed), *traceback.format_exception(failed)])
            assert isinstance(context.scope, Recorder)
            texts.extend(repr(event) for event in context.scope.seal(None).events)

    async def go() -> None:
        async with ScriptedServer(*([act] * 2 if act else [])) as server:
            await ask(server.base_url if act else find_closed_url())
            if act:
                assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"

    run(go())
    records = [logging.Formatter().format(record) for record in caplog.records]
    printed = capfd.readouterr()
    assert len(texts) >= 4
    assert CANARY not in "\n".join([*texts, *records, printed.out, printed.err])
