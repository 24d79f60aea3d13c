"""What a server keeps beside an index goes along where that is copied.

Keys with what was spent today, conversations, and what became of jobs go. Files that were sent
stay, as their documents are known by the folder where they lay. So do jobs that are not done, with
the server that works on them, and what is of minutes: replies to repeated requests, rates.
Done again, what came since is brought too. What was done at the copy meanwhile stays: a turn that
was added, a key that was revoked or given less, a conversation that was removed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fathom.errors import FathomError
from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.serving.http.kept import (
    CONVERSATIONS,
    IS_CONVERSATION,
    IS_KEY,
    JOBS,
    KEYS,
    UPLOADS,
    Kept,
)
from fathom.serving.http.keys import COLUMNS

Row: TypeAlias = tuple[Any, ...]
_DONE = "state IN ('done', 'failed')"
_ACCOUNTS = "owner, day, tokens, nano, reserved_tokens, reserved_nano"
_TALK, _TURN = "id, title, created, updated", "conversation, question, trace_id, asked"
_COUNTED = f"{_TALK}, (SELECT count(*) FROM turns WHERE conversation = conversations.id)"  # noqa: S608 - constant


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
    keys, known = _rows(source, "keys", COLUMNS, f"WHERE {IS_KEY}"), _known(target, "keys", COLUMNS)
    _accounts(source, target)  # first: a key that opens the copy may spend nothing twice
    for row in keys:
        if row[:1] in known:
            _narrow(target, known[row[:1]], row)
        else:
            _insert(target, "keys", COLUMNS, row)
    if opening := [row for row in keys if _opens(known.get(row[:1], row))]:
        yield f"{len(opening)} keys, which open the copy too"
    if workspaces := sorted({row[3] for row in keys} - {""}):
        yield f"keys are for the workspaces {', '.join(workspaces)} too: copy each of them likewise"
    yield from _other_keys(keys, known)


def _other_keys(keys: Sequence[Row], known: Mapping[Row, Row]) -> Iterator[str]:
    """Of what was known at the copy that which is otherwise there, and stays so."""
    both = [(row, known[row[:1]]) for row in keys if row[:1] in known]
    here = {row[:1] for row in keys}
    others = {  # one that is there alone may have been revoked since
        "keys that open the copy alone, until `fathom keys revoke ID` there ends them": [
            there for name, there in known.items() if name not in here and _opens(there)
        ],
        "keys that were revoked at the copy, and stay so": [
            row for row, there in both if not _opens(there)
        ],
        "keys that may do less at the copy, and go on so": [
            row for row, there in both if _opens(there) and _narrower(there, row) != row
        ],
    }
    for told, named in others.items():
        if named:
            yield f"{told}: {', '.join(sorted(f'{row[0]} ({row[2]})' for row in named))}"


def _opens(key: Row) -> bool:
    return bool(key[1])


def _narrower(there: Row, row: Row) -> Row:
    """A key of the copy, as far as it may do at both places what it does."""
    scopes = " ".join(each for each in there[4].split() if each in row[4].split())
    both = zip(there[6:], row[6:], strict=True)
    limits = (min(pair, key=lambda limit: (limit is None, limit)) for pair in both)
    return (*there[:4], scopes, there[5], *limits)


def _narrow(target: Database, there: Row, row: Row) -> None:
    narrower = _narrower(there, row)
    if _opens(there) and narrower != there:
        target.ask(
            "UPDATE keys SET scopes = ?, expires = ?, per_minute = ?, tokens_per_day = ?, "  # noqa: S608 - constant
            f"usd_per_day = ? WHERE id = ? AND {IS_KEY}",
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
    rows = _rows(source, "conversations", _COUNTED, f"WHERE {IS_CONVERSATION}")
    known = _known(target, "conversations", _COUNTED) if rows else {}
    found = Counter(_fate(row, known.get(row[:1])) for row in rows)
    for row in rows:
        if _fate(row, known.get(row[:1])) == "brought":
            _bring(source, target, row)
    if there := len(rows) - found["removed"]:
        yield f"{there} conversations"
    if went_on := found["went on"]:
        yield f"{went_on} conversations went on at the copy, and stay as they are there"
    if removed := found["removed"]:
        yield f"{removed} conversations were removed at the copy, and stay so"


def _fate(row: Row, there: Row | None) -> Literal["brought", "same", "went on", "removed"]:
    """What is done about a conversation, as it is at the source and as it is at the copy."""
    if there is None:
        return "brought"
    if not there[3]:
        return "removed"
    if there[3] > row[3]:
        return "went on"
    return "same" if there == row else "brought"


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
    _insert(target, "conversations", _TALK, row[:4])
    target.ask(
        "UPDATE conversations SET title = CASE title WHEN '' THEN ? ELSE title END, updated = ? "  # noqa: S608 - constant
        f"WHERE id = ? AND {IS_CONVERSATION} AND updated < ?",
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


def _insert(database: Database, table: str, columns: str, row: Sequence[object]) -> None:
    marks = ", ".join("?" * len(row))
    database.ask(
        f"INSERT INTO {table}({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",  # noqa: S608 - constants
        row,
    )
