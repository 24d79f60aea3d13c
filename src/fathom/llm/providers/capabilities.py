"""One request to a provider, and which options its server turns out to understand."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from ssl import SSLContext
from typing import Any, Literal, Self

from pydantic import SecretStr

from fathom.llm.faults import http_status, server_words
from fathom.llm.providers.http_limits import Hooks
from fathom.llm.schema import unbounded

SEED = 0
SchemaMode = Literal["json_schema", "plain_schema", "json_object", "prompt"]
MODES: tuple[SchemaMode, ...] = ("json_schema", "plain_schema", "json_object", "prompt")
"""How a server is asked for JSON, best first: by a schema, by one without bounds of lengths, as
any object, or in words alone."""

_REFUSING = frozenset({400, 404, 415, 422, 500, 501})
_BOUNDS = re.compile(
    r"(?:min|max)_?(?:length|items)|keyword|grammar|repetition|too complex|xgrammar|outlines"
    r"|features not supported"
)
_FORMAT = re.compile(
    r"response[ _]?format|json[ _]?(?:schema|object|mode)|structured output|guided|schema"
    r"|grammar|json_validate_failed|failed to generate json|\bformat\b"
)
_SWITCHES = {
    "system": re.compile(r"system (?:role|message)s?|roles must alternate|role.{0,9}\bsystem\b"),
    "usage": re.compile(r"stream_options|include_usage"),
    "temperature": re.compile(r"temperature"),
    "seed": re.compile(r"\bseed\b"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Which options a server understands; learnt from its refusals.

    Attributes:
        schema: See `MODES`.
        temperature: One of 0, so that it answers as it did before.
        seed: A seed, where the provider knows one.
        usage: Usage at the end of a stream.
        system: Messages of the system; without, what they say begins the first of the user.
    """

    schema: SchemaMode = "json_schema"
    temperature: bool = True
    seed: bool = True
    usage: bool = True
    system: bool = True

    def also(self, other: Self) -> Self:
        """What both know: requests that ran side by side learn different things."""
        mode = max(self.schema, other.schema, key=MODES.index)
        switches = [each.name for each in fields(self) if each.name != "schema"]
        known = {name: getattr(self, name) and getattr(other, name) for name in switches}
        return replace(self, schema=mode, **known)


def without_refused(capabilities: Capabilities, error: Exception) -> Capabilities:
    """Those without the option that a server complains of, in its words; else as they were.

    An error inside a stream has no status, and some servers say 500 of what they do not know.
    """
    status, words = http_status(error), server_words(error).lower()
    if status is not None and status not in _REFUSING:
        return capabilities
    if _FORMAT.search(words) and capabilities.schema != "prompt":
        return replace(capabilities, schema=_weaker(capabilities.schema, words))
    for name, named in _SWITCHES.items():
        if named.search(words):
            without: dict[str, Any] = {name: False}
            return replace(capabilities, **without)
    return capabilities


def _weaker(mode: SchemaMode, words: str) -> SchemaMode:
    if mode == "json_schema" and _BOUNDS.search(words):
        return "plain_schema"
    return "json_object" if mode in {"json_schema", "plain_schema"} else "prompt"


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
        if self.format is None:
            return {"type": "json_object"}
        form = {"name": "reply", "schema": self.format, "strict": False}
        return {"type": "json_schema", "json_schema": form}

    @property
    def format(self) -> Mapping[str, Any] | None:
        """The schema as the server understands it; `None` where it understands none."""
        if self.schema is None or self.capabilities.schema in {"json_object", "prompt"}:
            return None
        return self.schema if self.capabilities.schema == "json_schema" else unbounded(self.schema)
