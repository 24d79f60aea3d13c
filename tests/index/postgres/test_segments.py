"""Segments of words: merged beside whoever writes and asks, also by one who is killed meanwhile."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.rows import TupleRow
from tests.index.postgres.test_opening import workspace
from tests.postgres_server import Server

from fathom.index.postgres import postings, segments
from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_reader, open_writer
from fathom.index.postgres.writer import PostgresWriter
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, entry, put

KILLS = 30
WRITES = """
import sys
from fathom.index.postgres import postings
from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_writer
from fathom.testing.index_entries import IDENTITY, entry, put

postings.MERGE_INTERVAL = 1
with open_writer(Address.from_url(sys.argv[1]), IDENTITY) as writer:
    first = int(sys.argv[2])
    print("opened", flush=True)
    for number in range(first, first + 1_000_000):
        put(writer, entry(f"d{number}", [f"common words of {number}"] * 2, [[1], [0, 1]]))
        if number % 5 == 4:
            writer.forget([f"/c/d{number - 2}"])
        print(number, flush=True)
"""


def sizes(writer: PostgresWriter) -> list[int]:
    """Of the segments, ascending."""
    with writer._connections.borrow() as connection:
        rows = connection.execute(
            "SELECT sum(octet_length(numbers)) AS size FROM fathom.postings WHERE index_no = %s "
            "GROUP BY segment ORDER BY size",
            (writer._number,),
        ).fetchall()
    return [row[0] for row in rows]


@contextmanager
def merges_held_up(postgres: Server) -> Iterator[None]:
    """Whoever merges waits for the end of the block."""
    with postgres.connect("d1", "postgres") as holder, holder.transaction():
        holder.execute("SELECT FROM fathom.postings FOR UPDATE")
        yield


def is_merging(writer: PostgresWriter) -> bool:
    thread = writer._backend._merging._thread  # type: ignore[attr-defined]
    return thread is not None and thread.is_alive()


def test_whoever_writes_or_asks_waits_for_no_merge(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = workspace(postgres, "merging")
    with open_writer(address, IDENTITY) as writer, open_writer(address, None) as other:
        put(writer, CATS)
        put(writer, SHIPS)
        monkeypatch.setattr(postings, "MERGE_INTERVAL", 1)
        with merges_held_up(postgres):
            put(writer, entry("dogs", ["Dogs sleep at sea."], [[1]]))  # this is acknowledged
            monkeypatch.setattr(postings, "MERGE_INTERVAL", 1_000_000)
            assert is_merging(writer)
            put(other, entry("fish", ["Fish sleep at sea."], [[1]]))
            hits = writer.keyword_search("sleep sea", k=9)
            assert {"dogs#0", "fish#0"} <= {match.chunk_id for match in hits}
            before = sizes(writer)
            assert is_merging(writer)
            assert len(before) == 4
        writer.optimize()
        assert sum(sizes(writer)) == sum(before)
        assert len(sizes(writer)) < 4
        assert writer.keyword_search("sleep sea", k=9) == hits
        assert writer.list_findings() == []


def test_whose_state_is_older_sees_what_was_merged_and_forgotten(postgres: Server) -> None:
    address = workspace(postgres, "merged-older")
    with open_writer(address, IDENTITY) as writer, open_reader(address) as reader:
        put(writer, CATS)
        put(writer, SHIPS)
        with reader.snapshot():
            reader.get_revision()
            writer.optimize()
            writer.forget(["/c/cats"])
            # Nothing is remembered of these words yet.
            hits = reader.keyword_search("sleep sea", k=9)
            assert {match.chunk_id.partition("#")[0] for match in hits} == {"cats", "ships"}
        assert {m.chunk_id for m in reader.keyword_search("sleep sea", k=9)} == {"ships#0"}


def test_what_is_forgotten_during_a_merge_is_gone_from_it(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_writer(workspace(postgres, "merge-forget"), IDENTITY) as writer:
        put(writer, CATS)
        monkeypatch.setattr(postings, "MERGE_INTERVAL", 1)
        forgetting = threading.Thread(target=writer.forget, args=(["/c/cats"],))
        with merges_held_up(postgres):
            put(writer, SHIPS)
            assert is_merging(writer)
            forgetting.start()
            forgetting.join(0.3)
            assert forgetting.is_alive()
        forgetting.join(30)
        assert writer.list_findings() == []
        assert [m.chunk_id for m in writer.keyword_search("sleep sea", k=9)] == ["ships#0"]
        assert writer.count_chunks_per_word(["sleep"]) == [0]


def test_rows_are_written_anew_a_few_at_a_time(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "BATCH_ROWS", 7)
    written: list[int] = []
    many = psycopg.Cursor.executemany

    def counted(
        cursor: psycopg.Cursor[TupleRow], query: str, rows: Sequence[tuple[object, ...]]
    ) -> None:
        if query.startswith("UPDATE fathom.postings"):
            written.append(len(rows))
        many(cursor, query, rows)

    monkeypatch.setattr(psycopg.Cursor, "executemany", counted)
    texts = [f"common word{number}" for number in range(300)]
    with open_writer(workspace(postgres, "purge"), IDENTITY) as writer:
        put(writer, entry("long", texts, [[1]] * 300), entry("other", texts, [[1]] * 300))
        writer.forget(["/c/long"])
        assert writer.list_findings() == []
        assert len(writer.keyword_search("common", k=999)) == 300
        assert {m.chunk_id for m in writer.keyword_search("word7", k=9)} == {"other#7"}
    assert max(written) == 7
    assert sum(written) > 300


def test_segments_stay_few_and_each_is_twice_as_large_as_all_below(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "MERGE_INTERVAL", 4)
    with open_writer(workspace(postgres, "segments"), IDENTITY) as writer:
        put(writer, entry("tiny", ["one"], [[1]]))  # is in no one's way
        for number in range(40):
            texts = [f"words of part {part}" for part in range(3)]
            put(writer, entry(f"d{number}", texts, [[1], [1], [1]]))
        writer.optimize()
        found = sizes(writer)
        assert len(found) < 5
        for at, size in enumerate(found[1:], start=1):
            assert size >= 2 * sum(found[:at])
        assert writer.list_findings() == []
        before = found
        writer.optimize()
        assert sizes(writer) == before


def test_words_that_are_not_those_of_the_chunks_are_noticed(postgres: Server) -> None:
    with open_writer(workspace(postgres, "miscounted"), IDENTITY) as writer:
        put(writer, CATS, SHIPS)
        assert writer.list_findings() == []
        with writer._connections.borrow() as connection:
            connection.execute(
                "DELETE FROM fathom.postings WHERE index_no = %s AND term LIKE 'sleep%%'",
                (writer._number,),
            )
        [told] = writer.list_findings()
        assert told.startswith("of 1 words the postings are not those of the chunks, as of 'sleep'")


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_killed_while_it_merges_a_writer_leaves_every_word_once(
    postgres: Server, kills: int
) -> None:
    address, drawn = workspace(postgres, f"merge-kills-{kills}"), random.Random(11)
    told: list[int] = []
    for kill in range(kills):
        told += told_until_killed(address, kill * 1_000_000, drawn)
        with open_writer(address, None) as writer:
            assert writer.list_findings() == []
            names = {document.id for document in writer.list_documents()}
            gone = {each - 2 for each in told if each % 5 == 4}
            sure = set(told) - gone - {each - 1 for each in told if each % 5 == 3}
            assert {f"d{each}" for each in sure} <= names
            assert not {f"d{each}" for each in gone} & names
            hits = writer.keyword_search("common words", k=1_000_000)
            assert len(hits) == len({match.chunk_id for match in hits}) == 2 * len(names)
    assert told


def told_until_killed(address: Address, first: int, drawn: random.Random) -> list[int]:
    """The numbers that a process that writes has acknowledged when it is killed."""
    given = [sys.executable, "-c", WRITES, str(address), str(first)]
    with subprocess.Popen(given, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"opened\n"
        time.sleep(drawn.uniform(0.05, 1.0))
        child.kill()
        return [int(line) for line in child.stdout if line.endswith(b"\n")]
