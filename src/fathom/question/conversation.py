"""A conversation: the turns before a question, as chat clients keep them.

The turns are data. They say what a follow-up question is about and instruct nobody: a turn that
claims to be of the system is left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fathom.errors import UsageError

Speaker = Literal["user", "assistant"]
IGNORED_ROLES = frozenset({"system", "developer", "tool", "function"})
"""Roles whose turns are left out, since no person and no answer speaks in them."""
MOST_TURNS = 20
"""Number of the last turns that are kept."""
LONGEST_TURN = 4_000
"""Number of characters of a turn that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueTurn:
    """The words of one speaker."""

    role: Speaker
    content: str


Dialogue = tuple[DialogueTurn, ...]
"""The turns of a conversation, oldest first."""
History = Sequence[DialogueTurn | Mapping[str, Any]]
"""A dialogue as callers give it: turns, or plain objects with `role` and `content`."""


def parse_dialogue(history: History, where: str = "history") -> Dialogue:
    """Return the last turns of a conversation.

    Args:
        history: Turns, oldest first; content is a text, or a list of objects of which the texts
            count.
        where: The name of the history in error messages.

    Raises:
        UsageError: If a turn has another form; the message gives its number, from 1.
    """
    # Both can be iterated too, but over characters and keys.
    if isinstance(history, str | Mapping) or not isinstance(history, Iterable):
        raise UsageError(f"{where}: expected a list of turns with role and content")
    turns = (_parse_turn(entry, f"{where}: turn {n}") for n, entry in enumerate(history, start=1))
    spoken = [turn for turn in turns if turn is not None and turn.content]
    return tuple(spoken[-MOST_TURNS:])


def load_dialogue(path: Path) -> Dialogue:
    """Read a conversation: a JSON list of turns, an object with `messages`, or JSON lines.

    Raises:
        UsageError: If the file cannot be read or has another form; the message gives the place.
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
        # Several JSON values in one file are JSON lines.
        return parse_dialogue(list(_parse_lines(path, text)), str(path))
    if isinstance(whole, dict):
        whole = whole.get("messages", [whole])
    return parse_dialogue(whole, str(path))


def _parse_lines(path: Path, text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise UsageError(
                    f"{path}:{number}: not JSON; expected a JSON list of turns with role and "
                    "content, or one such turn a line"
                ) from None


def _parse_turn(entry: object, where: str) -> DialogueTurn | None:
    if isinstance(entry, DialogueTurn):
        return entry
    if not isinstance(entry, Mapping):
        raise UsageError(f"{where}: expected an object with role and content")
    role = entry.get("role")
    if role in IGNORED_ROLES:
        return None
    if role != "user" and role != "assistant":  # noqa: PLR1714 - as mypy reads it
        raise UsageError(f"{where}: role is {role!r}; expected user or assistant")
    words = _join_text(entry.get("content"), where)
    return DialogueTurn(role=role, content=" ".join(words.split())[:LONGEST_TURN])


def _join_text(content: object, where: str) -> str:
    """Return a text; for a list of objects, as newer clients keep them, the texts joined."""
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        content = " ".join(str(part["text"]) for part in content if "text" in part)
    # A turn that only called a tool has no content.
    if content is None:
        return ""
    if not isinstance(content, str):
        raise UsageError(f"{where}: content must be a text")
    try:
        # Lone surrogates pass through JSON, but cannot be stored or sent.
        content.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{where}: content is not UTF-8 text") from None
    return content
