"""The stored lines of the audit log, on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.postgres_server import Server

from fathom.errors import UsageError
from fathom.index.database import Database
from fathom.index.engines import EmbeddedIndex, locate_index
from fathom.redaction import SECRETS
from fathom.serving.http.audit_log import (
    BATCH,
    AuditLine,
    AuditLog,
    AuditQuery,
    Shown,
    ShownPlace,
    collect_shown,
    format_instant,
    parse_since,
)
from fathom.serving.http.tables import AUDIT_TABLES

NOW = format_instant(datetime.now(UTC))
LINE = AuditLine(
    requested=NOW,
    key="3d066515",
    name="ana",
    groups=("hr", "staff"),
    workspace="law",
    route="POST /api/v1/ask",
    asked={"question": "Who pays?"},
    status=200,
    shown=Shown(("t1",), (ShownPlace("d1", 3, 9), ShownPlace("d2"))),
)


@pytest.fixture(params=["embedded", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "embedded":
        index = EmbeddedIndex(tmp_path)
        database = index.open_database(AUDIT_TABLES.file, AUDIT_TABLES.tables)
    else:
        server: Server = request.getfixturevalue("postgres")
        database = locate_index(server.open_database(), tmp_path).open_database("", ())
    yield database
    database.close()


def test_lines_are_listed_as_they_were_stored_and_chosen_by_key_time_and_workspace(
    database: Database,
) -> None:
    log = AuditLog(database, days=30)
    number = log.add(LINE)
    # What no database stores as it is, and no terminal prints.
    odd = {"question": "half \ud800 and \0"}
    other = replace(LINE, key="", name="", groups=(), workspace="", shown=Shown(), asked=odd)
    log.add(other)
    log.add_shown(number, Shown(("t2",), (ShownPlace("d1", 3, 9), ShownPlace("d3"))))
    whole = Shown(("t1", "t2"), (*LINE.shown.places, ShownPlace("d3")))
    first = replace(LINE, shown=whole)
    assert list(log.list_lines()) == [first, other]
    assert other.to_json()["asked"] == {"question": "half \ufffd and \ufffd"}
    for query in (AuditQuery(key="ana"), AuditQuery(key="3d066515"), AuditQuery(workspace="law")):
        assert list(log.list_lines(query)) == [first]
    assert list(log.list_lines(AuditQuery(workspace=""))) == [other]
    later = format_instant(datetime.now(UTC) + timedelta(days=1))
    assert list(log.list_lines(AuditQuery(since=later))) == []
    log.close()


def test_old_lines_go_after_the_days_for_which_they_are_stored(database: Database) -> None:
    old = replace(LINE, requested=format_instant(datetime.now(UTC) - timedelta(days=31)))
    reading = AuditLog(database)
    reading.add_shown(reading.add(old), Shown(("t9",)))
    reading.add(LINE)
    assert len([*reading.list_lines()]) == 2  # a log that is only read removes nothing
    log = AuditLog(database, days=30)
    log.add(LINE)
    assert list(log.list_lines()) == [LINE, LINE]
    assert database.execute("SELECT count(*) FROM audit_shown") == [(0,)]


def test_more_lines_than_are_read_at_once_are_listed_in_order(database: Database) -> None:
    log = AuditLog(database, days=1)
    log.add(LINE)
    database.execute(
        "INSERT INTO audit(requested, key, name, groups, workspace, route, asked, status, shown) "
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers "
        f"WHERE n < {BATCH + 5}) SELECT requested, key, name, groups, workspace, route, "
        "asked, status, shown FROM audit, numbers"
    )
    assert list(log.list_lines()) == [LINE] * (BATCH + 6)


def test_lines_are_listed_by_the_time_of_their_requests(database: Database) -> None:
    log = AuditLog(database, days=1)
    now = datetime.now(UTC)
    times = [format_instant(now + timedelta(seconds=second)) for second in range(3)]
    # The line of a request that takes long is stored after those of later requests.
    for second in (1, 2, 0):
        log.add(replace(LINE, requested=times[second]))
    assert [line.requested for line in log.list_lines()] == times
    rest = log.list_lines(AuditQuery(since=times[1]))
    assert [line.requested for line in rest] == times[1:]


def test_secrets_of_the_process_are_not_stored(tmp_path: Path) -> None:
    SECRETS.add("sk-Audit-4711-x")
    index = EmbeddedIndex(tmp_path)
    log = AuditLog(index.open_database(AUDIT_TABLES.file, AUDIT_TABLES.tables), days=1)
    log.add(replace(LINE, asked={"question": "Is sk-Audit-4711-x the key?"}))
    log.close()
    assert b"4711" not in (tmp_path / AUDIT_TABLES.file).read_bytes()
    assert (tmp_path / AUDIT_TABLES.file).stat().st_mode & 0o077 == 0


def test_times_are_read_in_utc_and_anything_else_is_refused() -> None:
    assert parse_since("2026-11-27") == "2026-11-27T00:00:00.000000+00:00"
    assert parse_since("2026-11-27T08:30+02:00") == "2026-11-27T06:30:00.000000+00:00"
    assert parse_since("") == ""
    with pytest.raises(UsageError, match=r"--since 'yesterday': give a date or a time"):
        parse_since("yesterday")


def test_places_are_found_in_all_shapes_that_the_server_sends() -> None:
    value = {
        "trace_id": "t1",
        "citations": [{"document": "d1", "start": 3, "end": 9}, {"document": "d1", "start": 3}],
        "events": [{"chunk": {"document_id": "d2", "span": {"start": 0, "end": 4}}}],
        "documents": [{"id": "d3", "path": "c.md"}],
        "contents": [{"uri": "fathom://documents/d4/outline", "text": "..."}],
        "data": [{"file_id": "file-5", "filename": "e.md"}, {"id": "no document"}, None, 7],
    }
    shown = collect_shown(value)
    assert shown.answers == ("t1",)
    assert {place.document for place in shown.places} == {"d1", "d2", "d3", "d4", "file-5"}
    assert ShownPlace("d1", 3, 9) in shown.places
    assert ShownPlace("d2", 0, 4) in shown.places
    assert not collect_shown(None)
