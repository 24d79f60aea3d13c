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
        max_tokens: The largest number of completion tokens, reasoning included, by our own count.
        deadline: The instant at which the call must be over, on the clock `time.monotonic`, which
            asyncio uses too; infinite for no deadline.
        on_text: A function that receives the text of the answer, without reasoning, while it
            arrives. This text is provisional: only the text of the completion counts.
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
        model: The name of the model, `provider:model`.
        finish: `length` if the server or Fathom cut the answer because of its length, else `stop`.
        usage: The usage of the call, failed tries included. The counts are our own, except where a
            wrapper trusts the server's (`LocalChat`, `MeteredModel`).
        reported: The server's own counts, which are unchecked.
        reasoning_tokens: The number of completion tokens that were reasoning, by our own count.
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
        """Return the model's answer to a conversation.

        Cancelling the call ends its connection.

        Raises:
            ModelUnavailable: If there was no answer in time.
            ModelRefused: If the model or its server declined.
            MalformedReply: If the reply is not a chat reply.
        """
        ...
