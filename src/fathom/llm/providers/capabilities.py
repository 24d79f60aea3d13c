"""One request to a provider, and the options that its server understands."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from ssl import SSLContext
from typing import Any, Literal, Self

from pydantic import SecretStr

from fathom.llm.faults import collect_server_text, get_http_status
from fathom.llm.providers.http_limits import Hooks
from fathom.llm.schema import drop_bounds

SEED = 0
SchemaMode = Literal["json_schema", "plain_schema", "json_object", "prompt"]
MODES: tuple[SchemaMode, ...] = ("json_schema", "plain_schema", "json_object", "prompt")
"""The ways to ask a server for JSON, best first: by a schema, by one without bounds on lengths, as
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
    """The options that a server understands, learnt from its refusals.

    Attributes:
        schema: One of `MODES`.
        temperature: Whether it knows the option; 0 is sent, so that answers stay the same.
        seed: Whether it knows the option; `SEED` is sent.
        usage: Whether it can send its token counts at the end of a stream.
        system: Whether it knows system messages. If not, their text is put before the first user
            message.
    """

    schema: SchemaMode = "json_schema"
    temperature: bool = True
    seed: bool = True
    usage: bool = True
    system: bool = True

    def intersect(self, other: Self) -> Self:
        """Return the options that both know.

        Two requests that ran at the same time may each have found a different option refused.
        """
        mode = max(self.schema, other.schema, key=MODES.index)
        switches = [option.name for option in fields(self) if option.name != "schema"]
        shared = {name: getattr(self, name) and getattr(other, name) for name in switches}
        return replace(self, schema=mode, **shared)


def drop_refused_option(capabilities: Capabilities, error: Exception) -> Capabilities:
    """Return the capabilities without the option that a server's error names; else unchanged.

    Args:
        capabilities: The capabilities with which the request was sent.
        error: The SDK's error. It counts also without an HTTP status, as inside of a stream, and
            with status 500, with which some servers refuse an option.
    """
    status, words = get_http_status(error), collect_server_text(error).lower()
    if status is not None and status not in _REFUSING:
        return capabilities
    if _FORMAT.search(words) and capabilities.schema != "prompt":
        return replace(capabilities, schema=_weaken_mode(capabilities.schema, words))
    for name, pattern in _SWITCHES.items():
        if pattern.search(words):
            switch: dict[str, Any] = {name: False}
            return replace(capabilities, **switch)
    return capabilities


def _weaken_mode(mode: SchemaMode, words: str) -> SchemaMode:
    """Return the best mode of `MODES` to try after `mode` was refused with these words."""
    if mode == "json_schema" and _BOUNDS.search(words):
        return "plain_schema"
    return "json_object" if mode in {"json_schema", "plain_schema"} else "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRequest:
    """The data that an adapter needs to open a LangChain model for one call.

    Attributes:
        model: The model's name at the provider.
        key: The key; `None` if the server needs none.
        base_url: The address of the server.
        max_tokens: The largest number of completion tokens, which is sent to the server.
        schema: A JSON schema for the answer; `None` without one.
        capabilities: The options that the server understands.
        hooks: The hooks of `limit_bytes` for the HTTP client.
        connect_s: The timeout in seconds for connecting, and again for the TLS handshake. Both
            together are shorter than the time left until the deadline, because a client that is
            cancelled in the handshake leaves its socket open.
        tls: The TLS context, which is made only once, because this is slow.
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
        """The option `response_format` of OpenAI's protocol; `None` if none is sent."""
        if self.schema is None or self.capabilities.schema == "prompt":
            return None
        if self.format is None:
            return {"type": "json_object"}
        form = {"name": "reply", "schema": self.format, "strict": False}
        return {"type": "json_schema", "json_schema": form}

    @property
    def format(self) -> Mapping[str, Any] | None:
        """The schema in a form that the server understands; `None` if there is none to send."""
        if self.schema is None or self.capabilities.schema in {"json_object", "prompt"}:
            return None
        return (
            self.schema if self.capabilities.schema == "json_schema" else drop_bounds(self.schema)
        )
