"""Traces and feedback on a server: visible from every machine, but only in their workspace."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.index.test_traces import create_workspace, make_feedback, make_trace, open_traces
from tests.postgres_server import Server
from typer.testing import CliRunner

from fathom.engine import Engine
from fathom.errors import RunError
from fathom.index.embedded.traces import FILE, EmbeddedTraces
from fathom.index.engines import locate_side_directory, switch_workspace
from fathom.index.postgres.address import Address
from fathom.index.postgres.connections import Connections, connect
from fathom.index.postgres.opening import open_reader
from fathom.index.postgres.schema import MIGRATIONS
from fathom.index.postgres.tables import (
    AUDIT_GUARDED,
    BACKENDS_GUARDED,
    DOORS_GUARDED,
    GONE_GUARDED,
    OBJECTS_GUARDED,
    OWNERS_GUARDED,
    RATES_GUARDED,
    RIGHTS_GUARDED,
    SERVED_GUARDED,
    TRACE_OWNERS_GUARDED,
)
from fathom.index.postgres.traces import has_traces
from fathom.index.postgres.workspace_tables import open_tables
from fathom.index.traces import MissingTraceError
from fathom.serving.cli.app import app

QUESTION = "How long is the notice period?"


def open_engine(url: str, disk: Path) -> Engine:
    """Open an engine on a machine whose disk is this folder."""
    return Engine.open(url, {"index.directory": str(disk), "offline": True})


@pytest.fixture
def url(postgres: Server, tmp_path: Path) -> str:
    """Return the URL of a workspace with a document about leave."""
    (tmp_path / "leave.md").write_text("# Leave\n\nThe notice period is three months.\n")
    workspace_url = switch_workspace(postgres.shared, f"t{os.urandom(6).hex()}")
    with open_engine(workspace_url, tmp_path / "first") as engine:
        engine.ingest(tmp_path / "leave.md")
    return workspace_url


def test_another_machine_lists_shows_and_replays_a_trace(url: str, tmp_path: Path) -> None:
    with (
        open_engine(url, tmp_path / "first") as first,
        open_engine(url, tmp_path / "second") as other,
    ):
        answer = first.ask(QUESTION)
        name = answer.trace_id or ""
        assert [trace.id for trace in other.traces.list()] == [name]
        assert other.trace(name[:8]).data == first.trace(name).data
        assert other.traces.answer(name).answer == answer.answer
        assert other.replay(name).same
        assert not (tmp_path / "second").exists()


def test_the_trace_of_a_run_is_the_same_bytes_on_every_engine(url: str, tmp_path: Path) -> None:
    with open_engine(url, tmp_path / "first") as first, Engine.open(tmp_path / "copied") as copied:
        first.ask(QUESTION)
        first.calibration.add_feedback(first.traces.list()[0].id, right=True)
        first.copy_to(copied)
        assert [trace.id for trace in copied.traces.list()] == [
            trace.id for trace in first.traces.list()
        ]
        name = copied.traces.list()[0].id
        assert copied.trace(name).data == first.trace(name).data
        assert copied.traces.store.list_feedback() == first.traces.store.list_feedback()
        assert copied.replay(name).same


def test_an_index_is_copied_to_a_server_with_traces_and_feedback(
    postgres: Server, tmp_path: Path
) -> None:
    (tmp_path / "leave.md").write_text("# Leave\n\nThe notice period is three months.\n")
    there = switch_workspace(postgres.shared, f"c{os.urandom(6).hex()}")
    with Engine.open(tmp_path / "own") as embedded, open_engine(there, tmp_path / "side") as other:
        embedded.ingest(tmp_path / "leave.md")
        name = embedded.ask(QUESTION).trace_id or ""
        embedded.calibration.add_feedback(name, right=True)
        embedded.copy_to(other)
        assert other.trace(name).data == embedded.trace(name).data
        assert other.traces.store.list_feedback() == embedded.traces.store.list_feedback()
        assert other.documents.remove(str(tmp_path / "leave.md")) == 1
        assert (other.traces.list(), other.traces.store.list_feedback()) == ((), ())


def test_a_verified_answer_is_reused_on_another_machine_while_its_document_stands(
    url: str, tmp_path: Path
) -> None:
    with (
        open_engine(url, tmp_path / "first") as first,
        open_engine(url, tmp_path / "second") as other,
    ):
        first.calibration.add_feedback(first.ask(QUESTION).trace_id or "", right=True)
        again = other.ask(QUESTION.upper())
        assert (again.phase, again.calibration) == ("verified", "a person")
        first.documents.remove(str(tmp_path / "leave.md"))
        assert (other.traces.list(), other.traces.store.list_feedback()) == ((), ())


def test_no_workspace_sees_traces_or_feedback_of_another_one(postgres: Server) -> None:
    stored = make_trace(1)
    with (
        open_traces(create_workspace(postgres)) as ours,
        open_traces(create_workspace(postgres)) as theirs,
    ):
        ours.put(stored)
        ours.put_feedback(make_feedback(1, stored.id))
        assert (theirs.list(), theirs.list_feedback()) == ((), ())
        with pytest.raises(MissingTraceError):
            theirs.delete(stored.id)
        theirs.put(stored)  # the same run may be known to two
        theirs.delete(stored.id)
        assert [trace.id for trace in ours.list()] == [stored.id]
        # Also whoever forgets to ask for his own gets no others.
        with theirs._tables.begin() as connection:
            for table in ("traces", "held", "feedback", "feedback_held"):
                assert connection.execute(f"SELECT * FROM fathom.{table}").fetchall() == []


def test_every_table_except_that_of_names_is_guarded(postgres: Server) -> None:
    create_workspace(postgres)
    with postgres.connect("d1") as connection:
        open_ones = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'fathom'::regnamespace "
            "AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)"
        ).fetchall()
    assert {row[0] for row in open_ones} == {"workspaces", "layout"}


def create_older_tables(url: str, version: int) -> None:
    """Create the tables of an older Fathom."""
    with connect(Address.from_url(url)) as connection:
        connection.execute("CREATE SCHEMA fathom")
        connection.execute("CREATE TABLE fathom.layout(version int PRIMARY KEY)")
        for number, statements in enumerate(MIGRATIONS[:version], start=1):
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO fathom.layout VALUES (%s)", (number,))


def test_older_databases_get_trace_tables_with_the_next_ingest(
    postgres: Server, tmp_path: Path
) -> None:
    url = postgres.open_database()
    create_older_tables(url, 1)
    connections = Connections(Address.from_url(url))
    assert not has_traces(connections)
    with pytest.raises(RunError, match=r"layout 1, this needs 2; `fathom ingest` brings it"):
        open_tables(connections, connections.address, min_layout=2)
    connections.close()
    (tmp_path / "leave.md").write_text("# Leave\n\nThe notice period is three months.\n")
    with open_engine(url, tmp_path / "disk") as engine:
        engine.ingest(tmp_path / "leave.md")
        assert engine.trace(engine.ask(QUESTION).trace_id or "").answer
    open_reader(Address.from_url(url)).close()


def test_an_older_index_answers_and_reports_why_traces_are_not_stored(
    postgres: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgres.open_database()
    (tmp_path / "leave.md").write_text("# Leave\n\nThe notice period is three months.\n")
    with open_engine(url, tmp_path / "disk") as engine:
        engine.ingest(tmp_path / "leave.md")
    served = (*OWNERS_GUARDED, *DOORS_GUARDED, *GONE_GUARDED, *RATES_GUARDED, *SERVED_GUARDED)
    tables = ("traces", "held", "swept", "feedback", "feedback_held")
    with postgres.connect(f"d{postgres.databases}") as connection:
        connection.execute("DELETE FROM fathom.layout WHERE version > 1")
        connection.execute("DROP POLICY viewer ON fathom.chunks")
        later = (
            *TRACE_OWNERS_GUARDED,
            *AUDIT_GUARDED,
            *BACKENDS_GUARDED,
            *OBJECTS_GUARDED,
            *RIGHTS_GUARDED,
        )
        for table in (*tables, *served, *later, "dropped"):
            connection.execute(f"DROP TABLE fathom.{table} CASCADE")
    with open_engine(url, tmp_path / "disk") as engine:
        answer = engine.ask(QUESTION)
        assert "three months" in answer.answer
        assert answer.trace_id is None
        assert "layout 1, this needs 2; `fathom ingest` brings it there" in caplog.text
        engine.ingest()
        assert engine.ask(QUESTION).trace_id


def test_commands_on_another_machine_list_show_and_replay(url: str, tmp_path: Path) -> None:
    with open_engine(url, tmp_path / "first") as engine:
        name = engine.ask(QUESTION).trace_id or ""
    place = ["--index", url, "--set", f"index.directory={tmp_path / 'second'}"]
    runner = CliRunner()
    for command in (["trace"], ["trace", name[:8]], ["replay", name[:8]]):
        done = runner.invoke(app, [*command, *place])
        assert done.exit_code == 0, done.output
        if len(command) == 1:
            assert name[:8] in done.output
    done = runner.invoke(app, ["doctor", *place])
    assert "sound" in next(line for line in done.output.splitlines() if "traces" in line)
    assert not (tmp_path / "second").exists()


def test_traces_on_the_machine_move_to_the_server(url: str, tmp_path: Path) -> None:
    stored, disk = make_trace(1), tmp_path / "third"
    side = locate_side_directory(url, disk)
    side.mkdir(parents=True)
    with EmbeddedTraces(side / FILE) as store:
        store.put(stored)
        store.put_feedback(make_feedback(1, stored.id))
    with open_engine(url, disk) as engine:
        assert engine.trace(stored.id).data == stored.data
        assert [feedback.trace_id for feedback in engine.traces.store.list_feedback()] == [
            stored.id
        ]
    assert list(side.iterdir()) == []
    with open_engine(url, tmp_path / "fourth") as engine:
        assert engine.trace(stored.id).data == stored.data


ASKER = """
import sys
from fathom.engine import Engine
with Engine.open(sys.argv[1], {"index.directory": sys.argv[2], "offline": True}) as engine:
    while True:
        print(engine.ask("How long is the notice period?").trace_id, flush=True)
"""


def test_a_returned_answer_has_its_trace_even_after_a_kill(
    postgres: Server, url: str, tmp_path: Path
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", ASKER, url, str(tmp_path / "child")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    try:
        answered = [child.stdout.readline().strip() for _ in range(5)]
    finally:
        child.send_signal(signal.SIGKILL)
        answered += child.stdout.read().split()
        child.stdout.close()
        child.wait(30)
    postgres.kill()
    postgres.start()
    with open_engine(url, tmp_path / "second") as engine:
        ids = [trace.id for trace in engine.traces.list(1_000)]
        assert len(answered) >= 5
        assert set(answered) <= set(ids)
        assert len(ids) <= len(answered) + 1  # one may have been on its way
        for name in ids:
            assert engine.trace(name).answer
