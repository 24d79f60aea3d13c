"""Conversations: which questions followed each other, kept beside the index.

A turn is a question and the id of the trace that holds its answer: what was answered stands in one
place, and goes when the documents go that it rests on.
"""

from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.jsonable import Json
from fathom.question.conversation import MOST_TURNS as MOST_SAID
from fathom.serving.http.kept import CONVERSATIONS
from fathom.serving.http.problems import Problem
from fathom.serving.http.telling import answer_json

MOST_TURNS = MOST_SAID // 2
"""So many of the latest are given to a follow-up question: of each what both sides said."""
ALL_TURNS = 1 << 31
TITLE_CHARS = 80
_NAMES = ("id", "title", "created", "updated")


class Conversations:
    """Those of one workspace; safe from threads and processes."""

    def __init__(self, engine: Engine) -> None:
        """Nothing is opened before it is needed."""
        self._engine = engine
        self._kept = engine.index.database(CONVERSATIONS.file, CONVERSATIONS.tables)

    def add(self, title: str = "", owner: str = "") -> str:
        """Begin one; returns its id.

        Args:
            title: Of it.
            owner: The id of the key that begins it; empty for the local user.
        """
        made, now = token_hex(8), _now()
        self._kept.ask(
            "INSERT INTO conversations(id, title, created, updated) VALUES (?, ?, ?, ?)",
            (made, title[:TITLE_CHARS], now, now),
        )
        if owner:
            self._kept.ask("INSERT INTO owners(id, owner) VALUES (?, ?)", (made, owner))
        return made

    def find_owner(self, conversation: str) -> str:
        """Look up the key that began one; empty where the local user did, or it is not known.

        Raises:
            Problem: If there is none of this id.
        """
        self._found(conversation)
        rows = self._kept.ask("SELECT owner FROM owners WHERE id = ?", (conversation,))
        return str(rows[0][0]) if rows else ""

    def latest(self, limit: int, before: str = "") -> list[dict[str, Any]]:
        """The latest, newest first; `before` is a cursor."""
        rows = self._kept.ask(
            "SELECT id, title, created, updated FROM conversations "
            "WHERE ? = '' OR updated || id < ? ORDER BY updated DESC, id DESC LIMIT ?",
            (before, before, limit),
        )
        return [dict(zip(_NAMES, row, strict=True)) for row in rows]

    def get(self, conversation: str) -> dict[str, Any]:
        """One with its turns, each with the answer as it was given, or `None` if that is gone.

        Raises:
            Problem: If there is none of this id.
        """
        return {**self._found(conversation), "turns": self._turns(conversation)}

    def dialogue(self, conversation: str) -> list[Json]:
        """What was said, as a follow-up question needs it.

        Raises:
            Problem: If there is none of this id.
        """
        self._found(conversation)
        said: list[Json] = []
        for turn in self._turns(conversation, MOST_TURNS):
            answer = turn["answer"] or {}
            words = answer.get("short_answer") or answer.get("answer") or "I don't know."
            said.append({"role": "user", "content": turn["question"]})
            said.append({"role": "assistant", "content": words})
        return said

    def add_turn(self, conversation: str, question: str, trace_id: str | None) -> None:
        """Keep a question and where its answer is; of a conversation that is gone nothing."""
        now = _now()
        title = " ".join(question.split())[:TITLE_CHARS]
        known = self._kept.ask(
            "UPDATE conversations SET updated = ?, "
            "title = CASE title WHEN '' THEN ? ELSE title END WHERE id = ? RETURNING id",
            (now, title, conversation),
        )
        if known:
            self._kept.ask(
                "INSERT INTO turns(conversation, question, trace_id, asked) VALUES (?, ?, ?, ?)",
                (conversation, question, trace_id, now),
            )

    def remove(self, conversation: str) -> None:
        """Forget one for good; its answers stay among the traces, its id against copies of it.

        Raises:
            Problem: If there is none of this id.
        """
        self._kept.ask(
            "INSERT INTO gone(id) SELECT id FROM conversations WHERE id = ? ON CONFLICT DO NOTHING",
            (conversation,),
        )
        gone = self._kept.ask(
            "DELETE FROM conversations WHERE id = ? RETURNING id", (conversation,)
        )
        if not gone:
            raise _missing(conversation)
        self._kept.ask("DELETE FROM turns WHERE conversation = ?", (conversation,))
        self._kept.ask("DELETE FROM owners WHERE id = ?", (conversation,))

    def close(self) -> None:
        """Let go of the file."""
        self._kept.close()

    def _found(self, conversation: str) -> dict[str, Any]:
        rows = self._kept.ask(
            "SELECT id, title, created, updated FROM conversations WHERE id = ?", (conversation,)
        )
        if not rows:
            raise _missing(conversation)
        return dict(zip(_NAMES, rows[0], strict=True))

    def _turns(self, conversation: str, latest: int = ALL_TURNS) -> list[dict[str, Any]]:
        """Its turns in order, or the latest of them; of others no answer is looked up."""
        rows = self._kept.ask(
            "SELECT question, trace_id, asked FROM turns WHERE conversation = ? "
            "ORDER BY no DESC LIMIT ?",
            (conversation, latest),
        )
        return [
            {
                "question": question,
                "trace_id": trace_id,
                "asked": asked,
                "answer": self._answer(trace_id),
            }
            for question, trace_id, asked in reversed(rows)
        ]

    def _answer(self, trace_id: str | None) -> Json:
        if trace_id is None:
            return None
        try:
            return answer_json(self._engine.traces.answer(trace_id))
        except FathomError:
            return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _missing(conversation: str) -> Problem:
    return Problem(
        404,
        "conversation_missing",
        f"there is no conversation {conversation[:64]!r}",
        next="POST /api/v1/conversations begins one",
    )
