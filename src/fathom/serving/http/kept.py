"""Tables that a server keeps beside an index: of an embedded one in files, by these names.

An index on PostgreSQL has the same tables, see `index.postgres.tables`.
"""

from dataclasses import dataclass

UPLOADS = "uploads"
"""Below an index: the files that were sent to it."""
_GONE = "CREATE TABLE IF NOT EXISTS gone(id TEXT PRIMARY KEY) WITHOUT ROWID"
"""Ids of what was revoked or removed here, so that no copy gives it back."""
_DOORS = "CREATE TABLE IF NOT EXISTS doors(id TEXT PRIMARY KEY, is_open INTEGER NOT NULL)"
"""Of one row at most: whether who has no key is let in, though there has been one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file, and what makes its tables where they are not there yet."""

    file: str
    tables: tuple[str, ...]


KEYS = Kept(
    "keys.db",
    (
        "CREATE TABLE IF NOT EXISTS keys(id TEXT PRIMARY KEY, hash TEXT NOT NULL, "
        "name TEXT NOT NULL, workspace TEXT NOT NULL, scopes TEXT NOT NULL, created TEXT NOT NULL, "
        "expires TEXT, per_minute INTEGER, tokens_per_day INTEGER, usd_per_day REAL)",
        "CREATE TABLE IF NOT EXISTS accounts(owner TEXT NOT NULL, day TEXT NOT NULL, "
        "tokens INTEGER NOT NULL DEFAULT 0, nano INTEGER NOT NULL DEFAULT 0, "
        "reserved_tokens INTEGER NOT NULL DEFAULT 0, reserved_nano INTEGER NOT NULL DEFAULT 0, "
        "PRIMARY KEY(owner, day)) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS rates(key TEXT PRIMARY KEY, until REAL NOT NULL DEFAULT 0) "
        "WITHOUT ROWID",
        _GONE,
        _DOORS,
    ),
)
CONVERSATIONS = Kept(
    "conversations.db",
    (
        "CREATE TABLE IF NOT EXISTS conversations("
        "id TEXT PRIMARY KEY, title TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS turns("
        "no INTEGER PRIMARY KEY AUTOINCREMENT, conversation TEXT NOT NULL, question TEXT NOT NULL, "
        "trace_id TEXT, asked TEXT NOT NULL)",
        "CREATE INDEX IF NOT EXISTS turns_of ON turns(conversation)",
        _GONE,
        "CREATE TABLE IF NOT EXISTS owners(id TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID",
    ),
)
JOBS = Kept(
    "jobs.db",
    (
        "CREATE TABLE IF NOT EXISTS jobs(no INTEGER PRIMARY KEY AUTOINCREMENT, "
        "id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, server TEXT NOT NULL DEFAULT '', "
        "lease REAL NOT NULL DEFAULT 0, data TEXT NOT NULL)",
    ),
)
REPLIES = Kept(
    "replies.db",
    (
        "CREATE TABLE IF NOT EXISTS replies(no INTEGER PRIMARY KEY AUTOINCREMENT, "
        "key TEXT NOT NULL UNIQUE, body TEXT NOT NULL, server TEXT NOT NULL, lease REAL NOT NULL, "
        "status INTEGER NOT NULL DEFAULT 0, media TEXT NOT NULL DEFAULT '', "
        "reply TEXT NOT NULL DEFAULT '')",
    ),
)
