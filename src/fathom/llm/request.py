"""One request to a provider, as all adapters understand it."""

from collections.abc import Mapping
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any

from pydantic import SecretStr

from fathom.llm.wire import Hooks

SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """Which options a server understands; learnt from its refusals.

    Attributes:
        schema: `json_schema`, else `json_object`, else the prompt alone.
        steady: Temperature 0.
        seed: A seed, where the provider knows one.
        usage: Usage at the end of a stream.
    """

    schema: str = "json_schema"
    steady: bool = True
    seed: bool = True
    usage: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an adapter needs to open a LangChain model for one call.

    Attributes:
        max_tokens: Told to the server.
        schema: A JSON schema for the answer, or `None`.
        hooks: For the HTTP client; see `wire`.
        connect_s: For each of connecting and the TLS handshake, together shorter than what is
            left of the deadline: a client that is cancelled in the handshake forgets its socket.
        tls: Made once, as it is slow to make.
    """

    model: str
    key: SecretStr | None
    base_url: str
    max_tokens: int
    schema: Mapping[str, Any] | None
    habits: Habits
    hooks: Hooks
    connect_s: float
    tls: SSLContext

    @property
    def response_format(self) -> Mapping[str, Any] | None:
        """The wish for JSON in the words of OpenAI's protocol."""
        if self.schema is None or self.habits.schema == "prompt":
            return None
        if self.habits.schema == "json_object":
            return {"type": "json_object"}
        form = {"name": "reply", "schema": self.schema, "strict": False}
        return {"type": "json_schema", "json_schema": form}
