"""A role's prompt: declared in parts, known by its version, replaced by a file where one is named.

Every role declares its prompt in its own file, in one form:

    PROMPT = Prompt.of(
        "reader",
        task="You answer a question from numbered chunks ...",
        language="Write in the language of the question.",
        unsure="If the chunks do not say it, the answer is null.",
        example="chunk 1: The ferry leaves at 9:15. Question: When does it leave?",
        reply='{"answer": {"sentences": [...], "short_answer": "9:15"}}',
    )

A `$name` in it stands for what only the code knows; `$$` is a dollar sign.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any, Self

from fathom.errors import SettingsError
from fathom.jsonable import digest
from fathom.llm.base import Message
from fathom.llm.schema import Choices

_LONGEST_FILE = 40_000
_RUN = 4  # words
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked once.

    Attributes:
        messages: Begin with what it is told by its prompt.
        choices: What its reply may name; see `fathom.llm.schema`.
        prompt: Which prompt it is, as traces name it; empty where it has no name.
        agent: The role that asks.
        example: The worked example, as it stands in the first message; empty where there is none.
    """

    messages: Sequence[Message]
    choices: Choices = field(default_factory=dict)
    prompt: str = ""
    agent: str = ""
    example: str = ""

    def copied(self, reply: object) -> str:
        """The first words of a reply that are the example's and not those of what is asked.

        So an answer of the worked example is never taken for one to the question.
        """
        known = _runs(" ".join(message.text for message in self.messages[1:]))
        shown = _runs(self.example) - known
        return next((run for text in _texts(reply) for run in _in_order(text) if run in shown), "")

    @property
    def without_example(self) -> "Asked":
        """The same, for a model that repeats the example; itself where all may be an example."""
        told, *asked = self.messages
        if told.text.startswith(self.example):
            return self
        plain = Message(told.role, told.text.replace(self.example, ""))
        return replace(self, messages=(plain, *asked), example="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a role is told, whatever it is asked.

    Attributes:
        name: The setting `NAME` of its section replaces it.
        agent: The role it belongs to.
        text: The whole of it, with its `$names`.
        example: The part of it that is a worked example.
        source: The file it is from, all of whose text may be an example; empty for our own.
        section: Of the settings.
    """

    name: str
    agent: str
    text: str
    example: str = ""
    source: str = ""
    section: str = "llm.prompts"

    @classmethod
    def of(  # noqa: PLR0913 - the parts that every prompt has
        cls,
        name: str,
        *,
        task: str,
        language: str,
        unsure: str,
        example: str,
        reply: str,
        agent: str = "",
    ) -> Self:
        """A prompt of our own, in the form that all have.

        Args:
            name: That of the role, where it has one prompt.
            task: What to do, and by which rules.
            language: Which language to reply in.
            unsure: What to reply where the task cannot be done.
            example: One worked example, invented: what is asked.
            reply: What is replied to it; fits what the role asks for.
            agent: The role, where its prompts have names of their own.
        """
        shown = f"An example, about something else:\n{example}\nReply: {reply}"
        text = "\n".join((task, language, unsure, shown))
        return cls(name=name, agent=agent or name, text=text, example=shown)

    @property
    def version(self) -> str:
        """Eight digits that change with the text."""
        return digest(self.text)[:8]

    @property
    def id(self) -> str:
        """How a trace names it."""
        return f"{self.name} {self.version}" + (f" ({self.source})" if self.source else "")

    @property
    def placeholders(self) -> frozenset[str]:
        """The `$names` in it."""
        return frozenset(Template(self.text).get_identifiers())

    def asking(
        self,
        asked: str,
        *,
        rule: str = "",
        choices: Choices | None = None,
        values: Mapping[str, object] | None = None,
    ) -> Asked:
        """A question with this prompt.

        Args:
            asked: What is asked this time.
            rule: Follows the prompt, whoever wrote it.
            choices: What the reply may name.
            values: Of the `$names`.
        """
        told = Template(self.text).substitute(values or {})
        messages = (Message("system", f"{told}\n{rule}".rstrip()), Message("user", asked))
        return Asked(
            messages,
            choices or {},
            prompt=self.id,
            agent=self.agent,
            example=told if self.source else self.example,
        )

    def replaced(self, file: Path) -> "Prompt":
        """The prompt that stands in a file.

        Raises:
            SettingsError: If it cannot be read, is empty or too long, or has other `$names`.
        """
        where = f"{self.section}.{self.name} = {str(file)!r}"
        try:
            text = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "is not UTF-8 text"
            raise SettingsError(f"{where} cannot be read: {why}") from None
        if not text or len(text) > _LONGEST_FILE:
            raise SettingsError(f"{where} must hold 1 to {_LONGEST_FILE} characters")
        if not Template(text).is_valid():
            raise SettingsError(f"{where} holds a $ that names nothing; write $$ for the sign")
        found = replace(self, text=text, example="", source=str(file))
        if lacks := self.placeholders - found.placeholders:
            raise SettingsError(f"{where} lacks the placeholder ${min(lacks)}")
        if unknown := found.placeholders - self.placeholders:
            raise SettingsError(
                f"{where} has the unknown placeholder ${min(unknown)}; write $$ for a dollar sign"
            )
        return found


def _in_order(text: str) -> list[str]:
    """Every few words of a text that stand in a row."""
    words = _WORD.findall(text.casefold())
    return [" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]


def _runs(text: str) -> frozenset[str]:
    return frozenset(_in_order(text))


def _texts(reply: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(reply, str):
        yield reply
    elif isinstance(reply, dict):
        for part in reply.values():
            yield from _texts(part)
    elif isinstance(reply, list):
        for part in reply:
            yield from _texts(part)
