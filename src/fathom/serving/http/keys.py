"""The keys of a server, with the permissions of their holders; only hashes of keys are stored."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from math import isfinite
from secrets import token_hex, token_urlsafe
from typing import Any, Literal

from fathom.errors import UsageError
from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.tables import KEY_TABLES

Scope = Literal["read", "ingest", "curate", "admin"]
Door = Literal["new", "closed", "open"]
"""The state of a server for callers without a key.

`new` (there never was a key) and `open` (reopened) let them in; `closed` does not."""
PREFIX = "fth_"
"""The beginning of the text of a key."""
SCOPES: tuple[Scope, ...] = ("read", "ingest", "curate", "admin")
"""`read` allows questions and reading, `ingest` adding and removing documents, `curate` feedback
that counts for everybody in the workspace, `admin` metrics, sources and the audit log."""
CURATORS: frozenset[Scope] = frozenset({"ingest", "curate", "admin"})
"""The scopes whose feedback counts for everybody: they may change the answers of others anyway."""
MOST_LIMIT = 10**15
"""The largest limit of requests or tokens; sums of such limits fit into a 64-bit column."""
EVERYTHING = "*"
"""The group of those who may read all documents."""
GROUP = re.compile(r"[^\s:*,]{1,64}")
"""The pattern of the names of groups; `EVERYTHING` does not match."""
_GROUP_MARK = "group:"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
KEY_COLUMNS = (
    "id, hash, name, workspace, scopes, created, expires, per_minute, tokens_per_day, usd_per_day"
)
"""The columns of a stored key."""
_SELECT = f"SELECT {KEY_COLUMNS} FROM keys"  # noqa: S608 - constant
_ID_BYTES = 4
_SELECT_DOOR = (
    "SELECT EXISTS(SELECT 1 FROM keys), (SELECT is_open FROM doors), "
    "EXISTS(SELECT 1 FROM gone WHERE length(id) = ?)"
)
"""The state of the door. The table `gone` has ids of conversations too, which are longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key's permissions and limits.

    Attributes:
        name: The name of the holder.
        workspace: The workspace of the documents; empty for the default one.
        groups: The groups whose documents the holder may read; `EVERYTHING` for all documents.
        created: The time of creation, as ISO 8601 in UTC.
        expires: The time of expiry, as ISO 8601 in UTC; `None` for never.
        per_minute: The number of requests a minute, at most; `None` for no limit.
        tokens_per_day: The tokens of language models a day (UTC), at most; `None` for no limit.
        usd_per_day: The cost of language models a day (UTC), at most; `None` for no limit.
    """

    id: str
    name: str
    workspace: str = ""
    scopes: frozenset[Scope] = frozenset({"read"})
    groups: frozenset[str] = frozenset()
    created: str = ""
    expires: str | None = None
    per_minute: int | None = None
    tokens_per_day: int | None = None
    usd_per_day: float | None = None

    def is_expired(self, now: datetime) -> bool:
        """Return whether the key has expired."""
        return self.expires is not None and datetime.fromisoformat(self.expires) <= now


class Keys:
    """The keys of one server, stored beside its index; safe from threads and processes."""

    def __init__(self, database: Database) -> None:
        """Create the store. Nothing is opened before there is a key."""
        self.database = database

    def has_keys(self) -> bool:
        """Return whether there is a key, even an expired one."""
        return bool(self._select_rows("SELECT 1 FROM keys LIMIT 1"))

    def get_door(self) -> Door:
        """Return whether callers without a key are let in.

        The door closes with the first key and stays closed until `open_door`, even when no key is
        left: revoking a leaked key must not let everybody in.
        """
        if not self.database.is_there():
            return "new"
        [(has_keys, is_open, had_keys)] = self.database.execute(_SELECT_DOOR, (2 * _ID_BYTES,))
        if has_keys:
            return "closed"
        if is_open is not None:
            return "open" if is_open else "closed"
        return "closed" if had_keys else "new"  # revoked by a version without doors

    def open_door(self) -> None:
        """Let in callers without a key although there was one; do nothing if there never was one.

        Raises:
            UsageError: If there are keys.
        """
        if keys := self.list_keys():
            names = ", ".join(f"{key.id} ({key.name})" for key in keys)
            raise UsageError(
                f"keys open: these keys still exist: {names}; run `fathom keys revoke ID`"
            )
        if self.get_door() == "closed":
            self._set_door(is_open=True)

    def close_door(self) -> None:
        """Let in no caller without a key, even if there is no key."""
        self._set_door(is_open=False)

    def _select_rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; none if there is no database, which is not created."""
        return self.database.execute(statement, values) if self.database.is_there() else []

    def _set_door(self, *, is_open: bool) -> None:
        self.database.execute(
            "INSERT INTO doors(id, is_open) VALUES ('door', 0) ON CONFLICT DO NOTHING"
        )
        self.database.execute("UPDATE doors SET is_open = ?", (int(is_open),))

    def add(self, key: Key) -> tuple[Key, str]:
        """Store a key with a new `id` and the present time as `created`.

        Returns:
            The key, and its text, which is not stored.

        Raises:
            UsageError: If the name, the workspace's name, a scope, or a limit is invalid.
        """
        # An empty name would own the traces of the user of this machine.
        if not key.name.strip() or not key.name.isprintable():
            raise UsageError(
                f"the key's name {key.name!r}: give its holder's name in one line of plain text"
            )
        if key.workspace and not _NAME.fullmatch(key.workspace):
            raise UsageError(
                f"workspace {key.workspace!r}: use up to 63 of a-z, 0-9, - and _; no capitals"
            )
        unknown = key.scopes - set(SCOPES)
        if unknown or not key.scopes:
            raise UsageError(f"scopes {sorted(key.scopes)}: choose from {', '.join(SCOPES)}")
        if key.usd_per_day is not None and not isfinite(key.usd_per_day):
            raise UsageError(
                f"--usd-per-day {key.usd_per_day}: give a number; without it there is no limit"
            )
        _check_limit("--per-minute", key.per_minute)
        _check_limit("--tokens-per-day", key.tokens_per_day)
        key_id, secret = token_hex(_ID_BYTES), token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        for name in key.groups - {EVERYTHING}:
            if not GROUP.fullmatch(name) or not name.isprintable():
                raise UsageError(
                    f"--group {name!r}: at most 64 characters, no space, comma, : or *"
                )
        # Groups are stored in the column of the scopes, where an older Fathom ignores them.
        groups = (f"{_GROUP_MARK}{name}" for name in sorted(key.groups))
        scopes = " ".join([*sorted(key.scopes), *groups])
        values = (
            *(key_id, _hash_secret(secret), key.name, key.workspace, scopes, created),
            *(key.expires, key.per_minute, key.tokens_per_day, key.usd_per_day),
        )
        self.close_door()  # first: the door stays closed even if the row is lost
        marks = ", ".join("?" * len(values))
        self.database.execute(f"INSERT INTO keys({KEY_COLUMNS}) VALUES ({marks})", values)  # noqa: S608 - constants
        stored = next(candidate for candidate in self.list_keys() if candidate.id == key_id)
        return stored, f"{PREFIX}{key_id}_{secret}"

    def list_keys(self) -> tuple[Key, ...]:
        """Return all keys, oldest first."""
        return tuple(map(_parse_key, self._select_rows(f"{_SELECT} ORDER BY created, id")))

    def revoke(self, key_id: str) -> bool:
        """Revoke a key, also in later copies of the index; return whether it existed."""
        if not self.database.is_there() or not key_id.isascii():
            return False
        if self.has_keys():  # keys of a version without doors
            self.close_door()
        self.database.execute(
            "INSERT INTO gone(id) SELECT id FROM keys WHERE id = ? ON CONFLICT DO NOTHING",
            (key_id,),
        )
        self.database.execute("DELETE FROM rates WHERE key = ?", (key_id,))
        return bool(self.database.execute("DELETE FROM keys WHERE id = ? RETURNING id", (key_id,)))

    def find(self, text: str) -> Key | None:
        """Return the key that this text belongs to, even an expired one; `None` without one."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        if prefix != "fth" or not text.isascii():
            return None
        rows = self._select_rows(f"{_SELECT} WHERE id = ?", key_id)
        stored_hash = str(rows[0][1]) if rows else "0" * 64
        # Unknown ids take the same time as known ones, so that timing reveals nothing about keys.
        is_right = compare_digest(stored_hash, _hash_secret(secret))
        return _parse_key(rows[0]) if rows and is_right else None

    def list_workspaces(self) -> tuple[str, ...]:
        """Return the workspaces that keys name; the default workspace has an empty name."""
        rows = self._select_rows("SELECT DISTINCT workspace FROM keys")
        return tuple(sorted(row[0] for row in rows))

    def close(self) -> None:
        """Close the database; the store may be used again."""
        self.database.close()


def create_key_store(index: Index) -> Keys:
    """Create the store of keys beside an index."""
    return Keys(index.open_database(KEY_TABLES.file, KEY_TABLES.tables))


def compute_expiry(days: float | None) -> str | None:
    """Return the instant that is a number of days from now, in the form of `Key.expires`.

    Raises:
        UsageError: If `days` is not a number, or the instant is beyond the calendar.
    """
    if days is None:
        return None
    try:
        return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    except ValueError:
        raise UsageError(f"--days {days}: give a number; without it a key never expires") from None
    except OverflowError:
        raise UsageError(f"--days {days:g}: too many; without it a key never expires") from None


def _check_limit(option: str, limit: int | None) -> None:
    if limit is not None and not 0 <= limit <= MOST_LIMIT:
        raise UsageError(
            f"{option} {limit}: choose from 0 to {MOST_LIMIT}; without it there is no limit"
        )


def _hash_secret(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _parse_key(row: tuple[object, ...]) -> Key:
    key_id, _, name, workspace, scopes, *rest = row
    fields = ("created", "expires", "per_minute", "tokens_per_day", "usd_per_day")
    return Key(
        id=str(key_id),
        name=str(name),
        workspace=str(workspace),
        scopes=frozenset(scope for scope in SCOPES if scope in str(scopes).split()),
        groups=frozenset(
            word.removeprefix(_GROUP_MARK)
            for word in str(scopes).split()
            if word.startswith(_GROUP_MARK)
        ),
        **dict(zip(fields, rest, strict=True)),  # type: ignore[arg-type]  # the columns have these types
    )
