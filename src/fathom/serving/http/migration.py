"""The copying of the tables that a server stores beside an index, for copies of the index.

Keys with today's expenses, conversations, finished jobs and vector stores are copied. Uploaded
files are not, because the paths of their documents name the folder of the source. Nor are open
jobs, which belong to a running server, short-lived data (replies to repeated requests, rates), and
the audit log, which is about one server.
A repeated copy adds what is new at the source. It does not undo changes at the target, such as an
added turn, a revoked or restricted key, or a removed conversation.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from fathom.errors import FathomError
from fathom.index.database import Database
from fathom.index.engines import UPLOADS, Index
from fathom.serving.http.keys import KEY_COLUMNS, Keys
from fathom.serving.http.tables import (
    CONVERSATION_TABLES,
    JOB_TABLES,
    KEY_TABLES,
    OBJECT_TABLES,
    TableFile,
)

Row: TypeAlias = tuple[Any, ...]
_IS_DONE = "state IN ('done', 'failed')"
_ACCOUNTS = "owner, day, tokens, nano, reserved_tokens, reserved_nano"
_CONVERSATION, _TURN = "id, title, created, updated", "conversation, question, trace_id, asked"
_HOLDER = "id, name"
_OWNER, _JOB, _OBJECT = "id, owner", "id, state, data", "kind, parent, id, data"
_TURNS = "(SELECT count(*) FROM turns WHERE conversation = conversations.id)"
_COUNTED_CONVERSATION = f"{_CONVERSATION}, {_TURNS}"


def copy_server_tables(source: Index, target: Index, directory: Path) -> list[str]:
    """Copy the tables of servers beside one index to another index; a repeated copy adds new rows.

    Args:
        source: The index to copy from.
        target: The index to copy to.
        directory: The source's directory, or that of its companion data on this machine.

    Returns:
        Messages that say what was copied and what was not.
    """
    messages: list[str] = []
    try:
        for tables, copy in (
            (KEY_TABLES, _copy_keys),
            (CONVERSATION_TABLES, _copy_conversations),
            (JOB_TABLES, _copy_jobs),
            (OBJECT_TABLES, _copy_objects),
        ):
            messages += copy(*(_open_tables(index, tables) for index in (source, target)))
        messages += _report_uploads(source, directory / UPLOADS)
    except FathomError as error:
        messages.append(f"the remaining data of `fathom serve` was not copied: {error}")
    return messages


def _open_tables(index: Index, tables: TableFile) -> Database:
    return index.open_database(tables.file, tables.tables)


def _copy_keys(source: Database, target: Database) -> Iterator[str]:
    keys, existing = (
        _select_rows(source, "keys", KEY_COLUMNS),
        _index_rows(target, "keys", KEY_COLUMNS),
    )
    removed = _load_removed_ids(target)
    # Before the keys: a key that works at the copy must not spend its budget twice.
    _copy_accounts(source, target)
    valid = [row for row in keys if row[0] not in removed]
    is_closed = _close_door(source, target, has_keys=bool(valid))
    for row in valid:
        if row[:1] in existing:
            _restrict_key(target, existing[row[:1]], row)
        else:
            _insert_row(target, "keys", KEY_COLUMNS, row)
    if valid:
        yield f"{len(valid)} keys, which are valid at the copy too"
    if is_closed and not valid:
        yield "no key is left, so nobody can ask at the copy either; run `fathom keys list` there"
    if workspaces := sorted({row[3] for row in keys} - {""}):
        yield f"keys are for the workspaces {', '.join(workspaces)} too: copy each of them as well"
    source_ids = {row[:1] for row in keys}
    others = {  # a key that only the copy has may have been revoked here
        "keys that only the copy has; `fathom keys revoke ID` revokes them there": [
            target_row for name, target_row in existing.items() if name not in source_ids
        ],
        "keys that were revoked at the copy, and stay revoked": [
            row for row in keys if row[0] in removed
        ],
        "keys that may do less at the copy, and stay so limited": [
            row for row in valid if _intersect_keys(existing.get(row[:1], row), row) != row
        ],
    }
    for title, rows in others.items():
        if rows:
            yield f"{title}: {', '.join(sorted(f'{row[0]} ({row[2]})' for row in rows))}"


def _close_door(source: Database, target: Database, *, has_keys: bool) -> bool:
    """Close the door of the copy if the source is closed, and return whether it is closed.

    A door that was reopened at the copy stays open, unless a key is copied.
    """
    keys = Keys(target)
    if has_keys or (Keys(source).get_door() == "closed" and keys.get_door() == "new"):
        keys.close_door()
    return keys.get_door() == "closed"


def _intersect_keys(target_row: Row, source_row: Row) -> Row:
    """Return the copy's key with only the permissions that it has at both places."""
    scopes = " ".join(scope for scope in target_row[4].split() if scope in source_row[4].split())
    pairs = zip(target_row[6:], source_row[6:], strict=True)
    # `None` means no limit, so it sorts last.
    limits = (min(pair, key=lambda limit: (limit is None, limit)) for pair in pairs)
    return (*target_row[:4], scopes, target_row[5], *limits)


def _restrict_key(target: Database, target_row: Row, row: Row) -> None:
    restricted = _intersect_keys(target_row, row)
    if restricted != target_row:
        target.execute(
            "UPDATE keys SET scopes = ?, expires = ?, per_minute = ?, tokens_per_day = ?, "
            "usd_per_day = ? WHERE id = ?",
            (restricted[4], *restricted[6:], target_row[0]),
        )


