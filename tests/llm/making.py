"""What the tests of this room share."""

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fathom.llm.base import Call, Completion, Message
from fathom.llm.chat import LangChainChat, Limits
from fathom.llm.endpoint import endpoint_of

CANARY = "sk-canary-7d1f"
HELLO = (Message("system", "Be brief."), Message("user", "What is the capital of France?"))
Run = Callable[[Coroutine[Any, Any, Any]], Any]


def chat_at(base_url: str, *, limits: Limits | None = None) -> LangChainChat:
    """The real client, with a canary as its key."""
    endpoint = endpoint_of(
        "openai:m", base_url=base_url, key_env="CANARY", environment={"CANARY": CANARY}
    )
    chat = LangChainChat(endpoint, limits)
    chat.prepare()
    return chat


def soon(seconds: float = 5.0) -> float:
    """A deadline."""
    return time.monotonic() + seconds


class Scripted:
    """A `ChatModel` without a wire: gives or raises one outcome after the other."""

    name = "openai:m"

    def __init__(self, *outcomes: Completion | Exception) -> None:
        self.outcomes = list(outcomes)
        self.asked: list[tuple[Sequence[Message], float]] = []

    async def complete(self, call: Call) -> Completion:
        self.asked.append((call.messages, call.deadline))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if call.on_text is not None:
            call.on_text(outcome.text)
        return outcome


def said(text: str, **more: Any) -> Completion:
    """A completion of `openai:m`."""
    return Completion(text=text, model="openai:m", **more)
