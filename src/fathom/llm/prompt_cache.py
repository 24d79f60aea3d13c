"""The reuse of a prompt's fixed beginning by llama.cpp, without any effect on the reply.

llama.cpp continues from the tokens that a prompt shares with the one before. If these end within a
batch, all later tokens fall into other batches than they would alone, and by rounding the reply may
differ. Therefore a short request comes first, which leaves exactly the whole batches of the first
message: the prompt continues from there, in the same batches as from its start.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from fathom.llm.base import Message
from fathom.llm.local_child import BATCH_TOKENS

if TYPE_CHECKING:  # a call needs the client, which takes a while to import
    from httpx2 import AsyncClient

_POLL_S = 0.02
_OTHER_TOKEN = 100
"""A token with which no prompt begins."""


class PromptCache:
    """The beginning that the child process holds; one call at a time may use it."""

    def __init__(self, *, is_exact: bool) -> None:
        """Create the cache of a child process that has read nothing.

        Args:
            is_exact: Whether only whole batches are reused. If not, a prompt continues from all
                that it shares with the one before.
        """
        self._is_exact = is_exact
        self._turn = Lock()
        self._held: list[int] = []
        self._beginnings: dict[str, list[int]] = {}

    @asynccontextmanager
    async def take_turn(self, deadline: float) -> AsyncIterator[None]:
        """Let no other call change the cache within the block; callers may be in several threads.

        Raises:
            TimeoutError: If the calls before were not finished at the deadline.
        """
        while not self._turn.acquire(blocking=False):
            if time.monotonic() >= deadline:
                raise TimeoutError
            await asyncio.sleep(_POLL_S)
        try:
            yield
        finally:
            self._turn.release()

    def clear(self) -> None:
        """Forget what the child process holds, as it reads something else now."""
        self._held = []

    async def prepare(self, client: "AsyncClient", messages: Sequence[Message]) -> None:
        """Leave the whole batches of the first message in the child process, and nothing else.

        Args:
            client: A client of the child process.
            messages: The messages of the next call.
        """
        if not self._is_exact:
            return
        beginning = await self._tokenize(client, messages[0])
        shared, self._held = self._held == beginning, []
        await _post(
            client,
            "/completion",
            # What another prompt has left may end within a batch.
            {"prompt": beginning, "n_predict": 0, "cache_prompt": shared},
        )
        self._held = beginning

    async def _tokenize(self, client: "AsyncClient", message: Message) -> list[int]:
        """Return the tokens of the whole batches, and one that the prompt does not have there."""
        if message.text not in self._beginnings:
            turns = [
                {"role": message.role, "content": message.text},
                {"role": "user", "content": ""},
            ]
            prompt = str(
                (await _post(client, "/apply-template", {"messages": turns})).get("prompt")
            )
            text = message.text.strip()
            head = prompt[: prompt.find(text) + len(text)] if text in prompt else ""
            options = {"content": head, "add_special": True, "parse_special": True}
            tokens = (await _post(client, "/tokenize", options)).get("tokens") or []
            # The last token may continue in the next message.
            count = max(len(tokens) - 1, 0) // BATCH_TOKENS * BATCH_TOKENS
            other = _OTHER_TOKEN + (tokens[count : count + 1] == [_OTHER_TOKEN])
            self._beginnings[message.text] = [*tokens[:count], other]
        return self._beginnings[message.text]


async def _post(client: "AsyncClient", path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the reply of the child process; empty if it refuses."""
    reply = await client.post(path, json=body)
    value = reply.json() if reply.is_success else {}
    return value if isinstance(value, dict) else {}
