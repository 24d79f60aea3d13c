import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.postgres_server import Server

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.index.rights import ReadingRule
from fathom.serving.http.access import Caller
from fathom.serving.http.keys import Key
from fathom.serving.http.workspaces import MOST_UNUSED, Workspaces


def test_a_temporarily_unreadable_folder_ends_no_watch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spaces = Workspaces(Engine(parse_settings({"index.directory": str(tmp_path), "offline": True})))

    def fail() -> Sequence[str]:
        raise PermissionError(13, "Permission denied", "keys")

    with caplog.at_level(logging.WARNING):
        spaces.resume(fail)
    spaces.close()
    assert "the open jobs cannot be resumed: [Errno 13] Permission denied: 'keys'" in caplog.text


def test_engines_of_viewers_that_nobody_uses_are_closed_with_their_connections(
    postgres: Server, tmp_path: Path
) -> None:
    url = postgres.open_database()
    tree = {"index.url": url, "index.directory": str(tmp_path / "disk"), "offline": True}
    callers = [Caller(key=Key(id=str(number), name=f"u{number}")) for number in range(30)]
    readers = tuple(f"user:u{number}" for number in range(30))
    (tmp_path / "pier.md").write_text("# Pier\n\nThe pier is blue.\n")
    engine = Engine(parse_settings(tree))
    engine.ingest(tmp_path / "pier.md", rights=[ReadingRule("*", readers)])
    spaces = Workspaces(engine)
    used = spaces.get_workspace(callers[0])
    engines = [used.engine]
    for caller in callers[1:]:
        engines.append(spaces.get_workspace(caller).engine)
        assert len(engines[-1].search("pier", retriever="keyword")) == 1
    with postgres.connect(f"d{postgres.databases}", "postgres") as connection:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        ).fetchall()
    assert MOST_UNUSED < count < MOST_UNUSED + 8  # with those of the server itself
    assert spaces.get_workspace(callers[0]).engine is engines[0]  # in use all the time
    assert spaces.get_workspace(callers[-1]).engine is engines[-1]  # used last
    assert spaces.get_workspace(callers[1]).engine is not engines[1]
    spaces.close()
