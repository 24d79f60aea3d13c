"""The request bodies of OpenAI's clients, with the parameters that have an effect here.

Clients send many parameters for language models (temperature, penalties, tools). A parameter that
cannot change the content of the answer is ignored; one that cannot be satisfied is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator
from typing_extensions import override

from fathom.errors import UsageError
from fathom.question.conversation import Dialogue, parse_dialogue
from fathom.serving.budgets import Effort, limit_budget
from fathom.serving.http.api import BudgetBody, Filters
from fathom.serving.http.openai.attributes import FileSearchTool, OpenAIBody
from fathom.serving.http.openai.background_tasks import answer_background_task, extract_question
from fathom.serving.http.openai.cited_text import strip_frame
from fathom.serving.http.openai.errors import ParameterProblem, build_parameter_problem
from fathom.serving.http.openai.models import get_choice
from fathom.serving.http.question_runner import SubmittedQuestion
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
"""Fathom's efforts by OpenAI's names of efforts."""
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})


class ChatMessage(OpenAIBody):
    """A turn; if its content has several elements, only the texts count."""

    role: str = Field(max_length=LONGEST_ROLE)
    content: str | list[dict[str, Any]] | None = None


class InputItem(OpenAIBody):
    """A turn of the input, or an item without a role, which is a tool call or its output."""

    role: str | None = Field(default=None, max_length=LONGEST_ROLE)
    content: str | list[Any] | None = None


class StreamOptions(OpenAIBody):
    """The options of a stream."""

    include_usage: bool | None = None


class _QuestionBody(OpenAIBody):
    """The common fields of chat completions and responses.

    `filters` and `budget` are Fathom's own, as in `/api/v1/ask`; clients send them in `extra_body`.
    """

    model: str = Field(default="fathom", max_length=200)
    stream: bool | None = None
    tool_choice: str | dict[str, Any] | None = None
    filters: Filters
    budget: BudgetBody | None = None
    effort_name: ClassVar[str]
    """The parameter that holds the effort."""

    def check(self) -> None:
        """Refuse parameters that cannot be satisfied.

        Raises:
            Problem: If a parameter cannot be satisfied (400).
        """
        if self.tool_choice not in (None, "auto", "none"):
            raise build_parameter_problem(
                "tool_choice", "no tool is ever called; leave this parameter out"
            )

    def build_question(
        self, turn: "ChatTurn", effort: str | None, settings: Settings
    ) -> SubmittedQuestion:
        """Build the question from its turn, with strategy, filters and budget.

        Raises:
            Problem: If there is no such model (404) or effort (400).
        """
        choice = get_choice(self.model)
        if effort is not None and effort not in _EFFORTS:
            raise build_parameter_problem(
                self.effort_name, f"{effort[:40]!r} is not one of {', '.join(_EFFORTS)}"
            )
        return SubmittedQuestion(
            question=turn.question,
            strategy=choice.strategy,
            paper=choice.paper,
            filters=self.filters,
            budget=limit_budget(
                settings,
                _EFFORTS[effort] if effort else choice.effort,
                (self.budget or BudgetBody()).to_budget(),
            ),
            history=turn.history,
        )


class ChatBody(_QuestionBody):
    """A request of a chat completion."""

    messages: list[ChatMessage] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream_options: StreamOptions | None = None
    reasoning_effort: str | None = None
    effort_name = "reasoning_effort"
    n: int | None = None
    response_format: dict[str, Any] | None = None

    @override
    def check(self) -> None:
        super().check()
        if self.n not in {None, 1}:
            raise build_parameter_problem("n", "a question has one answer")
        _check_format("response_format", self.response_format)


class Reasoning(OpenAIBody):
    """The effort of an answer."""

    effort: str | None = None


class TextFormat(OpenAIBody):
    """The form of an answer."""

    format: dict[str, Any] | None = None


class ResponsesBody(_QuestionBody):
    """A request of a response; of its tools only those that search files count."""

    input: str | list[InputItem]
    previous_response_id: str | None = Field(default=None, max_length=200)
    reasoning: Reasoning | None = None
    effort_name = "reasoning.effort"
    text: TextFormat | None = None
    background: bool | None = None
    conversation: str | dict[str, Any] | None = None
    tools: list[FileSearchTool] = Field(default_factory=list, max_length=100)
    include: list[str] | None = None

    @field_validator("tools", mode="before")
    @classmethod
    def keep_searches(cls, tools: object) -> object:
        """Return the tools that search files; the others are ignored."""
        if not isinstance(tools, list):
            return tools or []
        return [
            tool for tool in tools if isinstance(tool, dict) and tool.get("type") == "file_search"
        ]

    @override
    def check(self) -> None:
        choice = self.tool_choice
        is_search = choice == "required" or (
            isinstance(choice, dict) and choice.get("type") == "file_search"
        )
        if not (self.tools and is_search):  # files are always searched
            super().check()
        if self.background:
            raise build_parameter_problem("background", "answers are given at once")
        if self.conversation:
            raise build_parameter_problem(
                "conversation", "send previous_response_id, or the turns in input"
            )
        _check_format("text.format", self.text.format if self.text else None)

    @property
    def messages(self) -> list[ChatMessage]:
        """The turns of the input, without tool calls and their outputs."""
        if isinstance(self.input, str):
            return [ChatMessage(role="user", content=self.input)]
        return [
            ChatMessage(role=item.role, content=_keep_dicts(item.content))
            for item in self.input
            if item.role is not None
        ]


class EmbeddingsBody(OpenAIBody):
    """A request of embeddings.

    `input_type` is not OpenAI's, but other servers have it too: some embedders distinguish texts to
    search in (`document`) from questions (`query`).
    """

    input: str | list[str] | list[int] | list[list[int]]
    model: str = Field(max_length=200)
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None
    input_type: Literal["document", "query"] = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A client's question.

    Attributes:
        history: The earlier turns.
        reply: The reply to a background task of the client; `None` for a question.
    """

    question: str
    history: Dialogue = field(default=())
    reply: str | None = None


