"""Files of SQLite that several connections and processes use at the same time."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.factories import drop_privileges, open_public_folder

from fathom.errors import RunError
from fathom.index.embedded.database import FileDatabase, create_private_file
from fathom.index.embedded.schema import FILE, connect
from fathom.ingest.sources.store import SourceStore

RUN_IN_ANOTHER_PROCESS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0)
try:
    connection.execute(sys.argv[2])
    connection.commit()
except sqlite3.OperationalError as error:
    print(error)
connection.close()
"""


def run_elsewhere(file: Path, statement: str) -> str:
    """Run a statement in a process that then closes the file, and return its error."""
    command = [sys.executable, "-c", RUN_IN_ANOTHER_PROCESS, str(file), statement]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_another_process_leaves_the_log_of_an_index_that_is_open(tmp_path: Path) -> None:
    with closing(connect(tmp_path, write=True)) as first:
        first.execute("CREATE TABLE numbers(n INTEGER)")
        connect(tmp_path, write=True).close()  # as each change of a running server opens the file
        with closing(connect(tmp_path, write=True)) as second:
            assert run_elsewhere(tmp_path / FILE, "INSERT INTO numbers VALUES (1)") == ""
            second.execute("INSERT INTO numbers VALUES (2)")
            first.execute("INSERT INTO numbers VALUES (3)")
            assert run_elsewhere(tmp_path / FILE, "INSERT INTO numbers VALUES (4)") == ""
            rows = first.execute("SELECT n FROM numbers ORDER BY n").fetchall()
    assert rows == [(1,), (2,), (3,), (4,)]
    with closing(sqlite3.connect(tmp_path / FILE)) as later:
        assert later.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert later.execute("SELECT n FROM numbers ORDER BY n").fetchall() == rows


@pytest.mark.parametrize("opens_tables", [True, False])
def test_opening_a_file_again_keeps_the_locks_of_this_process(
    tmp_path: Path, *, opens_tables: bool
) -> None:
    file = tmp_path / "jobs.db"
    create_private_file(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE jobs(n INTEGER)")
        writer.execute("BEGIN IMMEDIATE")
        if opens_tables:
            with closing(FileDatabase(file, ())) as other:
                assert other.execute("SELECT * FROM jobs") == []
        else:
            create_private_file(file)
        assert run_elsewhere(file, "INSERT INTO jobs VALUES (1)") == "database is locked"
        writer.execute("COMMIT")


def test_only_its_owner_may_read_a_new_file_also_behind_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "file.db")
    for _ in range(2):
        create_private_file(link)
        assert (tmp_path / "file.db").stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["keys.db", "sources.db"])
def test_the_error_of_a_folder_that_cannot_be_written_names_the_file_once(name: str) -> None:
    with open_public_folder() as folder, drop_privileges(folder):
        folder.chmod(0o555)
        table = FileDatabase(folder / name, ["CREATE TABLE keys(id TEXT)"])
        use = table.execute if name == "keys.db" else SourceStore(folder).remove
        with pytest.raises(RunError) as caught:
            use("SELECT id FROM keys")
        folder.chmod(0o755)
    assert str(caught.value) == (
        f"{folder / name}: Permission denied; check free space and permissions"
    )
