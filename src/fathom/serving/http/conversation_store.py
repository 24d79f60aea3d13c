"""Conversations: questions that followed each other, kept beside the index.

A turn is a question and the id of the trace that holds its answer: each answer is stored in one
place, and goes when the documents go that it rests on.
"""

from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.question.conversation import MOST_TURNS as MOST_SAID
from fathom.serving.http.events import build_answer_json
from fathom.serving.http.problems import Problem
from fathom.serving.http.tables import CONVERSATION_TABLES

MOST_TURNS = MOST_SAID // 2
"""The number of latest turns that a follow-up question gets: a turn has two messages."""
ALL_TURNS = 1 << 31
"""A limit that no conversation reaches."""
TITLE_CHARS = 80
_NAMES = ("id", "title", "created", "updated")


class Conversations:
    """The conversations of one workspace; safe from threads and processes."""

    def __init__(self, engine: Engine) -> None:
        """Create the store. Nothing is opened before it is needed."""
        self._engine = engine
        self._database = engine.index.open_database(
            CONVERSATION_TABLES.file, CONVERSATION_TABLES.tables
        )

    def add(self, title: str = "", owner: str = "") -> str:
        """Begin a conversation.

        Args:
            title: The title; empty for that of the first question.
            owner: The id of the key that begins the conversation; empty for the local user.

        Returns:
            The id of the conversation.
        """
        conversation, now = token_hex(8), _format_now()
        self._database.execute(
            "INSERT INTO conversations(id, title, created, updated) VALUES (?, ?, ?, ?)",
            (conversation, title[:TITLE_CHARS], now, now),
        )
        if owner:
            self._database.execute(
                "INSERT INTO owners(id, owner) VALUES (?, ?)", (conversation, owner)
            )
        return conversation

    def find_owner(self, conversation: str) -> str:
        """Look up the key that began a conversation; empty for the local user or an unknown key.

        Raises:
            Problem: If there is no conversation of this id.
        """
        self._get_head(conversation)
        rows = self._database.execute("SELECT owner FROM owners WHERE id = ?", (conversation,))
        return str(rows[0][0]) if rows else ""

    def list_latest(self, limit: int, before: str = "") -> list[dict[str, Any]]:
        """List the latest conversations, newest first; `before` is a cursor."""
        rows = self._database.execute(
            "SELECT id, title, created, updated FROM conversations "
            # The cursor joins time and id, as several conversations may have the same time.
            "WHERE ? = '' OR updated || id < ? ORDER BY updated DESC, id DESC LIMIT ?",
            (before, before, limit),
        )
        return [dict(zip(_NAMES, row, strict=True)) for row in rows]

    def get(self, conversation: str) -> dict[str, Any]:
        """Return a conversation with its turns.

        Each turn has its answer as it was given, or `None` if the answer is gone.

        Raises:
            Problem: If there is no conversation of this id.
        """
        return {**self._get_head(conversation), "turns": self._load_turns(conversation)}

    def load_dialogue(self, conversation: str) -> list[Json]:
        """Return the latest turns as messages, as a follow-up question needs them.

        Raises:
            Problem: If there is no conversation of this id.
        """
        self._get_head(conversation)
        messages: list[Json] = []
        for turn in self._load_turns(conversation, MOST_TURNS):
            answer = turn["answer"] or {}
            text = answer.get("short_answer") or answer.get("answer") or "I don't know."
            messages.append({"role": "user", "content": turn["question"]})
            messages.append({"role": "assistant", "content": text})
        return messages

    def add_turn(self, conversation: str, question: str, trace_id: str | None) -> None:
        """Add a question and the id of its trace; nothing if the conversation was removed."""
        now = _format_now()
        title = " ".join(question.split())[:TITLE_CHARS]
        updated = self._database.execute(
            "UPDATE conversations SET updated = ?, "
            "title = CASE title WHEN '' THEN ? ELSE title END WHERE id = ? RETURNING id",
            (now, title, conversation),
        )
        if updated:
            self._database.execute(
                "INSERT INTO turns(conversation, question, trace_id, asked) VALUES (?, ?, ?, ?)",
                (conversation, question, trace_id, now),
            )

    def remove(self, conversation: str) -> None:
        """Remove a conversation for good.

        Its answers stay among the traces. Its id is kept, so that no copy of the index brings the
        conversation back.

        Raises:
            Problem: If there is no conversation of this id.
        """
        self._database.execute(
            "INSERT INTO gone(id) SELECT id FROM conversations WHERE id = ? ON CONFLICT DO NOTHING",
            (conversation,),
        )
        removed = self._database.execute(
            "DELETE FROM conversations WHERE id = ? RETURNING id", (conversation,)
        )
        if not removed:
            raise _build_missing_problem(conversation)
        self._database.execute("DELETE FROM turns WHERE conversation = ?", (conversation,))
        self._database.execute("DELETE FROM owners WHERE id = ?", (conversation,))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _get_head(self, conversation: str) -> dict[str, Any]:
        rows = self._database.execute(
            "SELECT id, title, created, updated FROM conversations WHERE id = ?", (conversation,)
        )
        if not rows:
            raise _build_missing_problem(conversation)
        return dict(zip(_NAMES, rows[0], strict=True))

    def _load_turns(self, conversation: str, latest: int = ALL_TURNS) -> list[dict[str, Any]]:
        """Return the turns in order, or the latest ones only, each with its answer."""
        rows = self._database.execute(
            "SELECT question, trace_id, asked FROM turns WHERE conversation = ? "
            "ORDER BY no DESC LIMIT ?",
            (conversation, latest),
        )
        return [
            {
                "question": question,
                "trace_id": trace_id,
                "asked": asked,
                "answer": self._load_answer(trace_id),
            }
            for question, trace_id, asked in reversed(rows)
        ]

    def _load_answer(self, trace_id: str | None) -> Json:
        if trace_id is None:
            return None
        try:
            return build_answer_json(self._engine.traces.answer(trace_id))
        except FathomError:
            return None


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _build_missing_problem(conversation: str) -> Problem:
    return Problem(
        404,
        "conversation_missing",
        f"there is no conversation {conversation[:64]!r}",
        next="POST /api/v1/conversations begins one",
    )
