"""The store of objects of OpenAI's interface (files, vector stores) and of sign-on (sessions)."""

import json
import time
from collections.abc import Callable
from secrets import token_hex
from typing import Any

from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.tables import OBJECT_TABLES

ObjectData = dict[str, Any]
"""The fields of an object as JSON."""
MOST_RESPONSES = 10_000
"""The number of responses whose file searches are stored."""


class Objects:
    """The objects of one workspace; safe from threads and processes.

    The kinds of objects are `file`, `vector_store`, `member` (a file in a vector store), `batch`
    (files attached together), `response`, `session`, and `sign_on` (a used state of a sign-on). The
    parent of a member or a batch is its vector store.
    """

    def __init__(self, database: Database) -> None:
        """Create the store. Nothing is opened before it is needed."""
        self._database = database

    def put(self, kind: str, object_id: str, data: ObjectData, parent: str = "") -> None:
        """Store an object; replace one of the same kind, id and parent."""
        values = (json.dumps(data), kind, parent, object_id)
        self._database.execute("DELETE FROM gone WHERE id = ?", (f"{parent}{object_id}",))
        if not self._database.execute(
            "UPDATE objects SET data = ? WHERE kind = ? AND parent = ? AND id = ? RETURNING id",
            values,
        ):
            self._database.execute(
                "INSERT INTO objects(data, kind, parent, id) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                values,
            )

    def change(
        self, kind: str, object_id: str, alter: Callable[[ObjectData], ObjectData], parent: str = ""
    ) -> ObjectData | None:
        """Change an object, and return it, or `None` if there is none.

        Concurrent changes are applied one after another.

        Args:
            kind: The kind of the object.
            object_id: The id of the object.
            alter: Returns the new fields from the stored ones; it is called again after each change
                by somebody else.
            parent: The parent of the object.
        """
        while (data := self.get(kind, object_id, parent)) is not None:
            altered = alter(data)
            if self._database.execute(
                "UPDATE objects SET data = ? WHERE kind = ? AND parent = ? AND id = ? "
                "AND data = ? RETURNING id",
                (json.dumps(altered), kind, parent, object_id, json.dumps(data)),
            ):
                return altered
        return None

    def put_response(self, response_id: str, data: ObjectData) -> None:
        """Store the file search of a response, and forget the oldest ones."""
        self.put("response", response_id, data)
        self._database.execute(
            "DELETE FROM objects WHERE kind = 'response' AND no <= "
            "(SELECT max(no) FROM objects WHERE kind = 'response') - ?",
            (MOST_RESPONSES,),
        )

    def get(self, kind: str, object_id: str, parent: str = "") -> ObjectData | None:
        """Return an object; `None` if there is none."""
        if not self._database.is_there():
            return None
        rows = self._database.execute(
            "SELECT data FROM objects WHERE kind = ? AND parent = ? AND id = ?",
            (kind, parent, object_id),
        )
        return json.loads(rows[0][0]) if rows else None

    def put_once(self, kind: str, object_id: str, data: ObjectData, now: float) -> bool:
        """Store an object that expires, unless it is stored; return whether it is new.

        Args:
            kind: The kind of the object.
            object_id: The id of the object; its first twelve digits are the second at which it
                expires.
            data: The fields of the object.
            now: The present second; expired objects of this kind are removed.
        """
        self._database.execute(
            "DELETE FROM objects WHERE kind = ? AND parent = '' AND id < ?",
            (kind, f"{int(now):012d}"),
        )
        return bool(
            self._database.execute(
                "INSERT INTO objects(data, kind, parent, id) VALUES (?, ?, '', ?) "
                "ON CONFLICT DO NOTHING RETURNING id",
                (json.dumps(data), kind, object_id),
            )
        )

    def drop(self, kind: str, object_id: str) -> None:
        """Remove an object of a kind that is not copied with the index."""
        self._database.execute(
            "DELETE FROM objects WHERE kind = ? AND parent = '' AND id = ?", (kind, object_id)
        )

    def list_all(self, kind: str, parent: str = "") -> dict[str, ObjectData]:
        """Return all objects of a kind by their ids, oldest first."""
        if not self._database.is_there():
            return {}
        rows = self._database.execute(
            "SELECT id, data FROM objects WHERE kind = ? AND parent = ? ORDER BY id", (kind, parent)
        )
        return {object_id: json.loads(data) for object_id, data in rows}

    def remove(self, object_id: str, parent: str = "") -> None:
        """Remove an object, also from later copies of the index.

        Without a parent, also remove its members and memberships, and the responses that name it.
        """
        self._database.execute(
            "INSERT INTO gone(id) VALUES (?) ON CONFLICT DO NOTHING", (f"{parent}{object_id}",)
        )
        if parent:
            self._database.execute(
                "DELETE FROM objects WHERE id = ? AND parent = ?", (object_id, parent)
            )
        else:
            self._database.execute(
                "DELETE FROM objects WHERE id = ? OR parent = ? OR kind = 'response' "
                "AND data LIKE ?",
                (object_id, object_id, f"%{object_id}%"),
            )

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def create_object_store(index: Index) -> Objects:
    """Create the store of objects beside an index."""
    return Objects(index.open_database(OBJECT_TABLES.file, OBJECT_TABLES.tables))


def make_object_id(prefix: str) -> str:
    """Make an id that sorts after all earlier ones."""
    return f"{prefix}{time.time_ns():016x}{token_hex(8)}"
