"""What a server keeps beside an index goes along where that is copied.

Keys with what was spent today, conversations, and what became of jobs go. Files that were sent
stay, as their documents are known by the folder where they lay. So do jobs that are not done, with
the server that works on them, and what is of minutes: replies to repeated requests, rates.
Done again, what has changed since is brought up to what it is at the source; nothing is removed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fathom.errors import FathomError
from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.kept import CONVERSATIONS, JOBS, KEYS, UPLOADS, Kept

_DONE = "state IN ('done', 'failed')"
_KEYS = (
    "id, hash, name, workspace, scopes, created, expires, per_minute, tokens_per_day, usd_per_day"
)
_ACCOUNTS = "owner, day, tokens, nano, reserved_tokens, reserved_nano"


def move_kept(source: Index, target: Index, directory: Path) -> list[str]:
    """Copy what servers keep beside one index to another; done again it brings up what has changed.

    Args:
        source: The one.
        target: The other.
        directory: Of the first one, or of what is kept beside it on this machine.

    Returns:
        What was copied and what stays, in words.
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
    keys, known = _rows(source, "keys", _KEYS), _known(target, "keys", _KEYS)
    for row in keys:
        if (there := known.pop(row[:1], None)) is None:
            _insert(target, "keys", _KEYS, row)
        elif there != row:
            _update(target, "keys", _KEYS, row)
    _accounts(source, target)
    if keys:
        yield f"{len(keys)} keys, which open the copy too"
    if named := sorted({row[3] for row in keys} - {""}):
        yield f"keys are for the workspaces {', '.join(named)} too: copy each of them likewise"
    if known:  # as one that was revoked since
        named = [f"{row[0]} ({row[2]})" for row in known.values()]
        yield (
            f"keys that open the copy alone: {', '.join(sorted(named))}; `fathom keys revoke ID` "
            "there ends one"
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
    columns, turn = "id, title, created, updated", "conversation, question, trace_id, asked"
    rows = _rows(source, "conversations", columns)
    known = _known(target, "conversations", columns) if rows else {}
    for row in rows:
        if known.get(row[:1]) != row:  # its row comes last: so no turn is lacking or there twice
            target.ask("DELETE FROM conversations WHERE id = ?", (row[0],))
            target.ask("DELETE FROM turns WHERE conversation = ?", (row[0],))
            turns = source.ask(
                f"SELECT {turn} FROM turns WHERE conversation = ? ORDER BY no",  # noqa: S608 - constant
                (row[0],),
            )
            for each in turns:
                _insert(target, "turns", turn, each)
            _insert(target, "conversations", columns, row)
    if rows:
        yield f"{len(rows)} conversations"


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
) -> list[tuple[Any, ...]]:
    """Copy rows that have names of their own; gives them."""
    rows = _rows(source, table, columns, rest)
    for row in rows:
        _insert(target, table, columns, row)
    return rows


def _rows(database: Database, table: str, columns: str, rest: str = "") -> list[tuple[Any, ...]]:
    asked = f"SELECT {columns} FROM {table} {rest}"  # noqa: S608 - constants
    return database.ask(asked) if database.is_there() else []


def _known(
    database: Database, table: str, columns: str, names: int = 1
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """The rows by their first columns, which name them."""
    return {row[:names]: row for row in _rows(database, table, columns)}


def _update(database: Database, table: str, columns: str, row: Sequence[object]) -> None:
    name, *others = columns.split(", ")
    changes = ", ".join(f"{each} = ?" for each in others)
    database.ask(f"UPDATE {table} SET {changes} WHERE {name} = ?", (*row[1:], row[0]))  # noqa: S608 - constants


def _insert(database: Database, table: str, columns: str, row: Sequence[object]) -> None:
    marks = ", ".join("?" * len(row))
    database.ask(
        f"INSERT INTO {table}({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",  # noqa: S608 - constants
        row,
    )
