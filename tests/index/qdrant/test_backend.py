"""PostgreSQL stays the truth: what a cluster lacks is noticed, told, and brought back.

Covers fathom.index.qdrant.backend and fathom.index.qdrant.records beside the suite of conformance.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra qdrant")
from tests.postgres_server import Server
from tests.qdrant_server import QUICK, EdgeServer

from fathom.engine import Engine
from fathom.errors import IndexCorrupt, IndexMismatch, RunError, UsageError
from fathom.index.copying import copy_index
from fathom.index.embedded.opening import open_reader as open_embedded
from fathom.index.embedded.opening import open_writer as write_embedded
from fathom.index.engines import (
    PostgresIndex,
    locate_index,
    locate_side_directory,
    switch_workspace,
)
from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_reader, open_writer, rebuild
from fathom.index.postgres.reader import PostgresReader
from fathom.index.postgres.writer import PostgresWriter
from fathom.index.qdrant.address import parse_qdrant_address
from fathom.index.qdrant.backend import QdrantBackend
from fathom.index.qdrant.client import QdrantClient
from fathom.serving.cli.doctor import _check_index
from fathom.testing import IndexConformance as _  # noqa: F401 - its asserts are rewritten
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, axis, entry, put

Start = Callable[..., EdgeServer]
Asked = Callable[[], object]


@dataclass
class Place:
    """A workspace on PostgreSQL and a Qdrant server of its own."""

    address: Address
    qdrant: EdgeServer

    def legs(self, grace_s: float = 600.0) -> QdrantBackend:
        client = QdrantClient(parse_qdrant_address(self.qdrant.url), policy=QUICK)
        return QdrantBackend(client, grace_s=grace_s)

    def describe_writer(self, grace_s: float = 600.0) -> PostgresWriter:
        return open_writer(self.address, IDENTITY, self.legs(grace_s))

    def reader(self) -> PostgresReader:
        return open_reader(self.address, None, self.legs())

    def points(self) -> dict[str, int]:
        """How many points of whatever tenant and mark each collection has."""
        with QdrantClient(parse_qdrant_address(self.qdrant.url), policy=QUICK) as client:
            told = {name: client.request("GET", f"/collections/{name}") for name in COLLECTIONS}
        return {name: one["points_count"] for name, one in told.items() if one}

    def backed_up(self) -> Path:
        """A copy of what the cluster has now."""
        self.qdrant.kill()
        copied = self.qdrant.directory.with_name("backup")
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(self.qdrant.directory, copied)
        self.qdrant.start()
        return copied

    def restore(self, copied: Path) -> None:
        self.qdrant.kill()
        shutil.rmtree(self.qdrant.directory)
        shutil.copytree(copied, self.qdrant.directory)
        self.qdrant.start()


COLLECTIONS = ("fathom-words", "fathom-4")


@pytest.fixture
def place(postgres: Server, edge_server: Start, request: pytest.FixtureRequest) -> Place:
    name = request.node.name[:90]
    return Place(Address.from_url(switch_workspace(postgres.shared, name)), edge_server(shards=2))


def told(reader: Any) -> list[object]:
    """What searches give."""
    return [
        reader.keyword_search("title cats sea", k=9),
        reader.vector_search(axis(1, 0.5), k=9),
        reader.count_chunks_per_word(["sleep", "title"]),
    ]


def test_a_cluster_restored_from_an_older_backup_is_noticed_and_brought_up(place: Place) -> None:
    with place.describe_writer() as writer:
        put(writer, CATS)
        old = place.backed_up()
        put(writer, SHIPS)
        expected = told(writer)
    place.restore(old)
    with place.reader() as reader:
        searches: tuple[Asked, ...] = (
            lambda: reader.keyword_search("cats", k=1),
            lambda: reader.vector_search(axis(1), k=1),
        )
        for search in searches:
            with pytest.raises(IndexCorrupt, match=r"lacks 1 of 3 chunks.*doctor --fix") as caught:
                search()
            assert (caught.value.exit_code, "\n" in str(caught.value)) == (5, False)
        assert len(reader.list_findings()) == 2
        place.describe_writer().close()  # whoever writes next brings what is lacking
        assert (told(reader), reader.list_findings()) == (expected, [])
        assert set(reader.status().bytes_on_disk) == {"chunk_terms", "vectors"}


def test_a_restored_cluster_with_as_many_points_is_noticed_too(place: Place) -> None:
    changed = entry("ships", ["Boats sail the sea."], [[0.6, 0.8]])
    with place.describe_writer() as writer:
        put(writer, CATS, SHIPS)
        old = place.backed_up()
        put(writer, changed)
        expected = told(writer)
    place.restore(old)
    with place.reader() as reader:
        with pytest.raises(IndexCorrupt, match="lacks the last change"):
            told(reader)
        place.describe_writer().close()
        assert told(reader) == expected


def test_an_empty_cluster_is_filled_from_postgres(place: Place) -> None:
    with place.describe_writer() as writer:
        put(writer, CATS, SHIPS)
        expected = told(writer)
    place.qdrant.kill()
    shutil.rmtree(place.qdrant.directory)
    place.qdrant.start()
    with place.reader() as reader, pytest.raises(IndexCorrupt, match="lacks 3 of 3 chunks"):
        told(reader)
    with place.describe_writer() as writer:
        assert told(writer) == expected
        assert writer.list_findings() == []


def test_all_is_made_anew_while_searches_go_on(place: Place) -> None:
    with place.describe_writer() as writer, place.reader() as reader:
        put(writer, CATS, SHIPS)
        expected, points = told(writer), place.points()
        writer.rebuild_backend()
        assert (told(reader), place.points()) == (expected, points)


def test_where_qdrant_is_away_that_is_told_and_nothing_is_acknowledged(place: Place) -> None:
    with place.describe_writer() as writer, place.reader() as reader:
        put(writer, CATS)
        expected = told(reader)
        place.qdrant.kill()
        asking: tuple[Asked, ...] = (
            lambda: reader.keyword_search("cats", k=1),
            lambda: reader.vector_search(axis(1), k=1),
            lambda: put(writer, SHIPS),
            place.describe_writer,
        )
        for asked in asking:
            with pytest.raises(
                RunError, match=r"Qdrant at http://127.* cannot be reached"
            ) as error:
                asked()
            assert (error.value.exit_code, "\n" in str(error.value)) == (5, False)
        assert [document.id for document in reader.list_documents()] == ["cats"]
        place.qdrant.start()
        assert told(reader) == expected
        put(writer, SHIPS)
        assert [each.chunk_id for each in reader.keyword_search("sail", k=5)] == ["ships#0"]


def test_what_died_before_it_was_committed_is_never_shown_and_goes(place: Place) -> None:
    with place.describe_writer(grace_s=0) as writer, place.reader() as reader:
        put(writer, CATS)
        points = place.points()
        with pytest.raises(ZeroDivisionError):
            half_put(writer)
        assert place.points() != points  # it is there, for nobody
        assert reader.keyword_search("sail", k=5) == []
        assert [each.chunk_id for each in reader.vector_search(axis(0.8, 0.6), k=5)] == [
            "cats#0",
            "cats#1",
        ]
        put(writer, SHIPS)  # of another number: a late request for the old one meets nothing
        assert [each.chunk_id for each in reader.keyword_search("sail", k=5)] == ["ships#0"]
        expected = told(reader)
        with writer._begin_transaction() as store:
            store.run("UPDATE fathom.leftovers SET until = clock_timestamp()")
        writer.optimize()
        assert told(reader) == expected
        assert place.points() == {name: count + 2 for name, count in points.items()}


def test_what_is_replaced_goes_once_nobody_reads_it(place: Place) -> None:
    with place.describe_writer(grace_s=0) as writer:
        put(writer, CATS, SHIPS)
        writer.optimize()
        points = place.points()
        for _again in range(3):
            put(writer, entry("cats", ["Cats sleep all day.", "Dogs bark."], [[1], [0, 1]]))
        assert place.points() != points
        writer.optimize()
        assert place.points() == points
        writer.forget(["/c/cats", "/c/ships"])
        writer.optimize()
        assert told(writer)[:2] == [[], []]


def test_a_space_and_an_index_that_go_leave_no_point(place: Place) -> None:
    with place.describe_writer(grace_s=0) as writer:
        put(writer, CATS)
    other = IDENTITY | {"embedder.model": "other"}
    with rebuild(place.address, other, [], place.legs(grace_s=0)) as (new, _before):
        put(new, SHIPS)
    with open_writer(place.address, other, place.legs(grace_s=0)) as writer:
        writer.optimize()
        assert place.points() == {"fathom-words": 2, "fathom-4": 2}  # one chunk, one mark
        assert [each.chunk_id for each in writer.vector_search(axis(1), k=9)] == ["ships#0"]


def test_weights_are_made_anew_once_documents_are_longer(place: Place) -> None:
    long = [entry(f"d{n}", [f"{'sea ' * n} and many words more {n}"], [[1]]) for n in range(1, 40)]
    with place.describe_writer() as writer, place.reader() as reader:
        put(writer, entry("d0", ["sea"], [[1]]))
        put(writer, *long)
        before = reader.keyword_search("sea words", k=7)
        writer.optimize()
        assert reader.keyword_search("sea words", k=7) == before


def test_legs_that_an_index_was_not_made_with_are_refused(place: Place) -> None:
    with place.describe_writer() as writer:
        put(writer, CATS)
    bare: tuple[Asked, ...] = (
        lambda: open_reader(place.address),
        lambda: open_writer(place.address, None),
    )
    for opened in bare:
        with pytest.raises(IndexMismatch, match=r"Qdrant searches this index; add \+qdrant"):
            opened()
    plain = place.address.switch_workspace("plain")
    open_writer(plain, IDENTITY).close()
    legged: tuple[Asked, ...] = (
        lambda: open_reader(plain, None, place.legs()),
        lambda: open_writer(plain, IDENTITY, place.legs()),
    )
    for opened in legged:
        with pytest.raises(IndexMismatch, match=r"PostgreSQL itself searches.*leave \+qdrant"):
            opened()


def test_copied_there_and_back_everything_is_the_same(place: Place, tmp_path: Path) -> None:
    with write_embedded(tmp_path / "one", IDENTITY) as writer:
        put(writer, CATS, SHIPS)
    with open_embedded(tmp_path / "one") as one, place.describe_writer() as there:
        assert copy_index(one, there).content == one.status().content
        assert there.vector_search(axis(1), k=3) == one.vector_search(axis(1), k=3)
        with write_embedded(tmp_path / "two", IDENTITY) as back:
            assert copy_index(there, back).content == one.status().content


def test_an_engine_answers_and_tells_where_qdrant_is_away(
    place: Place, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.index.qdrant.client.RetryPolicy", lambda: QUICK)
    (tmp_path / "a.md").write_text("# Leave\n\nThe notice period is three months.\n")
    (tmp_path / "b.md").write_text("# Pay\n\nPay comes on the last day of the month.\n")
    url = f"{switch_workspace(postgres.shared, 'away')}+qdrant:{place.qdrant.url}"
    question = "How long is the notice period?"
    with Engine.open(url, {"index.directory": str(tmp_path / "side")}) as engine:
        assert engine.ingest(tmp_path / "a.md").new == 1
        assert "three months" in engine.ask(question).answer
        place.qdrant.kill()
        asked: tuple[Asked, ...] = (
            lambda: engine.ask(question),
            lambda: engine.search(question),
            lambda: engine.ingest(tmp_path / "b.md"),
        )
        for ask in asked:
            with pytest.raises(RunError, match=r"Qdrant at http://127.* cannot be reached"):
                ask()
        assert "cannot be reached" in _check_index(engine, fix=True)[0].detail
        place.qdrant.start()
        assert "three months" in engine.ask(question).answer
        assert engine.status().documents == 1
        assert _check_index(engine, fix=True)[0].ok


@pytest.mark.slow
def test_twenty_workspaces_of_one_cluster_see_nothing_of_each_other(place: Place) -> None:
    """10,000 probes: each asks for every word of all, and for whatever is near."""
    names = [f"t{number}" for number in range(20)]
    for name in names:
        own = [entry(f"{name}d{n}", [f"word{name}x{n} shared"], [[1]]) for n in range(25)]
        with open_writer(place.address.switch_workspace(name), IDENTITY, place.legs()) as writer:
            put(writer, *own)
    every = " ".join(f"word{name}x{n}" for name in names for n in range(25)) + " shared"
    leaks = probes = 0
    for name in names:
        own_ids = {f"{name}d{n}#0" for n in range(25)}
        with open_reader(place.address.switch_workspace(name), None, place.legs()) as reader:
            worded = [match.chunk_id for match in reader.keyword_search(every, k=500)]
            near = [match.chunk_id for match in reader.vector_search(axis(1), k=500)]
        assert set(worded) == set(near) == own_ids
        leaks += sum(each not in own_ids for each in (*worded, *near))
        probes += 500
    assert (leaks, probes) == (0, 10_000)


def test_a_url_names_both_and_shows_no_secret(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("QDRANT_KEY", "s3cret")
    url = "postgresql://ada:hidden@db/notes?workspace=hr+qdrant:https://q:6333/notes?shards=6"
    index = locate_index(url, tmp_path, qdrant_key_env="QDRANT_KEY")
    assert isinstance(index, PostgresIndex)
    assert index.qdrant is not None
    assert (index.qdrant.collection, index.qdrant.shards) == ("notes", 6)
    assert str(index) == "postgresql://ada@db/notes?workspace=hr+qdrant:https://q:6333/notes"
    assert not any(secret in repr(index) for secret in ("hidden", "s3cret"))
    other = switch_workspace(url, "it")
    assert (Address.from_url(other).workspace, Address.from_url(other).backend_url) == (
        "it",
        Address.from_url(url).backend_url,
    )
    # What is kept beside it here stays where it is when the cluster moves.
    moved = url.replace("q:6333", "r:6333")
    assert locate_side_directory(url, tmp_path) == locate_side_directory(moved, tmp_path)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://db/n+qdrant:", "malformed"),
        ("postgresql://db/n+qdrant:https://ada:hidden@q", "holds a user name"),
        ("postgresql://db/n+qdrant:ftp://q", "is not an address"),
    ],
)
def test_a_malformed_address_of_qdrant_is_refused(url: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        locate_index(url, tmp_path)
    assert "hidden" not in str(caught.value)


def test_offline_asks_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="offline"):
        locate_index(
            "postgresql://localhost/n+qdrant:http://127.0.0.1:6333", tmp_path, offline=True
        )


def half_put(writer: PostgresWriter) -> None:
    """Bring a document to the cluster, and fail before that is committed."""

    def fail(*_given: object) -> None:
        raise ZeroDivisionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fathom.index.postgres.writer._move_documents", fail)
        put(writer, SHIPS)
