"""One call of the real client to a scripted server, and what was seen of it."""

import asyncio
import time
from dataclasses import dataclass

from tests.llm.making import HELLO, Run, chat_at, soon
from tests.scripted_server import (
    Act,
    ScriptedServer,
)

from fathom.llm.base import Call
from fathom.llm.chat import ReplyLimits
from fathom.llm.faults import CallFailure

LIMITS = ReplyLimits(first_s=2.0, silence_s=2.0)


@dataclass
class Seen:
    """What came of one call: the outcome, what was shown, what the server noticed."""

    outcome: object
    shown: str
    server: ScriptedServer
    seconds: float


def call(
    run: Run, *acts: Act, within_s: float = 5.0, limits: ReplyLimits = LIMITS, max_tokens: int = 50
) -> Seen:
    async def go() -> Seen:
        shown: list[str] = []
        async with ScriptedServer(*acts) as server:
            chat = chat_at(server.base_url, limits=limits)
            begun = time.monotonic()
            outcome: object
            try:
                outcome = await chat.complete(
                    Call(
                        HELLO, max_tokens=max_tokens, deadline=soon(within_s), on_text=shown.append
                    )
                )
            except CallFailure as failed:
                outcome = failed
            took = time.monotonic() - begun
            await asyncio.wait_for(
                server.wait_until_idle(), 2
            )  # the server sees every connection closed
            return Seen(outcome, "".join(shown), server, took)

    seen: Seen = run(go())
    return seen
