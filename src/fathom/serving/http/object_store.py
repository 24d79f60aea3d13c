"""The objects of OpenAI's interface: files, vector stores and what belongs to them."""

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
"""The number of responses of which the file search is remembered."""


class Objects:
    """The objects of one workspace; safe from threads and processes.

    An object has a kind: `file`, `vector_store`, `member` (a file in the vector store that is its
    parent), `batch` (likewise) or `response`; of
    sign-on a `session`, or a `sign_on` that is used.
    """

    def __init__(self, database: Database) -> None:
        """Create the store. Nothing is opened before it is needed."""
        self._database = database

    def put(self, kind: str, object_id: str, data: ObjectData, parent: str = "") -> None:
        """Store an object, in place of an earlier one."""
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
        """Change an object, after all earlier changes of it; return it, or `None` if it is gone.

        Args:
            kind: The kind of the object.
            object_id: The id of the object.
            alter: Returns the new fields from the stored ones; it may be called again.
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
        """Store the file search of a response, and drop the oldest ones."""
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
        """Store an object that is there for a time; return whether it was not there.

        Args:
            kind: The kind of the object.
            object_id: Its id, which begins with the second of its end in twelve digits.
            data: Its fields.
            now: The present second; what has ended is removed.
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
        """Remove an object that no copy brings back."""
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
        """Remove an object for good.

        Without a parent, remove all that belongs to it too: its members, its memberships, and what
        is remembered of it for responses.
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
