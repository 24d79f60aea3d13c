"""Anthropic, through langchain-anthropic. Anthropic's API has no seed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import anthropic
from httpx2 import Timeout, create_ssl_context
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from pydantic import PrivateAttr
from typing_extensions import override

from fathom.llm.providers.capabilities import ProviderRequest

create_tls = create_ssl_context


class BoundedChatAnthropic(ChatAnthropic):
    """A ChatAnthropic that takes its HTTP client from outside, which its base class cannot."""

    _http: anthropic.DefaultAsyncHttpxClient = PrivateAttr()

    @override
    @cached_property
    def _async_client(self) -> anthropic.AsyncClient:
        return anthropic.AsyncClient(**self._client_params, http_client=self._http)


@asynccontextmanager
async def open_model(request: ProviderRequest) -> AsyncIterator[BaseChatModel]:
    """Yield a model for one call; its connection ends with the block.

    The schema is not sent, so that only the prompt asks for JSON.
    """
    options: dict[str, Any] = {"temperature": 0.0} if request.capabilities.temperature else {}
    options |= {"model": request.model, "max_tokens": request.max_tokens, "api_key": request.key}
    async with anthropic.DefaultAsyncHttpxClient(
        event_hooks=request.hooks,
        verify=request.tls,
        timeout=Timeout(None, connect=request.connect_s),
        follow_redirects=False,
    ) as client:
        model = BoundedChatAnthropic(
            base_url=request.base_url,
            max_retries=0,
            timeout=-1.0,  # keeps the timeout of the HTTP client
            stream_usage=True,
            cache=False,
            **options,
        )
        model._http = client  # noqa: SLF001 - of our own class
        yield model
