"""The prompts of roles, which have sections and a version, and which a file can replace.

Every role declares its prompt in its own file, in this form:

    PROMPT = Prompt.compose(
        "reader",
        task="You answer a question from numbered chunks ...",
        language="Write in the language of the question.",
        unsure="If the chunks do not say it, the answer is null.",
        example="chunk 1: The ferry leaves at 9:15. Question: When does it leave?",
        reply='{"answer": {"sentences": [...], "short_answer": "9:15"}}',
    )

A `$name` in a prompt is a placeholder that the code fills; `$$` is a dollar sign.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Self

from fathom.errors import SettingsError
from fathom.jsonable import hash_text, iterate_texts
from fathom.llm.base import Message
from fathom.llm.schema import Choices

_LONGEST_FILE = 40_000
_PHRASE_WORDS = 4  # shorter phrases of an example occur in honest replies too
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model, before its schema is known.

    Attributes:
        messages: The conversation; the first message holds the prompt.
        choices: The values that the reply may name, as `Choices` in `fathom.llm.schema`.
        prompt: The name and version of the prompt in traces; empty if it has none.
        agent: The role that asks.
        example: The worked example, exactly as in the first message; empty if there is none.
        states_form: Whether the first message states the form of the reply. If not, the schema is
            added to that message.
    """

    messages: Sequence[Message]
    choices: Choices = field(default_factory=dict)
    prompt: str = ""
    agent: str = ""
    example: str = ""
    states_form: bool = False

    def find_copied_phrase(self, reply: object) -> str:
        """Return the first phrase of a reply that is in the example and not in the request.

        With this check, an answer to the worked example is not taken for an answer to the question.

        Args:
            reply: The reply as a JSON value; its texts are compared.

        Returns:
            The phrase, of `_PHRASE_WORDS` words in lower case; empty if there is none.
        """
        request = " ".join(message.text for message in self.messages[1:])
        example_phrases = {*_list_phrases(self.example)} - {*_list_phrases(request)}
        return next(
            (
                phrase
                for text in iterate_texts(reply)
                for phrase in _list_phrases(text)
                if phrase in example_phrases
            ),
            "",
        )

    def add_note(self, note: str) -> "ModelRequest":
        """Return the request with a note at its end.

        All before the note stays the same, so a server that caches prompts reads only the note.
        """
        *before, last = self.messages
        return replace(self, messages=(*before, Message(last.role, f"{last.text}\n\n{note}")))

    @property
    def without_example(self) -> "ModelRequest":
        """The request without its example, for a model that repeats the example.

        It is the unchanged request if there is no example, or if the whole prompt is taken for one,
        as with a prompt from a file.
        """
        instructions, *rest = self.messages
        if instructions.text.startswith(self.example):
            return self
        plain = Message(instructions.role, instructions.text.replace(self.example, ""))
        return replace(self, messages=(plain, *rest), example="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The instructions that a role gives with each of its requests.

    Attributes:
        name: The name. A file NAME.txt in the folder that `section` names replaces the prompt.
        agent: The role that the prompt belongs to.
        text: The whole prompt, with its `$names`.
        example: The section of the text that is a worked example; empty if there is none.
        states_form: Whether the text states the form of the reply.
        source: The file that the prompt was read from; empty for our own prompts. Any text of a
            file may be an example.
        section: The setting that names the folder.
    """

    name: str
    agent: str
    text: str
    example: str = ""
    states_form: bool = False
    source: str = ""
    section: str = "llm.prompts"

    @classmethod
    def compose(  # noqa: PLR0913 - the sections that every prompt has
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
        """Compose a prompt of our own from the sections that all prompts have.

        Args:
            name: The name of the prompt; the role's name if the role has one prompt.
            task: The task and its rules.
            language: The rule for the language of the reply.
            unsure: The rule for a task that cannot be done.
            example: The request of one worked example, which is invented.
            reply: The reply to the example, in the form that the role asks for.
            agent: The role; by default it has the name of the prompt.
        """
        worked_example = f"An example, about something else:\n{example}\nReply: {reply}"
        text = "\n".join((task, language, unsure, worked_example))
        return cls(name=name, agent=agent or name, text=text, example=worked_example)

    @property
    def version(self) -> str:
        """The first eight hexadecimal digits of the text's sha256."""
        return hash_text(self.text)[:8]

    @property
    def id(self) -> str:
        """The name in traces: the name, the version and, for a prompt from a file, the file."""
        return f"{self.name} {self.version}" + (f" ({self.source})" if self.source else "")

    @property
    def placeholders(self) -> frozenset[str]:
        """The `$names` in the text."""
        return frozenset(Template(self.text).get_identifiers())

    def build_request(
        self,
        text: str,
        *,
        rule: str = "",
        choices: Choices | None = None,
        values: Mapping[str, object] | None = None,
    ) -> ModelRequest:
        """Build a request of two messages: the prompt, then the text of the request.

        Args:
            text: The text of the request.
            rule: A rule to put behind the prompt, whether it is our own or from a file.
            choices: The values that the reply may name.
            values: The values of the `$names`.

        Raises:
            KeyError: If a `$name` has no value.
        """
        instructions = Template(self.text).substitute(values or {})
        messages = (Message("system", f"{instructions}\n{rule}".rstrip()), Message("user", text))
        return ModelRequest(
            messages,
            choices or {},
            prompt=self.id,
            agent=self.agent,
            example=instructions if self.source else self.example,
            states_form=self.states_form,
        )

    def replace_from_file(self, file: Path) -> "Prompt":
        """Return the prompt that a file holds in place of this one.

        Raises:
            SettingsError: If the file cannot be read, is empty or too long, or has other `$names`.
        """
        setting = f"{self.section}: {str(file)!r}"
        try:
            text = file.read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "is not UTF-8 text"
            raise SettingsError(f"{setting} cannot be read: {reason}") from None
        if not text or len(text) > _LONGEST_FILE:
            raise SettingsError(f"{setting} must hold 1 to {_LONGEST_FILE} characters")
        if not Template(text).is_valid():
            raise SettingsError(f"{setting} holds a $ without a name; write $$ for a dollar sign")
        # The file may not state the form of the reply, so the schema is added to it.
        replacement = replace(self, text=text, example="", states_form=False, source=str(file))
        if lacks := self.placeholders - replacement.placeholders:
            raise SettingsError(f"{setting} lacks the placeholder ${min(lacks)}")
        if unknown := replacement.placeholders - self.placeholders:
            raise SettingsError(
                f"{setting} has the unknown placeholder ${min(unknown)}; write $$ for a dollar sign"
            )
        return replacement


def _list_phrases(text: str) -> list[str]:
    """Return every phrase of `_PHRASE_WORDS` consecutive words of a text, in order."""
    words = _WORD.findall(text.casefold())
    return [
        " ".join(words[start : start + _PHRASE_WORDS])
        for start in range(len(words) - _PHRASE_WORDS + 1)
    ]
