"""One request to a provider, and which options its server turns out to understand."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from ssl import SSLContext
from typing import Any

from pydantic import SecretStr

from fathom.llm.faults import http_status, server_message
from fathom.llm.providers.http_limits import Hooks

SEED = 0
_WORSE = {"json_schema": "json_object", "json_object": "prompt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Which options a server understands; learnt from its refusals.

    Attributes:
        schema: `json_schema`, else `json_object`, else the prompt alone.
        temperature: One of 0, so that it answers as it did before.
        seed: A seed, where the provider knows one.
        usage: Usage at the end of a stream.
    """

    schema: str = "json_schema"
    temperature: bool = True
    seed: bool = True
    usage: bool = True


def without_refused(capabilities: Capabilities, error: Exception) -> Capabilities:
    """Those without the option that a server's 400 or 422 complains of; else as they were."""
    if http_status(error) not in {400, 422}:
        return capabilities
    words = server_message(error).lower()
    if any(word in words for word in ("response_format", "json_schema", "json_object")):
        return replace(capabilities, schema=_WORSE.get(capabilities.schema, "prompt"))
    if "stream_options" in words or "include_usage" in words:
        return replace(capabilities, usage=False)
    if "temperature" in words:
        return replace(capabilities, temperature=False)
    if "seed" in words:
        return replace(capabilities, seed=False)
    return capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an adapter needs to open a LangChain model for one call.

    Attributes:
        max_tokens: Told to the server.
        schema: A JSON schema for the answer, or `None`.
        hooks: For the HTTP client; see `http_limits`.
        connect_s: For each of connecting and the TLS handshake, together shorter than what is
            left of the deadline: a client that is cancelled in the handshake forgets its socket.
        tls: Made once, as it is slow to make.
    """

    model: str
    key: SecretStr | None
    base_url: str
    max_tokens: int
    schema: Mapping[str, Any] | None
    capabilities: Capabilities
    hooks: Hooks
    connect_s: float
    tls: SSLContext

    @property
    def response_format(self) -> Mapping[str, Any] | None:
        """The wish for JSON in the words of OpenAI's protocol."""
        if self.schema is None or self.capabilities.schema == "prompt":
            return None
        if self.capabilities.schema == "json_object":
            return {"type": "json_object"}
        form = {"name": "reply", "schema": self.schema, "strict": False}
        return {"type": "json_schema", "json_schema": form}
