"""What a server keeps beside an index goes along where that is copied.

Keys with what was spent today, conversations, and what became of jobs go. Files that were sent
stay, as their documents are known by the folder where they lay. So do jobs that are not done, with
the server that works on them, and what is of minutes: replies to repeated requests, rates.
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
    """Copy what servers keep beside one index to another; done again it adds nothing twice.

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
    keys = _copied(source, target, "keys", _KEYS)
    _copied(source, target, "accounts", _ACCOUNTS)
    if keys:
        yield f"{len(keys)} keys, which open the copy too"
    if named := sorted({row[3] for row in keys} - {""}):
        yield f"keys are for the workspaces {', '.join(named)} too: copy each of them likewise"


def _conversations(source: Database, target: Database) -> Iterator[str]:
    columns, turn = "id, title, created, updated", "conversation, question, trace_id, asked"
    rows = _rows(source, "conversations", columns)
    known = {row[0] for row in _rows(target, "conversations", "id")} if rows else set()
    for row in rows:
        if row[0] not in known:  # its row comes last, so that no turn is lacking or there twice
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


def _insert(database: Database, table: str, columns: str, row: Sequence[object]) -> None:
    marks = ", ".join("?" * len(row))
    database.ask(
        f"INSERT INTO {table}({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",  # noqa: S608 - constants
        row,
    )
