"""A conversation: the turns before a question, as chat clients keep them.

The turns are data that tell what a follow-up question is about. They are never instructions, so
turns of the system are left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fathom.errors import UsageError

Speaker = Literal["user", "assistant"]
IGNORED_ROLES = frozenset({"system", "developer", "tool", "function"})
"""The roles whose turns are left out: they are neither of the person nor of an answer."""
MOST_TURNS = 20
"""The largest number of turns that are kept, the last ones."""
LONGEST_TURN = 4_000
"""The largest number of characters of a turn that are kept, the first ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueTurn:
    """A turn of a conversation: the words of one speaker."""

    role: Speaker
    content: str


Dialogue = tuple[DialogueTurn, ...]
"""The turns of a conversation, oldest first."""
History = Sequence[DialogueTurn | Mapping[str, Any]]
"""A dialogue as callers give it: turns, or mappings with `role` and `content`."""


def parse_dialogue(history: History, where: str = "history") -> Dialogue:
    """Return the last `MOST_TURNS` turns of a conversation that have text.

    Args:
        history: The turns, oldest first. The content of a turn is a text, `None`, or a list of
            objects, of which those with the key `text` count.
        where: The name of the history in error messages.

    Returns:
        The turns, oldest first, with single blanks and at most `LONGEST_TURN` characters each.

    Raises:
        UsageError: If the history or a turn has another form; the message gives the number of the
            turn, from 1.
    """
    # Texts and mappings can be iterated too, but over characters and keys.
    if isinstance(history, str | Mapping) or not isinstance(history, Iterable):
        raise UsageError(f"{where}: expected a list of turns with role and content")
    turns = (_parse_turn(entry, f"{where}: turn {n}") for n, entry in enumerate(history, start=1))
    spoken = [turn for turn in turns if turn is not None and turn.content]
    return tuple(spoken[-MOST_TURNS:])


def load_dialogue(path: Path) -> Dialogue:
    """Read a conversation from a file.

    Args:
        path: A file in UTF-8 with a JSON list of turns, with one JSON object that has `messages` or
            is a turn, or with one turn as JSON on each line.

    Returns:
        The last turns, as `parse_dialogue` returns them.

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
    """Yield the JSON value of each line that is not blank.

    Raises:
        UsageError: If a line is not JSON; the message gives its number.
    """
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
    """Return a turn; `None` for a role in `IGNORED_ROLES`.

    Raises:
        UsageError: If the entry has another form; the message begins with `where`.
    """
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
    """Return the text of a turn's content; the texts of a list of objects are joined.

    Raises:
        UsageError: If the content has another form or cannot be encoded in UTF-8.
    """
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
