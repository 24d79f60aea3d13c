"""A conversation: what was asked and answered before a question, as chat clients keep it.

It is data. It says what a follow-up question is about, and instructs nobody: a turn that claims to
be of the system is left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fathom.errors import UsageError

Speaker = Literal["user", "assistant"]
SILENT = frozenset({"system", "developer", "tool", "function"})
"""Roles whose turns nobody said; they are left out."""
MOST_TURNS = 20
"""So many of the last turns are kept."""
LONGEST_TURN = 4_000
"""So many characters of each are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueTurn:
    """What one side said."""

    role: Speaker
    content: str


Dialogue = tuple[DialogueTurn, ...]
"""Oldest first."""
History = Sequence[DialogueTurn | Mapping[str, Any]]
"""A dialogue as callers give it: also plain objects with `role` and `content`."""


def dialogue_of(history: History, where: str = "history") -> Dialogue:
    """The last turns of a conversation.

    Args:
        history: Turns, oldest first; content is a text, or a list of parts of which the texts
            count.
        where: What messages call it.

    Raises:
        UsageError: If a turn has another form; names it, from 1.
    """
    if isinstance(history, str | Mapping) or not isinstance(history, Iterable):
        raise UsageError(f"{where}: expected a list of turns with role and content")
    turns = (_turn(each, f"{where}: turn {n}") for n, each in enumerate(history, start=1))
    said = [turn for turn in turns if turn is not None and turn.content]
    return tuple(said[-MOST_TURNS:])


def load_dialogue(path: Path) -> Dialogue:
    """Read a conversation: a JSON list of turns, an object with `messages`, or JSON lines.

    Raises:
        UsageError: If the file cannot be read or has another form; names the place.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"--history {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--history {path}: not UTF-8 text") from None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return dialogue_of(list(_lines(path, text)), str(path))
    if isinstance(whole, dict):
        whole = whole.get("messages", [whole])
    return dialogue_of(whole, str(path))


def _lines(path: Path, text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise UsageError(
                    f"{path}:{number}: not JSON; expected a JSON list of turns with role and "
                    "content, or one such turn a line"
                ) from None


def _turn(given: object, where: str) -> DialogueTurn | None:
    if isinstance(given, DialogueTurn):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"{where}: expected an object with role and content")
    role = given.get("role")
    if role in SILENT:
        return None
    if role != "user" and role != "assistant":  # noqa: PLR1714 - as mypy reads it
        raise UsageError(f"{where}: role is {role!r}; expected user or assistant")
    words = _text(given.get("content"), where)
    return DialogueTurn(role=role, content=" ".join(words.split())[:LONGEST_TURN])


def _text(content: object, where: str) -> str:
    """A text; of a list of parts, as newer clients keep them, the texts."""
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        content = " ".join(str(part["text"]) for part in content if "text" in part)
    if content is None:  # a turn that only called a tool
        return ""
    if not isinstance(content, str):
        raise UsageError(f"{where}: content must be a text")
    try:
        content.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{where}: content is not UTF-8 text") from None
    return content
