"""The server and the writing process, killed at random instants.

What was acknowledged is there, once; what was on its way is there wholly or not at all.
"""

import random
import subprocess
import sys
import threading
import time

import pytest
from tests.index.postgres.test_opening import open_workspace
from tests.postgres_server import Server

from fathom.errors import RunError
from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_writer
from fathom.testing import IndexConformance as _  # noqa: F401 - its asserts are rewritten
from fathom.testing.index_entries import IDENTITY, entry, put

KILLS = 30
CHANGED = 5
"""So many documents are put again and again."""
WRITES = """
import sys
from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_writer
from fathom.testing.index_entries import IDENTITY, entry, put

with open_writer(Address.from_url(sys.argv[1]), IDENTITY) as writer:
    first = int(sys.argv[2])
    print("opened", flush=True)
    for number in range(first, first + 1_000_000):
        name = f"again{number % 5}" if number % 2 else f"once{number}"
        texts = [f"part {part} of {number}" for part in range(3)]
        put(writer, entry(name, texts, [[1], [0, 1], [0, 0, 1]]))
        if number % 10 == 9:
            writer.forget([f"/c/once{number - 3}"])
        print(number, flush=True)
"""


@pytest.mark.slow
def test_a_killed_server_loses_and_doubles_nothing_acknowledged(postgres: Server) -> None:
    address, drawn = open_workspace(postgres, "kills"), random.Random(7)
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
            stored = [document.id for document in writer.list_documents()]
            assert len(stored) == len(set(stored)) == writer.status().chunks
            assert set(acknowledged) <= set(stored)
            assert len(stored) <= len(acknowledged) + kill + 1  # one may have been on its way
            assert writer.list_findings() == []


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_and_doubles_nothing_acknowledged(
    postgres: Server, kills: int
) -> None:
    address, drawn = open_workspace(postgres, f"writer-kills-{kills}"), random.Random(7)
    acknowledged: list[int] = []
    for kill in range(kills):
        acknowledged += write_until_killed(address, kill * 1_000_000, drawn)
        check_documents(address, acknowledged)
    assert acknowledged


def write_until_killed(address: Address, first: int, drawn: random.Random) -> list[int]:
    """Return the numbers that a writing process acknowledged before it was killed."""
    command = [sys.executable, "-c", WRITES, str(address), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"opened\n"
        threading.Timer(drawn.uniform(0.05, 1.0), child.kill).start()
        return [int(line) for line in child.stdout if line.endswith(b"\n")]


def check_documents(address: Address, acknowledged: list[int]) -> None:
    """Check that each document has the parts of one number: the last acknowledged one or a later
    one.
    """
    with open_writer(address, None) as writer:  # the next writer goes on
        assert writer.list_findings() == []
        stored = [document.id for document in writer.list_documents()]
        assert len(stored) == len(set(stored))
        assert writer.status().chunks == 3 * len(stored)
        for number in range(CHANGED):
            again = [
                number_ for number_ in acknowledged if number_ % 2 and number_ % CHANGED == number
            ]
            if again:
                assert get_number(writer.get_document(f"again{number}")) >= again[-1]
        once = {number for number in acknowledged if not number % 2}
        gone = {number - 3 for number in acknowledged if number % 10 == 9}
        names = set(stored)
        assert {f"once{number}" for number in once - gone - list_unsure(acknowledged)} <= names
        assert not {f"once{number}" for number in gone} & names
        put(writer, entry("checked", ["one"], [[1]]))
        assert writer.keyword_search("checked", k=1)
        writer.forget(["/c/checked"])


def list_unsure(acknowledged: list[int]) -> set[int]:
    """Return the numbers that the change in progress at each kill may have removed."""
    return {number - 2 for number in acknowledged if number % 10 == 8}


def get_number(document: object) -> int:
    """Return the number that all parts of a document share."""
    text = getattr(document, "text", "")
    numbers = {line.rpartition(" ")[2] for line in text.splitlines()}
    assert len(numbers) == 1
    return int(numbers.pop())
