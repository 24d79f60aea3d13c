"""OpenAI and every other server of its chat protocol, through langchain-openai."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import openai
from httpx2 import Timeout, create_ssl_context
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from typing_extensions import override

from fathom.llm.providers.capabilities import SEED, ProviderRequest

create_tls = create_ssl_context
OPENAI = "https://api.openai.com/v1"
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


class ReasoningChatOpenAI(ChatOpenAI):
    """A ChatOpenAI that keeps the reasoning of other servers.

    It also accepts malformed figures in `usage`.
    """

    @override
    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        if not isinstance(chunk.get("choices"), list):
            raise TypeError("not a chat completion")
        clean = {**chunk, "usage": _clean_usage(chunk.get("usage"))}
        converted = super()._convert_chunk_to_generation_chunk(
            clean, default_chunk_class, base_generation_info
        )
        if converted is not None:
            converted.message.additional_kwargs.update(_read_dropped_fields(chunk))
        return converted


@asynccontextmanager
async def open_model(
    request: ProviderRequest, *, proxies: bool = True
) -> AsyncIterator[BaseChatModel]:
    """Yield a model for one call; its connection ends with the block.

    Args:
        request: The request.
        proxies: Whether to use the proxies that the environment names.
    """
    async with openai.DefaultAsyncHttpxClient(
        event_hooks=request.hooks, verify=request.tls, follow_redirects=False, trust_env=proxies
    ) as client:
        yield ReasoningChatOpenAI(
            model=request.model,
            api_key=request.key or SecretStr("none"),
            base_url=request.base_url,
            temperature=0.0 if request.capabilities.temperature else None,
            seed=SEED if request.capabilities.seed else None,
            max_retries=0,
            timeout=Timeout(None, connect=request.connect_s),
            stream_usage=request.capabilities.usage,
            stream_chunk_timeout=None,
            use_responses_api=False,
            cache=False,
            extra_body=_build_extra_body(request),
            http_async_client=client,
            http_socket_options=(),  # avoids a warning about proxies, which our clients handle
            http_client=openai.DefaultHttpxClient(verify=request.tls, trust_env=proxies),
        )


def _build_extra_body(request: ProviderRequest) -> dict[str, Any]:
    """Return the members of the request's body that langchain-openai must not treat itself."""
    # Only OpenAI itself knows the newer name of the limit. If `response_format` were given as an
    # argument, the SDK would parse the reply and raise an error if it does not fit.
    limit = "max_completion_tokens" if request.base_url == OPENAI else "max_tokens"
    extra: dict[str, Any] = {limit: request.max_tokens}
    if request.response_format is not None:
        extra["response_format"] = request.response_format
    return extra


def _clean_usage(usage: object) -> dict[str, int] | None:
    """Return the whole numbers among a server's token counts; `None` if one is missing."""
    if not isinstance(usage, Mapping):
        return None
    counts = {
        name: usage[name]
        for name in _COUNTS
        if isinstance(usage.get(name), int) and not isinstance(usage[name], bool)
    }
    return counts if {"prompt_tokens", "completion_tokens"} <= counts.keys() else None


def _read_dropped_fields(chunk: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a delta that langchain-openai drops: reasoning and refusals."""
    choices = chunk["choices"] or [{}]
    delta = choices[0].get("delta") or {}
    # Servers send reasoning under either of two names.
    dropped = {
        "reasoning_content": delta.get("reasoning_content") or delta.get("reasoning"),
        "refusal": delta.get("refusal"),
    }
    return {name: text for name, text in dropped.items() if text and isinstance(text, str)}
