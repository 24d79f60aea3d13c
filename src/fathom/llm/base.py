"""The protocol of language models and the values that it exchanges."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Protocol

from fathom.runs.reservation import ReportedUsage
from fathom.usage import Usage

MessageRole = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length"]
Schema = Mapping[str, Any]
OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: MessageRole
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model, with its limits.

    Attributes:
        messages: The conversation, oldest message first.
        schema: A JSON schema that the answer should fit. It is sent to servers that support
            schemas. No server guarantees it, so the caller checks the answer.
        max_tokens: The most completion tokens by our own count, reasoning included.
        deadline: The instant of `time.monotonic`, the clock of asyncio, at which the call must be
            over.
        on_text: Receives the text of the answer, without reasoning, while it arrives. This text is
            provisional: only the text of the completion counts.
    """

    messages: Sequence[Message]
    _: KW_ONLY
    schema: Schema | None = None
    max_tokens: int
    deadline: float
    on_text: OnText | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The reply of a model.

    Attributes:
        text: The answer without its reasoning; may be empty.
        model: The name that we use, `provider:model`.
        finish: `length` if the server or Fathom cut the answer at `max_tokens`.
        usage: The cost by our own count, failed tries included.
        reported: The server's own figures. Nothing believes them without a check.
        reasoning_tokens: The number of completion tokens that were reasoning, by our count.
    """

    text: str
    model: str
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    reported: ReportedUsage = field(default_factory=ReportedUsage)
    reasoning_tokens: int = 0


class ChatModel(Protocol):
    """A language model; every implementation passes `tests/llm/test_conformance.py`."""

    @property
    def name(self) -> str:
        """The name, `provider:model`."""
        ...

    async def complete(self, call: Call) -> Completion:
        """Return the model's answer to a conversation. Cancelling the call ends its connection.

        Raises:
            ModelUnavailable: If there was no answer in time.
            ModelRefused: If the model or its server declined.
            MalformedReply: If the reply is not a chat reply.
        """
        ...
