"""A model of a file on this machine: llama.cpp speaks OpenAI's protocol, from a child process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.language_models import BaseChatModel

from fathom.llm.providers import openai
from fathom.llm.providers.capabilities import Request

tls = openai.tls


@asynccontextmanager
async def opened(request: Request) -> AsyncIterator[BaseChatModel]:
    """A model for one call; nothing stands between: a text must not leave the machine."""
    async with openai.opened(request, proxies=False) as model:
        yield model
