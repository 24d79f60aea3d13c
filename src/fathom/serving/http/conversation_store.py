"""Conversations: sequences of questions, stored beside the index.

A turn is a question and the id of the trace that holds its answer. So each answer is stored once,
and it is removed together with the documents that it rests on.

A conversation has an owner, the id of the key that began it, which may remove it. Until somebody
else asks in it, it also has a holder, the name of that key. Of the callers who may not read all
documents, only the holder sees it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, NamedTuple, Self

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.index.database import Database
from fathom.jsonable import Json
from fathom.question.conversation import MOST_TURNS as MOST_MESSAGES
from fathom.serving.http.events import build_answer_json
from fathom.serving.http.problems import Problem
from fathom.serving.http.tables import CONVERSATION_TABLES

MOST_TURNS = MOST_MESSAGES // 2
"""The number of latest turns that a follow-up question is read with; a turn has two messages."""
ALL_TURNS = 1 << 31
"""A limit that no conversation reaches."""
TITLE_CHARS = 80
_NAMES = ("id", "title", "created", "updated")


class EarlierTurns(NamedTuple):
    """The turns before a question, as messages.

    Attributes:
        messages: The messages, oldest first.
        documents: The ids of the documents that the answers rest on; `None` if they are not known,
            because the caller does not own all answers.
    """

    messages: list[Json]
    documents: frozenset[str] | None


class Conversations:
    """The conversations of one workspace; safe from threads and processes."""

    def __init__(
        self, engine: Engine, *, database: Database | None = None, holder: str = ""
    ) -> None:
        """Create the store. Nothing is opened before it is needed.

        Args:
            engine: The engine whose traces hold the answers.
            database: The open database of another store; by default a new one.
            holder: The name of the only holder whose conversations are shown; by default all are.
        """
        self._engine = engine
        self._database = database or engine.index.open_database(
            CONVERSATION_TABLES.file, CONVERSATION_TABLES.tables
        )
        self._holder = holder

    def open_for(self, engine: Engine, holder: str) -> Self:
        """Return the conversations of a holder who may not read all documents.

        They are shown only while the holder may read every document in their answers.

        Args:
            engine: The engine that reads on behalf of the holder.
            holder: The name of the holder's key; not empty.
        """
        return type(self)(engine, database=self._database, holder=holder)

    def add(self, title: str = "", owner: str = "", holder: str = "") -> str:
        """Begin a conversation.

        Args:
            title: The title; if empty, the first question becomes the title.
            owner: The id of the key that begins the conversation; empty for the local user.
            holder: The name of that key.

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
        if holder:
            self._database.execute(
                "INSERT INTO holders(id, name) VALUES (?, ?)", (conversation, holder)
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
        listed: list[dict[str, Any]] = []
        while len(listed) < limit:
            batch = [
                dict(zip(_NAMES, row, strict=True))
                for row in self._database.execute(
                    "SELECT id, title, created, updated FROM conversations "
                    # The cursor joins time and id, as several conversations may have the same time.
                    "WHERE (? = '' OR updated || id < ?) "
                    "AND (? = '' OR id IN (SELECT id FROM holders WHERE name = ?)) "
                    "ORDER BY updated DESC, id DESC LIMIT ?",
                    (before, before, self._holder, self._holder, limit),
                )
            ]
            hidden = self._find_hidden([conversation["id"] for conversation in batch])
            listed += [conversation for conversation in batch if conversation["id"] not in hidden]
            if len(batch) < limit:
                break
            before = f"{batch[-1]['updated']}{batch[-1]['id']}"
        return listed[:limit]

    def get(self, conversation: str) -> dict[str, Any]:
        """Return a conversation with its turns.

        Each turn has its answer as it was given, or `None` if the answer is gone.

        Raises:
            Problem: If there is no conversation of this id.
        """
        return {**self._get_head(conversation), "turns": self._load_turns(conversation)}

    def load_dialogue(self, conversation: str, asker: str = "") -> EarlierTurns:
        """Return the latest turns as messages, as a follow-up question needs them.

        Args:
            conversation: The id of the conversation.
            asker: The name of the key that asks the follow-up question; empty for the local user.

        Raises:
            Problem: If there is no conversation of this id.
        """
        self._get_head(conversation)
        messages: list[Json] = []
        turns = self._load_turns(conversation, MOST_TURNS)
        for turn in turns:
            answer = turn["answer"] or {}
            text = answer.get("short_answer") or answer.get("answer") or "I don't know."
            messages.append({"role": "user", "content": turn["question"]})
            messages.append({"role": "assistant", "content": text})
        answered = [turn["trace_id"] for turn in turns if turn["answer"] is not None]
        traces = self._engine.traces
        documents = traces.list_documents(answered, owner=asker) if asker else None
        return EarlierTurns(messages, documents)

    def add_turn(
        self, conversation: str, question: str, trace_id: str | None, asker: str = ""
    ) -> None:
        """Add a question and the id of its trace; do nothing if the conversation was removed.

        Args:
            conversation: The id of the conversation.
            question: The question.
            trace_id: The id of the trace; `None` if there is none.
            asker: The name of the key that asked; empty for the local user. If it is not the
                holder, the conversation has no holder any more.
        """
        # Before the turn is stored: the holder must not see the question of somebody else.
        self._database.execute(
            "DELETE FROM holders WHERE id = ? AND name <> ?", (conversation, asker)
        )
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

        Its answers stay among the traces. Its id is stored as removed, so that no copy of the index
        restores the conversation.

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
        for table in ("owners", "holders"):
            self._database.execute(f"DELETE FROM {table} WHERE id = ?", (conversation,))  # noqa: S608 - constants

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _get_head(self, conversation: str) -> dict[str, Any]:
        rows = self._database.execute(
            "SELECT id, title, created, updated FROM conversations WHERE id = ? "
            "AND (? = '' OR id IN (SELECT id FROM holders WHERE name = ?))",
            (conversation, self._holder, self._holder),
        )
        if not rows or self._find_hidden([conversation]):
            raise _build_missing_problem(conversation)
        return dict(zip(_NAMES, rows[0], strict=True))

    def _find_hidden(self, conversations: Sequence[str]) -> frozenset[str]:
        """Return the conversations that have an answer which the holder may not read now."""
        if not self._holder or not conversations:
            return frozenset()
        marks = ", ".join("?" * len(conversations))
        rows = self._database.execute(
            f"SELECT conversation, trace_id FROM turns WHERE conversation IN ({marks}) "  # noqa: S608 - constants
            "AND trace_id IS NOT NULL",
            conversations,
        )
        traces = [trace_id for _, trace_id in rows]
        hidden = self._engine.traces.list_hidden(traces, owner=self._holder)
        return frozenset(conversation for conversation, trace_id in rows if trace_id in hidden)

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
            return build_answer_json(self._engine.traces.answer(trace_id, owner=self._holder))
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
