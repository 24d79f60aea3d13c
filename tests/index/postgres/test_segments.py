"""Segments of words: merged in parallel to writers and readers, and by a process that is killed."""

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
from tests.index.postgres.test_opening import open_workspace
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


def list_sizes(writer: PostgresWriter) -> list[int]:
    """Return the sizes of the segments, ascending."""
    with writer._connections.borrow() as connection:
        rows = connection.execute(
            "SELECT sum(octet_length(numbers)) AS size FROM fathom.postings WHERE index_no = %s "
            "GROUP BY segment ORDER BY size",
            (writer._number,),
        ).fetchall()
    return [row[0] for row in rows]


@contextmanager
def block_merges(postgres: Server) -> Iterator[None]:
    """Let merges wait until the end of the block."""
    with postgres.connect("d1", "postgres") as holder, holder.transaction():
        holder.execute("SELECT FROM fathom.postings FOR UPDATE")
        yield


def is_merging(writer: PostgresWriter) -> bool:
    thread = writer._backend._merging._thread  # type: ignore[attr-defined]
    return thread is not None and thread.is_alive()


def test_writers_and_readers_wait_for_no_merge(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = open_workspace(postgres, "merging")
    with open_writer(address, IDENTITY) as writer, open_writer(address, None) as other:
        put(writer, CATS)
        put(writer, SHIPS)
        monkeypatch.setattr(postings, "MERGE_INTERVAL", 1)
        with block_merges(postgres):
            put(writer, entry("dogs", ["Dogs sleep at sea."], [[1]]))  # this is acknowledged
            monkeypatch.setattr(postings, "MERGE_INTERVAL", 1_000_000)
            assert is_merging(writer)
            put(other, entry("fish", ["Fish sleep at sea."], [[1]]))
            hits = writer.keyword_search("sleep sea", k=9)
            assert {"dogs#0", "fish#0"} <= {match.chunk_id for match in hits}
            before = list_sizes(writer)
            assert is_merging(writer)
            assert len(before) == 4
        writer.optimize()
        assert sum(list_sizes(writer)) == sum(before)
        assert len(list_sizes(writer)) < 4
        assert writer.keyword_search("sleep sea", k=9) == hits
        assert writer.list_findings() == []


def test_an_older_snapshot_sees_what_was_merged_and_forgotten(postgres: Server) -> None:
    address = open_workspace(postgres, "merged-older")
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


def test_text_forgotten_during_a_merge_is_removed_from_it(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_writer(open_workspace(postgres, "merge-forget"), IDENTITY) as writer:
        put(writer, CATS)
        monkeypatch.setattr(postings, "MERGE_INTERVAL", 1)
        forgetting = threading.Thread(target=writer.forget, args=(["/c/cats"],))
        with block_merges(postgres):
            put(writer, SHIPS)
            assert is_merging(writer)
            forgetting.start()
            forgetting.join(0.3)
            assert forgetting.is_alive()
        forgetting.join(30)
        assert writer.list_findings() == []
        assert [m.chunk_id for m in writer.keyword_search("sleep sea", k=9)] == ["ships#0"]
        assert writer.count_chunks_per_word(["sleep"]) == [0]


def test_rows_are_rewritten_in_small_groups(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "BATCH_ROWS", 7)
    written: list[int] = []
    many = psycopg.Cursor.executemany

    def count_rows(
        cursor: psycopg.Cursor[TupleRow], query: str, rows: Sequence[tuple[object, ...]]
    ) -> None:
        if query.startswith("UPDATE fathom.postings"):
            written.append(len(rows))
        many(cursor, query, rows)

    monkeypatch.setattr(psycopg.Cursor, "executemany", count_rows)
    texts = [f"common word{number}" for number in range(300)]
    with open_writer(open_workspace(postgres, "purge"), IDENTITY) as writer:
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
    with open_writer(open_workspace(postgres, "segments"), IDENTITY) as writer:
        put(writer, entry("tiny", ["one"], [[1]]))  # is in no one's way
        for number in range(40):
            texts = [f"words of part {part}" for part in range(3)]
            put(writer, entry(f"d{number}", texts, [[1], [1], [1]]))
        writer.optimize()
        segment_sizes = list_sizes(writer)
        assert len(segment_sizes) < 5
        for at, size in enumerate(segment_sizes[1:], start=1):
            assert size >= 2 * sum(segment_sizes[:at])
        assert writer.list_findings() == []
        before = segment_sizes
        writer.optimize()
        assert list_sizes(writer) == before


def test_words_that_differ_from_the_chunks_are_detected(postgres: Server) -> None:
    with open_writer(open_workspace(postgres, "miscounted"), IDENTITY) as writer:
        put(writer, CATS, SHIPS)
        assert writer.list_findings() == []
        with writer._connections.borrow() as connection:
            connection.execute(
                "DELETE FROM fathom.postings WHERE index_no = %s AND term LIKE 'sleep%%'",
                (writer._number,),
            )
        [finding] = writer.list_findings()
        assert finding.startswith(
            "of 1 words the postings are not those of the chunks, as of 'sleep'"
        )


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_a_writer_killed_during_a_merge_leaves_every_word_once(
    postgres: Server, kills: int
) -> None:
    address, drawn = open_workspace(postgres, f"merge-kills-{kills}"), random.Random(11)
    acknowledged: list[int] = []
    for kill in range(kills):
        acknowledged += write_until_killed(address, kill * 1_000_000, drawn)
        with open_writer(address, None) as writer:
            assert writer.list_findings() == []
            names = {document.id for document in writer.list_documents()}
            gone = {number - 2 for number in acknowledged if number % 5 == 4}
            sure = (
                set(acknowledged)
                - gone
                - {number - 1 for number in acknowledged if number % 5 == 3}
            )
            assert {f"d{number}" for number in sure} <= names
            assert not {f"d{number}" for number in gone} & names
            hits = writer.keyword_search("common words", k=1_000_000)
            assert len(hits) == len({match.chunk_id for match in hits}) == 2 * len(names)
    assert acknowledged


def write_until_killed(address: Address, first: int, drawn: random.Random) -> list[int]:
    """Return the numbers that a writing process acknowledged before it was killed."""
    command = [sys.executable, "-c", WRITES, str(address), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"opened\n"
        time.sleep(drawn.uniform(0.05, 1.0))
        child.kill()
        return [int(line) for line in child.stdout if line.endswith(b"\n")]
