"""Who may do what: callers, and the scopes that a request needs."""

from dataclasses import dataclass
from typing import Literal

Scope = Literal["read", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "ingest", "admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks.

    Attributes:
        key_id: Of the key; empty for the local user, who needs none on loopback.
        workspace: Whose documents are meant; empty for the default one.
        scopes: What the caller may do.
    """

    key_id: str = ""
    workspace: str = ""
    scopes: frozenset[Scope] = frozenset(SCOPES)


LOCAL = Caller()
"""Who sits at this machine."""


class Access:
    """Knows the keys."""

    def caller(self, authorization: str) -> Caller:  # noqa: ARG002
        """Who sends this `Authorization` header."""
        return LOCAL
