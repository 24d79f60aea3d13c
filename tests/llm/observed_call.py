"""One call of the real client to a scripted server, and everything observed of it."""

import asyncio
import time
from dataclasses import dataclass

from tests.llm.factories import HELLO, Run, make_chat, make_deadline
from tests.scripted_server import (
    Act,
    ScriptedServer,
)

from fathom.llm.base import Call
from fathom.llm.chat import ReplyLimits
from fathom.llm.faults import CallFailure

LIMITS = ReplyLimits(first_s=2.0, silence_s=2.0)


@dataclass
class CallRecord:
    """The record of one call: its outcome, the streamed text, and what the server observed."""

    outcome: object
    shown: str
    server: ScriptedServer
    seconds: float


def call_server(
    run: Run, *acts: Act, within_s: float = 5.0, limits: ReplyLimits = LIMITS, max_tokens: int = 50
) -> CallRecord:
    async def run_call() -> CallRecord:
        streamed: list[str] = []
        async with ScriptedServer(*acts) as server:
            chat = make_chat(server.base_url, limits=limits)
            begun = time.monotonic()
            outcome: object
            try:
                outcome = await chat.complete(
                    Call(
                        HELLO,
                        max_tokens=max_tokens,
                        deadline=make_deadline(within_s),
                        on_text=streamed.append,
                    )
                )
            except CallFailure as failed:
                outcome = failed
            took = time.monotonic() - begun
            await asyncio.wait_for(
                server.wait_until_idle(), 2
            )  # the server sees every connection closed
            return CallRecord(outcome, "".join(streamed), server, took)

    record: CallRecord = run(run_call())
    return record