def _copy_accounts(source: Database, target: Database) -> None:
    """Copy the accounts; keep the larger sum of a day, so that nothing is spent twice."""
    existing = _index_rows(target, "accounts", _ACCOUNTS, key_columns=2)
    for row in _select_rows(source, "accounts", _ACCOUNTS):
        if row[:2] not in existing:
            _insert_row(target, "accounts", _ACCOUNTS, row)
        elif existing[row[:2]] != row:
            for name, spent, reserved in (("tokens", *row[2::2]), ("nano", *row[3::2])):
                target.execute(
                    f"UPDATE accounts SET {name} = ?, reserved_{name} = ? WHERE owner = ? "  # noqa: S608 - constants
                    f"AND day = ? AND {name} + reserved_{name} < ?",
                    (spent, reserved, *row[:2], spent + reserved),
                )


def _copy_conversations(source: Database, target: Database) -> Iterator[str]:
    rows = _select_rows(source, "conversations", _COUNTED_CONVERSATION)
    existing, removed_ids = (
        (_index_rows(target, "conversations", _COUNTED_CONVERSATION), _load_removed_ids(target))
        if rows
        else ({}, ())
    )
    removed = [row for row in rows if row[0] in removed_ids]
    present = [row for row in rows if row[0] not in removed_ids]
    continued = [row for row in present if row[:1] in existing and existing[row[:1]][3] > row[3]]
    for row in present:
        if row not in continued and existing.get(row[:1]) != row:
            _copy_conversation(source, target, row, is_new=row[:1] not in existing)
    if present:
        yield f"{len(present)} conversations"
    if continued:
        yield f"{len(continued)} conversations were continued at the copy, and stay unchanged there"
    if removed:
        yield f"{len(removed)} conversations were removed at the copy, and stay removed"


def _copy_conversation(source: Database, target: Database, row: Row, *, is_new: bool) -> None:
    """Copy missing turns first, then their conversation, so that a kill loses no turn."""
    name, title, _, updated, _ = row
    holders, copied = (
        _select_rows(database, "holders", _HOLDER, "WHERE id = ?", name)
        for database in (source, target)
    )
    if copied and not holders:  # somebody else asked in it, and those turns are copied now
        target.execute("DELETE FROM holders WHERE id = ?", (name,))
    for holder in holders if is_new else ():
        _insert_row(target, "holders", _HOLDER, holder)
    source_turns, target_turns = (
        _select_rows(database, "turns", _TURN, "WHERE conversation = ? ORDER BY no", name)
        for database in (source, target)
    )
    for turn in source_turns:
        if turn not in target_turns:
            _insert_row(target, "turns", _TURN, turn)
    for owner in _select_rows(source, "owners", _OWNER, "WHERE id = ?", name):
        _insert_row(target, "owners", _OWNER, owner)
    _insert_row(target, "conversations", _CONVERSATION, row[:4])
    target.execute(
        "UPDATE conversations SET title = CASE title WHEN '' THEN ? ELSE title END, updated = ? "
        "WHERE id = ? AND updated < ?",
        (title, updated, name, updated),
    )


def _copy_jobs(source: Database, target: Database) -> Iterator[str]:
    rows = _select_rows(source, "jobs", _JOB, f"WHERE {_IS_DONE} ORDER BY no")
    for row in rows:
        _insert_row(target, "jobs", _JOB, row)
    if rows:
        yield f"{len(rows)} jobs"
    if open_rows := _select_rows(source, "jobs", "id", f"WHERE NOT {_IS_DONE}"):
        yield f"{len(open_rows)} jobs are not done and stay with the server that works on them"


def _copy_objects(source: Database, target: Database) -> Iterator[str]:
    # Vector stores come last, after their members, so that a kill loses no member.
    # Sessions stay with the server that signed their users on.
    rows = _select_rows(
        source,
        "objects",
        _OBJECT,
        "WHERE kind NOT IN ('session', 'sign_on') ORDER BY kind, no",
    )
    removed = _load_removed_ids(target) if rows else frozenset()
    present = [row for row in rows if removed.isdisjoint({row[1], row[2], f"{row[1]}{row[2]}"})]
    for row in present:
        _insert_row(target, "objects", _OBJECT, row)
    if count := sum(row[0] == "vector_store" for row in present):
        yield f"{count} vector stores"


def _report_uploads(source: Index, folder: Path) -> Iterator[str]:
    uploads = source.open_uploads()
    names = (
        [str(file) for file in folder.rglob("*") if file.is_file()]
        if uploads is None
        else [file.name for file in uploads.list_uploads()]
    )
    if names:
        yield (
            f"{len(names)} uploaded files stay at {source}: their documents are copied; upload "
            "the files to a server of the copy before you delete them"
        )


def _select_rows(
    database: Database, table: str, columns: str, rest: str = "", *values: object
) -> list[Row]:
    statement = f"SELECT {columns} FROM {table} {rest}"  # noqa: S608 - constants
    return database.execute(statement, values) if database.is_there() else []


def _index_rows(
    database: Database, table: str, columns: str, key_columns: int = 1
) -> dict[Row, Row]:
    """Return the rows of a table by their first columns, which identify them."""
    return {row[:key_columns]: row for row in _select_rows(database, table, columns)}


def _load_removed_ids(database: Database) -> frozenset[str]:
    """Return the ids of revoked keys and of removed conversations or objects."""
    return frozenset(name for (name,) in _select_rows(database, "gone", "id"))


def _insert_row(database: Database, table: str, columns: str, row: Sequence[object]) -> None:
    marks = ", ".join("?" * len(row))
    database.execute(
        f"INSERT INTO {table}({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",  # noqa: S608 - constants
        row,
    )
