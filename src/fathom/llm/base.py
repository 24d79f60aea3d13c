"""What a language model promises."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Protocol

from fathom.runs.reservation import Reported
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
    """What a model is asked, and within which limits.

    Attributes:
        messages: Oldest first.
        schema: A JSON schema the answer should fit, asked of the server where it knows how.
            A wish, not a promise: the caller checks the answer.
        max_tokens: At most so many completion tokens, reasoning included, by our own count.
        deadline: Instant of `time.monotonic`, the clock of asyncio, when it must be over.
        on_text: Gets the answer's text, without reasoning, as it comes. What it got is
            provisional: the completion's text is what counts.
    """

    messages: Sequence[Message]
    _: KW_ONLY
    schema: Schema | None = None
    max_tokens: int
    deadline: float
    on_text: OnText | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model answered.

    Attributes:
        text: The answer without its reasoning; may be empty.
        model: `provider:model`, as it was named by us.
        finish: `length` when the answer was cut at `max_tokens`, by the server or by us.
        usage: What it cost by our own count, failed tries included.
        reported: What the server says it used, believed by nobody without a check.
        reasoning_tokens: How many of the completion tokens were reasoning, by our count.
    """

    text: str
    model: str
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    reported: Reported = field(default_factory=Reported)
    reasoning_tokens: int = 0


class ChatModel(Protocol):
    """Completes a conversation; every implementation passes `tests/llm/test_conformance.py`."""

    @property
    def name(self) -> str:
        """`provider:model`."""
        ...

    async def complete(self, call: Call) -> Completion:
        """Answer; who cancels it ends its connection.

        Raises:
            ModelUnavailable: If there was no answer in time.
            ModelRefused: If the model or its server declined.
            MalformedReply: If what came is not a chat reply.
        """
        ...
