"""What a server keeps beside an index goes along where that is copied.

Keys with what was spent today, conversations, and what became of jobs go. Files that were sent
stay, as their documents are known by the folder where they lay. So do jobs that are not done, with
the server that works on them, and what is of minutes: replies to repeated requests, rates.
Done again, what came since is brought too. What was done at the copy meanwhile stays: a turn that
was added, a key that was revoked or given less, a conversation that was removed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from fathom.errors import FathomError
from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.kept import CONVERSATIONS, JOBS, KEYS, UPLOADS, Kept
from fathom.serving.http.keys import COLUMNS, Keys

Row: TypeAlias = tuple[Any, ...]
_DONE = "state IN ('done', 'failed')"
_ACCOUNTS = "owner, day, tokens, nano, reserved_tokens, reserved_nano"
_TALK, _TURN = "id, title, created, updated", "conversation, question, trace_id, asked"
_OWNER = "id, owner"
_TURNS = "(SELECT count(*) FROM turns WHERE conversation = conversations.id)"
_COUNTED = f"{_TALK}, {_TURNS}"


def move_kept(source: Index, target: Index, directory: Path) -> list[str]:
    """Copy what servers keep beside one index to another; done again it brings what came since.

    Args:
        source: The one.
        target: The other.
        directory: Of the first one, or of what is kept beside it on this machine.

    Returns:
        What was copied, and what stays at either place, in words.
    """
    told: list[str] = []
    try:
        for kept, copied in ((KEYS, _keys), (CONVERSATIONS, _conversations), (JOBS, _jobs)):
            told += copied(*(_tables(index, kept) for index in (source, target)))
        told += _uploads(source, directory / UPLOADS)
    except FathomError as error:
        told.append(f"the rest of what `fathom serve` keeps was not copied: {error}")
    return told


def _tables(index: Index, kept: Kept) -> Database:
    return index.database(kept.file, kept.tables)


def _keys(source: Database, target: Database) -> Iterator[str]:
    keys, known, gone = (
        _rows(source, "keys", COLUMNS),
        _known(target, "keys", COLUMNS),
        _gone(target),
    )
    _accounts(source, target)  # first: a key that opens the copy may spend nothing twice
    opening = [row for row in keys if row[0] not in gone]
    is_closed = _close_door(source, target, has_keys=bool(opening))
    for row in opening:
        if row[:1] in known:
            _narrow(target, known[row[:1]], row)
        else:
            _insert(target, "keys", COLUMNS, row)
    if opening:
        yield f"{len(opening)} keys, which open the copy too"
    if is_closed and not opening:
        yield "no key is left, so nobody can ask at the copy either: see `fathom keys list` there"
    if workspaces := sorted({row[3] for row in keys} - {""}):
        yield f"keys are for the workspaces {', '.join(workspaces)} too: copy each of them likewise"
    here = {row[:1] for row in keys}
    others = {  # one that is there alone may have been revoked since
        "keys that open the copy alone, until `fathom keys revoke ID` there ends them": [
            there for name, there in known.items() if name not in here
        ],
        "keys that were revoked at the copy, and stay so": [row for row in keys if row[0] in gone],
        "keys that may do less at the copy, and go on so": [
            row for row in opening if _narrower(known.get(row[:1], row), row) != row
        ],
    }
    for told, named in others.items():
        if named:
            yield f"{told}: {', '.join(sorted(f'{row[0]} ({row[2]})' for row in named))}"


def _close_door(source: Database, target: Database, *, has_keys: bool) -> bool:
    """Close a copy of what is closed, and tell whether it is closed.

    One that was opened there stays so, unless a key comes to it.
    """
    keys = Keys(target)
    if has_keys or (Keys(source).door() == "closed" and keys.door() == "new"):
        keys.close_door()
    return keys.door() == "closed"


def _narrower(there: Row, row: Row) -> Row:
    """A key of the copy, as far as it may do at both places what it does."""
    scopes = " ".join(each for each in there[4].split() if each in row[4].split())
    both = zip(there[6:], row[6:], strict=True)
    limits = (min(pair, key=lambda limit: (limit is None, limit)) for pair in both)
    return (*there[:4], scopes, there[5], *limits)


def _narrow(target: Database, there: Row, row: Row) -> None:
    narrower = _narrower(there, row)
    if narrower != there:
        target.ask(
            "UPDATE keys SET scopes = ?, expires = ?, per_minute = ?, tokens_per_day = ?, "
            "usd_per_day = ? WHERE id = ?",
            (narrower[4], *narrower[6:], there[0]),
        )


def _accounts(source: Database, target: Database) -> None:
    """Of an owner's day the larger sums stay: who is copied again may spend nothing twice."""
    known = _known(target, "accounts", _ACCOUNTS, names=2)
    for row in _rows(source, "accounts", _ACCOUNTS):
        if row[:2] not in known:
            _insert(target, "accounts", _ACCOUNTS, row)
        elif known[row[:2]] != row:
            for name, spent, reserved in (("tokens", *row[2::2]), ("nano", *row[3::2])):
                target.ask(
                    f"UPDATE accounts SET {name} = ?, reserved_{name} = ? WHERE owner = ? "  # noqa: S608 - constants
                    f"AND day = ? AND {name} + reserved_{name} < ?",
                    (spent, reserved, *row[:2], spent + reserved),
                )


