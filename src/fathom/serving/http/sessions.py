"""The sessions of signed-on users beside an index, accessed without blocking the event loop."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import Literal

from fathom.serving.http.access import Access
from fathom.serving.http.object_store import ObjectData, Objects

Use = Literal["session", "sign_on"]
"""The use of a cookie, and the kind of the object that is stored for it."""


class Sessions:
    """The sessions of all servers of an index, and the used states of sign-ons."""

    def __init__(self, objects: Objects, access: Access) -> None:
        """Create the store. Nothing is opened before it is needed.

        Args:
            objects: The objects beside the index.
            access: The access control, whose threads read sessions.
        """
        self.objects = objects
        self._access = access

    async def get(self, session_id: str) -> ObjectData | None:
        """Return a session; `None` if it has ended."""
        return await self._access.run_lookup(lambda: self.objects.get("session", session_id))

    async def put_once(self, use: Use, object_id: str, data: ObjectData, now: float) -> bool:
        """Store a session or a used state unless it is stored; return whether it is new."""
        return await asyncio.to_thread(self.objects.put_once, use, object_id, data, now)

    async def change(
        self, session_id: str, alter: Callable[[ObjectData], ObjectData]
    ) -> ObjectData | None:
        """Change a session, and return it, or `None` if it has ended."""
        return await asyncio.to_thread(self.objects.change, "session", session_id, alter)

    async def list_all(self) -> dict[str, ObjectData]:
        """Return all sessions by their ids."""
        return await asyncio.to_thread(self.objects.list_all, "session")

    async def drop(self, session_id: str) -> None:
        """End a session at every server."""
        await asyncio.to_thread(self.objects.drop, "session", session_id)

    def close(self) -> None:
        """Close the database."""
        self.objects.close()


def make_session_id(ends: int, number: str) -> str:
    """Return the id of a session or a used state; ids sort by the second of their end."""
    return f"{ends:012d}{sha256(number.encode()).hexdigest()}"
