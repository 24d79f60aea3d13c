"""Groq, through langchain-groq."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import groq
from httpx import Timeout, create_ssl_context
from langchain_core.language_models import BaseChatModel
from langchain_groq import ChatGroq

from fathom.llm.providers.capabilities import SEED, ProviderRequest

create_tls = create_ssl_context


@asynccontextmanager
async def open_model(request: ProviderRequest) -> AsyncIterator[BaseChatModel]:
    """Yield a model for one call; its connection ends with the block.

    langchain-groq drops Groq's usage at the end of a stream, so no usage is reported.
    """
    extra: dict[str, object] = {"seed": SEED} if request.capabilities.seed else {}
    if request.response_format is not None:
        extra["response_format"] = request.response_format
    steady: dict[str, Any] = {"temperature": 0.0} if request.capabilities.temperature else {}
    async with groq.DefaultAsyncHttpxClient(
        event_hooks=request.hooks, verify=request.tls, follow_redirects=False
    ) as client:
        yield ChatGroq(
            model=request.model,
            api_key=request.key,
            base_url=request.base_url,
            max_tokens=request.max_tokens,
            max_retries=0,
            timeout=Timeout(None, connect=request.connect_s),
            cache=False,
            model_kwargs=extra,
            http_async_client=client,
            http_client=groq.DefaultHttpxClient(verify=request.tls),
            **steady,
        )