def _conversations(source: Database, target: Database) -> Iterator[str]:
    rows = _rows(source, "conversations", _COUNTED)
    known, gone = (_known(target, "conversations", _COUNTED), _gone(target)) if rows else ({}, ())
    removed = [row for row in rows if row[0] in gone]
    rest = [row for row in rows if row[0] not in gone]
    went_on = [row for row in rest if row[:1] in known and known[row[:1]][3] > row[3]]
    for row in rest:
        if row not in went_on and known.get(row[:1]) != row:
            _bring(source, target, row)
    if rest:
        yield f"{len(rest)} conversations"
    if went_on:
        yield f"{len(went_on)} conversations went on at the copy, and stay as they are there"
    if removed:
        yield f"{len(removed)} conversations were removed at the copy, and stay so"


def _bring(source: Database, target: Database, row: Row) -> None:
    """Bring turns that are lacking, then what tells that there are so many: no kill loses one."""
    name, title, _, updated, _ = row
    turns, there = (
        _rows(each, "turns", _TURN, "WHERE conversation = ? ORDER BY no", name)
        for each in (source, target)
    )
    for turn in turns:
        if turn not in there:
            _insert(target, "turns", _TURN, turn)
    for owner in _rows(source, "owners", _OWNER, "WHERE id = ?", name):
        _insert(target, "owners", _OWNER, owner)
    _insert(target, "conversations", _TALK, row[:4])
    target.ask(
        "UPDATE conversations SET title = CASE title WHEN '' THEN ? ELSE title END, updated = ? "
        "WHERE id = ? AND updated < ?",
        (title, updated, name, updated),
    )


def _jobs(source: Database, target: Database) -> Iterator[str]:
    if done := _copied(source, target, "jobs", "id, state, data", f"WHERE {_DONE} ORDER BY no"):
        yield f"{len(done)} jobs"
    if left := _rows(source, "jobs", "id", f"WHERE NOT {_DONE}"):
        yield f"{len(left)} jobs are not done and stay with the server that works on them"


def _uploads(source: Index, folder: Path) -> Iterator[str]:
    uploads = source.uploads()
    names = (
        [str(each) for each in folder.rglob("*") if each.is_file()]
        if uploads is None
        else [each.name for each in uploads.all()]
    )
    if names:
        yield (
            f"{len(names)} files that were sent stay at {source}: their documents are copied; send "
            "the files to a server of the copy before they go"
        )


def _copied(
    source: Database, target: Database, table: str, columns: str, rest: str = ""
) -> list[Row]:
    """Copy rows that have names of their own; gives them."""
    rows = _rows(source, table, columns, rest)
    for row in rows:
        _insert(target, table, columns, row)
    return rows


def _rows(
    database: Database, table: str, columns: str, rest: str = "", *values: object
) -> list[Row]:
    asked = f"SELECT {columns} FROM {table} {rest}"  # noqa: S608 - constants
    return database.ask(asked, values) if database.is_there() else []


def _known(database: Database, table: str, columns: str, names: int = 1) -> dict[Row, Row]:
    """The rows by their first columns, which name them."""
    return {row[:names]: row for row in _rows(database, table, columns)}


def _gone(database: Database) -> frozenset[str]:
    """Ids of what was revoked or removed there."""
    return frozenset(name for (name,) in _rows(database, "gone", "id"))


def _insert(database: Database, table: str, columns: str, row: Sequence[object]) -> None:
    marks = ", ".join("?" * len(row))
    database.ask(
        f"INSERT INTO {table}({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",  # noqa: S608 - constants
        row,
    )
