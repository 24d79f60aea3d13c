"""The reuse of a prompt's fixed beginning by llama.cpp, without any effect on the reply.

llama.cpp keeps the last prompt and reads the next one from the first token on that differs. If this
token lies within a batch, all later tokens fall into other batches than without the reuse, and
rounding may change the reply. So `prepare` first sends a short request, which leaves exactly the
whole batches of the first message in the child process. The prompt is then read from there on, in
the same batches as from its start.
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
"""The token that `prepare` puts behind the whole batches to end the shared tokens there; the next
number is used where the prompt itself has this one."""


class PromptCache:
    """The record of the prompt beginning that a child process holds, for one call at a time."""

    def __init__(self, *, is_exact: bool) -> None:
        """Create the cache of a child process that has read nothing.

        Args:
            is_exact: Whether only whole batches are reused, so that no reply changes. If not, all
                tokens are reused that a prompt shares with the one before.
        """
        self._is_exact = is_exact
        self._turn = Lock()
        self._held: list[int] = []
        self._beginnings: dict[str, list[int]] = {}

    @asynccontextmanager
    async def take_turn(self, deadline: float) -> AsyncIterator[None]:
        """Let no other call use the child process within the block; safe for several threads.

        Args:
            deadline: The instant of `time.monotonic` until which to wait for earlier calls.

        Raises:
            TimeoutError: If the earlier calls were not finished at the deadline.
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
        """Forget the beginning that the child process holds, before it reads something else."""
        self._held = []

    async def prepare(self, client: "AsyncClient", messages: Sequence[Message]) -> None:
        """Make the child process hold the whole batches of the first message, and nothing else.

        Args:
            client: A client of the child process.
            messages: The messages of the next call.

        Raises:
            HTTPError: If the child process does not answer.
        """
        if not self._is_exact:
            return
        beginning = await self._tokenize(client, messages[0])
        shared, self._held = self._held == beginning, []
        await _post(
            client,
            "/completion",
            # The tokens shared with another prompt may end within a batch, so they are not reused.
            {"prompt": beginning, "n_predict": 0, "cache_prompt": shared},
        )
        self._held = beginning

    async def _tokenize(self, client: "AsyncClient", message: Message) -> list[int]:
        """Return the tokens of a message's whole batches, and one that does not follow there.

        llama.cpp reads at least the last token anew, so it must be one that is not shared.
        """
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
            # The last token may become another one when the next message follows it.
            count = max(len(tokens) - 1, 0) // BATCH_TOKENS * BATCH_TOKENS
            other = _OTHER_TOKEN + (tokens[count : count + 1] == [_OTHER_TOKEN])
            self._beginnings[message.text] = [*tokens[:count], other]
        return self._beginnings[message.text]


async def _post(client: "AsyncClient", path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object with which the child process replies; empty if it refuses.

    Args:
        client: A client of the child process.
        path: The path of the request.
        body: The JSON body of the request.
    """
    reply = await client.post(path, json=body)
    value = reply.json() if reply.is_success else {}
    return value if isinstance(value, dict) else {}
