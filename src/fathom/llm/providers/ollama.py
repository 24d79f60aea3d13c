"""Ollama, through langchain-ollama."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from httpx import Timeout, create_ssl_context
from langchain_core.language_models import BaseChatModel
from langchain_ollama import ChatOllama

from fathom.llm.providers.capabilities import SEED, ProviderRequest

create_tls = create_ssl_context

CONTEXT_TOKENS = 16_384
"""The tokens of prompt and reply together. With its default of 4,096, Ollama silently drops the
start of a long prompt."""


@asynccontextmanager
async def open_model(request: ProviderRequest) -> AsyncIterator[BaseChatModel]:
    """Yield a model for one call; its connection ends with the block."""
    client: dict[str, Any] = {
        "event_hooks": request.hooks,
        "verify": request.tls,
        "timeout": Timeout(None, connect=request.connect_s),
        "follow_redirects": False,
    }
    if request.key is not None:
        client["headers"] = {"Authorization": f"Bearer {request.key.get_secret_value()}"}
    form: Any = request.format or ("json" if request.response_format else None)
    model = ChatOllama(
        model=request.model,
        base_url=request.base_url,
        temperature=0.0,
        seed=SEED,
        num_predict=request.max_tokens,
        num_ctx=CONTEXT_TOKENS,
        format=form,
        cache=False,
        async_client_kwargs=client,
        sync_client_kwargs={"verify": request.tls},
    )
    try:
        yield model
    finally:
        await model._async_client._client.aclose()  # noqa: SLF001 - there is no public way
