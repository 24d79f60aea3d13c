"""The real small language model of the tests; one child process serves all of them."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.llm.base import ChatModel
from fathom.llm.endpoint import resolve_endpoint
from fathom.llm.local import LocalChat, find_weights
from fathom.llm.local_server import LocalOptions, LocalServer

LOCAL = "local:"


def explain_absence() -> str:
    """Return why the model is missing, with the command that installs it; empty if it is there."""
    try:
        resolve_endpoint(LOCAL)
        find_weights(LOCAL)
    except UsageError as missing:
        return str(missing)
    return ""


def find_test_weights() -> Path:
    """Return the file that FATHOM_TEST_GGUF names, such as a model of 0.5 billion parameters."""
    name = os.environ.get("FATHOM_TEST_GGUF", "")
    if not name:
        pytest.skip("FATHOM_TEST_GGUF names no file of a model")
    return Path(name)


@dataclass
class RealModel:
    """SmolLM2-135M-Instruct in a child process.

    Attributes:
        server: Runs it.
    """

    # One thread, as tests run side by side; all that prompts have in common is read once.
    server: LocalServer = field(
        default_factory=lambda: LocalServer(LocalOptions(context_tokens=4096, cache_prompts=True))
    )

    @property
    def file(self) -> Path:
        """The file of its weights."""
        return find_weights(LOCAL)

    def chat(self, name: str = LOCAL) -> ChatModel:
        """Return a chat model like `Connect` does; every engine asks the same child process."""
        chat = LocalChat(resolve_endpoint(name), self.file, self.server)
        chat.prepare()
        chat.load()
        return chat
