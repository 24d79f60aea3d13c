"""A model in a file on this machine, through a child process with OpenAI's protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.language_models import BaseChatModel

from fathom.llm.providers import openai
from fathom.llm.providers.capabilities import ProviderRequest

create_tls = openai.create_tls


@asynccontextmanager
async def open_model(request: ProviderRequest) -> AsyncIterator[BaseChatModel]:
    """Yield a model for one call, without proxies, because the text must not leave the machine."""
    async with openai.open_model(request, proxies=False) as model:
        yield model
