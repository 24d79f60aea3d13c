"""The rate limits of keys: `fathom.serving.http.rates`, on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres_server import Server

from fathom.index.database import Database
from fathom.index.embedded.database import FileDatabase
from fathom.index.engines import locate_index
from fathom.serving.http.rates import Rates

TABLES = ("CREATE TABLE IF NOT EXISTS rates(key TEXT PRIMARY KEY, until REAL NOT NULL DEFAULT 0)",)


@pytest.fixture(params=["embedded", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "embedded":
        database: Database = FileDatabase(tmp_path / "keys.db", TABLES)
    else:
        server: Server = request.getfixturevalue("postgres")
        database = locate_index(server.open_database(), tmp_path).open_database("", ())
    yield database
    database.close()


def test_a_key_has_a_burst_and_then_a_steady_rate(database: Database) -> None:
    rates = Rates(database)
    assert [rates.take("a", 3) for _ in range(3)] == [0.0] * 3
    assert 0 < rates.take("a", 3) <= 20  # one is given back each 20 seconds
    assert Rates(database).take("b", 1) == 0.0
    assert 0 < Rates(database).take("b", 1) <= 60
    assert rates.take("c", 0) == 60.0

    database.execute("UPDATE rates SET until = until - 30 WHERE key = 'b'")  # half a minute later
    assert 0 < rates.take("b", 1) <= 30
    database.execute("UPDATE rates SET until = until - 30 WHERE key = 'b'")
    assert rates.take("b", 1) == 0.0


def test_a_wrong_clock_locks_nobody_out(database: Database) -> None:
    rates = Rates(database)
    assert rates.take("a", 2) == 0.0
    database.execute("UPDATE rates SET until = until + 3600")
    assert [rates.take("a", 2) > 0 for _ in range(3)] == [False, False, True]
