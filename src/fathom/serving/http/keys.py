"""Keys of the server: who holds one may ask, within what it says; only hashes of them are kept."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from math import isfinite
from secrets import token_hex, token_urlsafe
from typing import Literal

from fathom.errors import UsageError
from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.kept import KEYS

Scope = Literal["read", "ingest", "curate", "admin"]
Door = Literal["new", "closed", "open"]
"""Of a server that had no key ever, that has or had one, and that was opened again since."""
PREFIX = "fth_"
"""Of the text of a key."""
SCOPES: tuple[Scope, ...] = ("read", "ingest", "curate", "admin")
"""`read` asks and looks, `ingest` also adds and removes documents, `curate` says what is right for
everybody in the workspace, `admin` sees the metrics."""
CURATORS: frozenset[Scope] = frozenset({"ingest", "curate", "admin"})
"""Who may change what others are answered: by documents, or as an administrator, too."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
COLUMNS = (
    "id, hash, name, workspace, scopes, created, expires, per_minute, tokens_per_day, usd_per_day"
)
"""Of a key, as it is kept."""
_SELECT = f"SELECT {COLUMNS} FROM keys"  # noqa: S608 - constant
_ID_BYTES = 4
_DOOR = (
    "SELECT EXISTS(SELECT 1 FROM keys), (SELECT is_open FROM doors), "
    "EXISTS(SELECT 1 FROM gone WHERE length(id) = ?)"
)
"""The ids that are gone may be of conversations too, which are longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What a key allows.

    Attributes:
        name: What its holder is called.
        workspace: Whose documents are meant; empty for the default one.
        created: ISO 8601, in UTC; `expires` likewise, `None` for never.
        per_minute: So many requests; `None` is without limit, as for the others.
        tokens_per_day: Of language models, by days of UTC; `usd_per_day` likewise.
    """

    id: str
    name: str
    workspace: str = ""
    scopes: frozenset[Scope] = frozenset({"read"})
    created: str = ""
    expires: str | None = None
    per_minute: int | None = None
    tokens_per_day: int | None = None
    usd_per_day: float | None = None

    def is_over(self, now: datetime) -> bool:
        """Whether it has expired."""
        return self.expires is not None and datetime.fromisoformat(self.expires) <= now


