"""The cache of chunk ids, over indexes that number different chunks alike."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from fathom.index.embedded.opening import open_writer
from fathom.index.embedded.schema import connect
from fathom.index.embedded.store import SqliteStore
from fathom.index.sql_reader import ChunkIds
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, put


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """Open two indexes whose chunk 1 has another id."""
    with ExitStack() as stack:
        opened = []
        for name, entries in (("a", (CATS, SHIPS)), ("b", (SHIPS, CATS))):
            with open_writer(tmp_path / name, IDENTITY) as writer:
                put(writer, *entries)
            connection = stack.enter_context(closing(connect(tmp_path / name, write=False)))
            opened.append(SqliteStore(connection))
        yield opened[0], opened[1]


@pytest.mark.parametrize("most", [1, 100])
def test_each_index_keeps_its_own_ids(stores: tuple[SqliteStore, SqliteStore], most: int) -> None:
    ids = ChunkIds(most)
    for store in (*stores, *stores):
        expected = store.look_up_ids([1, 2, 3])
        assert ids.look_up(store, [1, 2]) == {number: expected[number] for number in (1, 2)}
        assert ids.look_up(store, [3, 1]) == {number: expected[number] for number in (3, 1)}
    assert stores[0].look_up_ids([1]) != stores[1].look_up_ids([1])


def test_numbers_without_a_chunk_have_no_id(stores: tuple[SqliteStore, SqliteStore]) -> None:
    assert ChunkIds(10).look_up(stores[0], [99]) == {}


def test_known_ids_are_not_read_again(stores: tuple[SqliteStore, SqliteStore]) -> None:
    ids = ChunkIds(10)
    statements: list[str] = []
    expected = ids.look_up(stores[0], [1, 2, 3])
    stores[0].connection.set_trace_callback(statements.append)
    assert ids.look_up(stores[0], [2, 3, 1]) == expected
    assert not [statement for statement in statements if "FROM chunks" in statement]
