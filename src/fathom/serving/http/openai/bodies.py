"""What OpenAI's clients send, as far as it means anything here.

They send much that steers a language model (temperature, penalties, tools): what cannot change
what is asked for is passed over, what is asked for and cannot be had is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fathom.question.conversation import Dialogue, parse_dialogue
from fathom.serving.budgets import Effort, budget_of
from fathom.serving.http.api import BudgetBody, Filters
from fathom.serving.http.asking import Asked
from fathom.serving.http.openai.choices import choice_of
from fathom.serving.http.openai.chores import chore, question_in
from fathom.serving.http.openai.cited_text import said
from fathom.serving.http.openai.errors import refuse
from fathom.serving.http.problems import Problem
from fathom.settings import Settings

MOST_MESSAGES = 2_000
LONGEST_ROLE = 40
_EFFORTS: Mapping[str, Effort] = {
    "none": "low",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
"""What OpenAI's words for effort mean here."""
_PARTS = frozenset({"text", "input_text", "output_text"})


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Message(_Body):
    """A turn; of parts the texts count."""

    role: str = Field(max_length=LONGEST_ROLE)
    content: str | list[dict[str, Any]] | None = None


class Item(_Body):
    """A turn of the input, or what has no role: a call of a tool and what came of it."""

    role: str | None = Field(default=None, max_length=LONGEST_ROLE)
    content: str | list[Any] | None = None


class StreamOptions(_Body):
    """What a stream is to hold."""

    include_usage: bool | None = None


class _Asking(_Body):
    """What both ways of asking know.

    `filters` and `budget` are Fathom's own, as in `/api/v1/ask`; clients send them as an extra
    body.
    """

    model: str = Field(default="fathom", max_length=200)
    stream: bool | None = None
    tool_choice: str | dict[str, Any] | None = None
    filters: Filters
    budget: BudgetBody | None = None

    def check(self) -> None:
        """Refuse what cannot be had.

        Raises:
            Problem: Names the parameter (400).
        """
        if self.tool_choice not in (None, "auto", "none"):
            raise refuse("tool_choice", "no tool is ever called; leave it out")

    def asked(self, turn: "ChatTurn", effort: str | None, settings: Settings) -> Asked:
        """The question, with how it is to be answered.

        Raises:
            Problem: If there is no such model (404) or effort (400).
        """
        chosen = choice_of(self.model)
        if effort is not None and effort not in _EFFORTS:
            raise refuse("effort", f"{effort[:40]!r} is none of {', '.join(_EFFORTS)}")
        return Asked(
            question=turn.question,
            strategy=chosen.strategy,
            filters=self.filters,
            budget=budget_of(
                settings,
                _EFFORTS[effort] if effort else chosen.effort,
                (self.budget or BudgetBody()).limits(),
            ),
            history=turn.history,
        )


class ChatBody(_Asking):
    """A request of chat completions."""

    messages: list[Message] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream_options: StreamOptions | None = None
    reasoning_effort: str | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None

    def check(self) -> None:
        """See `_Asking`."""
        super().check()
        if self.n not in {None, 1}:
            raise refuse("n", "a question has one answer")
        _check_format("response_format", self.response_format)


class Reasoning(_Body):
    """How much may be spent."""

    effort: str | None = None


class TextForm(_Body):
    """How the answer is to look."""

    format: dict[str, Any] | None = None


class ResponsesBody(_Asking):
    """A request of the Responses API."""

    input: str | list[Item]
    previous_response_id: str | None = Field(default=None, max_length=200)
    reasoning: Reasoning | None = None
    text: TextForm | None = None
    background: bool | None = None
    conversation: str | dict[str, Any] | None = None

    def check(self) -> None:
        """See `_Asking`."""
        super().check()
        if self.background:
            raise refuse("background", "answers are given at once")
        if self.conversation:
            raise refuse("conversation", "send previous_response_id, or the turns in input")
        _check_format("text.format", self.text.format if self.text else None)

    @property
    def messages(self) -> list[Message]:
        """The turns of the input; calls of tools and what came of them are left out."""
        if isinstance(self.input, str):
            return [Message(role="user", content=self.input)]
        return [
            Message(role=item.role, content=_parts(item.content))
            for item in self.input
            if item.role is not None
        ]


class EmbeddingsBody(_Body):
    """A request of embeddings.

    `input_type` is Fathom's own, as other servers have it: models of some embedders are told
    whether a text is searched (`document`) or asked (`query`).
    """

    input: str | list[str] | list[int] | list[list[int]]
    model: str = Field(max_length=200)
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None
    input_type: Literal["document", "query"] = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """What a client wants to know.

    Attributes:
        history: What was said before.
        reply: To what is no question but a chore of the client's; `None` for a question.
    """

    question: str
    history: Dialogue = field(default=())
    reply: str | None = None


def turn_of(messages: Sequence[Message], before: Dialogue = ()) -> ChatTurn:
    """The last question of a conversation.

    Args:
        messages: As the client sends them.
        before: Turns that came before the first of them.

    Raises:
        Problem: If nobody asks anything (400).
        UsageError: If a turn has a role that nobody has.
    """
    last = max((at for at, each in enumerate(messages) if each.role == "user"), default=None)
    question = _text(messages[last].content) if last is not None else ""
    if last is None or not question.strip():
        raise Problem(
            400, "no_question", "messages: the last of the user has no text; ask something"
        )
    if (reply := chore(question)) is not None:
        return ChatTurn(question=question, reply=reply)
    turns = [{"role": each.role, "content": said(_text(each.content))} for each in messages[:last]]
    history = parse_dialogue([*before, *turns], "messages")
    return ChatTurn(question=question_in(question).strip(), history=history)


def _parts(content: str | list[Any] | None) -> str | list[dict[str, Any]] | None:
    if isinstance(content, list):
        return [part for part in content if isinstance(part, dict)]
    return content


def _text(content: str | list[dict[str, Any]] | None) -> str:
    """A text, or the texts among its parts: pictures and files are passed over."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if str(part.get("type", "text")) in _PARTS)
        return "\n".join(text for text in texts if isinstance(text, str))
    return content or ""


def _check_format(param: str, wanted: Mapping[str, Any] | None) -> None:
    if wanted is not None and wanted.get("type", "text") != "text":
        raise refuse(param, "answers are text; the whole answer stands in the field `fathom`")
