"""Definitions of the tables that a server stores beside an index.

An embedded index has them in SQLite files of these names; an index on PostgreSQL has the same
tables, defined in `index.postgres.tables`.
"""

from dataclasses import dataclass

_GONE = "CREATE TABLE IF NOT EXISTS gone(id TEXT PRIMARY KEY) WITHOUT ROWID"
"""The ids of revoked keys and removed conversations or objects, so that no copy restores them."""
_DOORS = "CREATE TABLE IF NOT EXISTS doors(id TEXT PRIMARY KEY, is_open INTEGER NOT NULL)"
"""At most one row: `is_open` is 1 if callers without a key are let in although keys existed."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The tables of one database file, with the statements that create them."""

    file: str
    tables: tuple[str, ...]


KEY_TABLES = TableFile(
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
AUDIT_TABLES = TableFile(
    "audit.db",
    (
        "CREATE TABLE IF NOT EXISTS audit(no INTEGER PRIMARY KEY AUTOINCREMENT, "
        "requested TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, groups TEXT NOT NULL, "
        "workspace TEXT NOT NULL, route TEXT NOT NULL, asked TEXT NOT NULL, "
        "status INTEGER NOT NULL, shown TEXT NOT NULL)",
        "CREATE INDEX IF NOT EXISTS audit_by_time ON audit(requested)",
        "CREATE TABLE IF NOT EXISTS audit_shown(no INTEGER PRIMARY KEY AUTOINCREMENT, "
        "line INTEGER NOT NULL, shown TEXT NOT NULL)",
        "CREATE INDEX IF NOT EXISTS audit_shown_by_line ON audit_shown(line)",
    ),
)
"""`audit` has a line for each request, `audit_shown` what a stream showed after that."""
CONVERSATION_TABLES = TableFile(
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
        "CREATE TABLE IF NOT EXISTS holders(id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID",
    ),
)
JOB_TABLES = TableFile(
    "jobs.db",
    (
        "CREATE TABLE IF NOT EXISTS jobs(no INTEGER PRIMARY KEY AUTOINCREMENT, "
        "id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, server TEXT NOT NULL DEFAULT '', "
        "lease REAL NOT NULL DEFAULT 0, data TEXT NOT NULL)",
    ),
)
OBJECT_TABLES = TableFile(
    "objects.db",
    (
        "CREATE TABLE IF NOT EXISTS objects(no INTEGER PRIMARY KEY AUTOINCREMENT, "
        "kind TEXT NOT NULL, parent TEXT NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL, "
        "UNIQUE(kind, parent, id))",
        _GONE,
    ),
)
REPLY_TABLES = TableFile(
    "replies.db",
    (
        "CREATE TABLE IF NOT EXISTS replies(no INTEGER PRIMARY KEY AUTOINCREMENT, "
        "key TEXT NOT NULL UNIQUE, body TEXT NOT NULL, server TEXT NOT NULL, lease REAL NOT NULL, "
        "status INTEGER NOT NULL DEFAULT 0, media TEXT NOT NULL DEFAULT '', "
        "reply TEXT NOT NULL DEFAULT '')",
    ),
)
