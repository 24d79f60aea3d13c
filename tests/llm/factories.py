"""Factories that the tests of this room share."""

import time
from collections.abc import Callable, Coroutine
from typing import Any

from fathom.llm.base import Message
from fathom.llm.chat import LangChainChat, ReplyLimits
from fathom.llm.endpoint import resolve_endpoint

CANARY = "sk-canary-7d1f"
HELLO = (Message("system", "Be brief."), Message("user", "What is the capital of France?"))
Run = Callable[[Coroutine[Any, Any, Any]], Any]


def make_chat(base_url: str, *, limits: ReplyLimits | None = None) -> LangChainChat:
    """Return the real client, with a canary as its key."""
    endpoint = resolve_endpoint(
        "openai:m", base_url=base_url, key_env="CANARY", environment={"CANARY": CANARY}
    )
    chat = LangChainChat(endpoint, limits)
    chat.prepare()
    return chat


def make_deadline(seconds: float = 5.0) -> float:
    """Return a deadline so many seconds from now."""
    return time.monotonic() + seconds
