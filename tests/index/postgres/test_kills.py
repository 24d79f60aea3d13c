import random
import threading
import time

import pytest
from tests.index.postgres.test_opening import workspace
from tests.postgres_server import Server

from fathom.errors import RunError
from fathom.index.postgres.opening import open_writer
from fathom.testing import IndexConformance as _  # noqa: F401 - its asserts are rewritten
from fathom.testing.index_entries import IDENTITY, entry, put

KILLS = 30


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled_by_a_killed_server(postgres: Server) -> None:
    address, drawn = workspace(postgres, "kills"), random.Random(7)
    acknowledged: list[str] = []
    for kill in range(KILLS):
        with open_writer(address, IDENTITY) as writer:

            def write(kill: int = kill) -> None:
                for number in range(10_000):
                    name = f"k{kill}n{number}"
                    try:
                        put(writer, entry(name, [f"words of {name}"], [[1]]))
                    except RunError:
                        return
                    acknowledged.append(name)

            thread = threading.Thread(target=write)
            thread.start()
            time.sleep(drawn.uniform(0.05, 0.6))
            postgres.kill()
            thread.join(60)
            postgres.start()
            stored = [one.id for one in writer.documents()]
            assert len(stored) == len(set(stored)) == writer.status().chunks
            assert set(acknowledged) <= set(stored)
            assert len(stored) <= len(acknowledged) + kill + 1  # one may have been on its way
            assert writer.findings() == []
