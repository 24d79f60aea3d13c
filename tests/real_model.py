"""The small language model that tests ask for real; one child process serves all of them."""

from dataclasses import dataclass, field
from pathlib import Path

from fathom.errors import UsageError
from fathom.llm.base import ChatModel
from fathom.llm.endpoint import resolve_endpoint
from fathom.llm.local import LocalChat, find_weights
from fathom.llm.local_server import LocalOptions, LocalServer

LOCAL = "local:"


def why_absent() -> str:
    """Why there is none, with the command that installs it; empty where there is one."""
    try:
        resolve_endpoint(LOCAL)
        find_weights(LOCAL)
    except UsageError as missing:
        return str(missing)
    return ""


@dataclass
class RealModel:
    """SmolLM2-135M-Instruct.

    Attributes:
        server: Runs it.
    """

    # One thread, as tests run side by side; what prompts have in common is read once.
    server: LocalServer = field(
        default_factory=lambda: LocalServer(LocalOptions(context_tokens=4096, cache_prompts=True))
    )

    @property
    def file(self) -> Path:
        """Its weights."""
        return find_weights(LOCAL)

    def chat(self, name: str = LOCAL) -> ChatModel:
        """As `Connect` gives it: every engine asks the same child."""
        chat = LocalChat(resolve_endpoint(name), self.file, self.server)
        chat.prepare()
        chat.load()
        return chat