def parse_turn(
    messages: Sequence[ChatMessage], before: Dialogue = (), *, param: str = "messages"
) -> ChatTurn:
    """Return the last question of a conversation with the turns before it.

    Args:
        messages: The client's messages.
        before: The turns before the first of the messages.
        param: The parameter that holds the messages.

    Raises:
        Problem: If the user's last message has no text, or a turn has an unknown role (400).
    """
    last = max(
        (index for index, message in enumerate(messages) if message.role == "user"), default=None
    )
    question = _join_texts(messages[last].content) if last is not None else ""
    if last is None or not question.strip():
        raise ParameterProblem(
            param,
            400,
            "no_question",
            f"{param}: the user's last message has no text",
            next="send a question",
        )
    # Background tasks are answered first: their prompts hold a whole chat, which is no history.
    if (reply := answer_background_task(question)) is not None:
        return ChatTurn(question=question, reply=reply)
    turns = [
        {"role": message.role, "content": strip_frame(_join_texts(message.content))}
        for message in messages[:last]
    ]
    try:
        history = parse_dialogue([*before, *turns], param)
    except UsageError as error:
        raise ParameterProblem(param, 400, "bad_request", str(error)) from None
    return ChatTurn(question=extract_question(question).strip(), history=history)


def _keep_dicts(content: str | list[Any] | None) -> str | list[dict[str, Any]] | None:
    if isinstance(content, list):
        return [part for part in content if isinstance(part, dict)]
    return content


def _join_texts(content: str | list[dict[str, Any]] | None) -> str:
    """Return a text, or the joined texts of several elements; images and files are ignored."""
    if isinstance(content, list):
        texts = (
            part.get("text") for part in content if str(part.get("type", "text")) in _TEXT_TYPES
        )
        return "\n".join(text for text in texts if isinstance(text, str))
    return content or ""


def _check_format(param: str, text_format: Mapping[str, Any] | None) -> None:
    if text_format is not None and text_format.get("type", "text") != "text":
        raise build_parameter_problem(
            param, "answers are text; the field `fathom` has the whole answer as JSON"
        )