class Keys:
    """The keys of one server, kept beside its index; safe from threads and processes."""

    def __init__(self, kept: Database) -> None:
        """Nothing is opened before there is a key; see `keys_of`."""
        self.kept = kept

    def any(self) -> bool:
        """Whether there is a key, also one that has expired."""
        return self.kept.is_there() and bool(self.kept.ask("SELECT 1 FROM keys LIMIT 1"))

    def door(self) -> Door:
        """Tell whether who has no key is let in.

        It is closed with the first key and stays so when no key is left, until `open_door`: who
        revokes a key that leaked wants nobody in, least of all everybody.
        """
        if not self.kept.is_there():
            return "new"
        [(has_keys, is_open, had_keys)] = self.kept.ask(_DOOR, (2 * _ID_BYTES,))
        if has_keys:
            return "closed"
        if is_open is not None:
            return "open" if is_open else "closed"
        return "closed" if had_keys else "new"  # revoked before doors were kept

    def open_door(self) -> None:
        """Let in who has no key, though there has been one; does nothing where there was none.

        Raises:
            UsageError: If there are keys.
        """
        if left := self.all():
            named = ", ".join(f"{each.id} ({each.name})" for each in left)
            raise UsageError(f"keys open: {named} still there; `fathom keys revoke ID` ends a key")
        if self.door() == "closed":
            self._set_door(is_open=True)

    def close_door(self) -> None:
        """Let in nobody who has no key, also while there is none."""
        self._set_door(is_open=False)

    def _set_door(self, *, is_open: bool) -> None:
        self.kept.ask("INSERT INTO doors(id, is_open) VALUES ('door', 0) ON CONFLICT DO NOTHING")
        self.kept.ask("UPDATE doors SET is_open = ?", (int(is_open),))

    def add(self, key: Key) -> tuple[Key, str]:
        """Keep a key; its `id` and `created` are made here.

        Returns:
            The key, and its text, which is kept nowhere.

        Raises:
            UsageError: If the name of the workspace, or a scope, is none, or money no number.
        """
        if key.workspace and not _NAME.fullmatch(key.workspace):
            raise UsageError(
                f"workspace {key.workspace!r}: use up to 63 of a-z, 0-9, - and _; no capitals"
            )
        unknown = key.scopes - set(SCOPES)
        if unknown or not key.scopes:
            raise UsageError(f"scopes {sorted(key.scopes)}: choose of {', '.join(SCOPES)}")
        if key.usd_per_day is not None and not isfinite(key.usd_per_day):
            raise UsageError(
                f"--usd-per-day {key.usd_per_day}: give a number; without it there is no limit"
            )
        made, secret = token_hex(_ID_BYTES), token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        values = (
            *(made, _hash(secret), key.name, key.workspace, " ".join(sorted(key.scopes)), created),
            *(key.expires, key.per_minute, key.tokens_per_day, key.usd_per_day),
        )
        self.close_door()  # first: rows of keys may go by whatever way
        marks = ", ".join("?" * len(values))
        self.kept.ask(f"INSERT INTO keys({COLUMNS}) VALUES ({marks})", values)  # noqa: S608 - constants
        found = next(each for each in self.all() if each.id == made)
        return found, f"{PREFIX}{made}_{secret}"

    def all(self) -> tuple[Key, ...]:
        """All keys, oldest first."""
        rows = self.kept.ask(f"{_SELECT} ORDER BY created, id") if self.kept.is_there() else []
        return tuple(_key(row) for row in rows)

    def revoke(self, key_id: str) -> bool:
        """Forget a key, but for its id, so that no copy gives it back; whether there was one."""
        if not self.kept.is_there():
            return False
        if self.any():  # of keys from before doors were kept
            self.close_door()
        self.kept.ask(
            "INSERT INTO gone(id) SELECT id FROM keys WHERE id = ? ON CONFLICT DO NOTHING",
            (key_id,),
        )
        self.kept.ask("DELETE FROM rates WHERE key = ?", (key_id,))
        return bool(self.kept.ask("DELETE FROM keys WHERE id = ? RETURNING id", (key_id,)))

    def find(self, text: str) -> Key | None:
        """The key of this text, whether it has expired or not; `None` if there is none."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        if prefix != "fth" or not text.isascii() or not self.kept.is_there():
            return None
        rows = self.kept.ask(f"{_SELECT} WHERE id = ?", (key_id,))
        kept = str(rows[0][1]) if rows else "0" * 64
        is_right = compare_digest(kept, _hash(secret))
        return _key(rows[0]) if rows and is_right else None

    def workspaces(self) -> tuple[str, ...]:
        """Those that keys are for; empty is the default one."""
        rows = self.kept.ask("SELECT DISTINCT workspace FROM keys") if self.kept.is_there() else []
        return tuple(sorted(row[0] for row in rows))

    def close(self) -> None:
        """Let go of them; may be used again."""
        self.kept.close()


def keys_of(index: Index) -> Keys:
    """The keys of who serves an index."""
    return Keys(index.database(KEYS.file, KEYS.tables))


def expiry(days: float | None) -> str | None:
    """The instant so many days from now, as keys have it.

    Raises:
        UsageError: If it is no number, or no calendar reaches so far.
    """
    if days is None:
        return None
    try:
        return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    except ValueError:
        raise UsageError(f"--days {days}: give a number; without it a key never expires") from None
    except OverflowError:
        raise UsageError(f"--days {days:g}: too many; without it a key never expires") from None


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _key(row: tuple[object, ...]) -> Key:
    key_id, _, name, workspace, scopes, *rest = row
    fields = ("created", "expires", "per_minute", "tokens_per_day", "usd_per_day")
    return Key(
        id=str(key_id),
        name=str(name),
        workspace=str(workspace),
        scopes=frozenset(each for each in SCOPES if each in str(scopes).split()),
        **dict(zip(fields, rest, strict=True)),  # type: ignore[arg-type]  # as they were stored
    )
