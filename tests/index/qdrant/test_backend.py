"""PostgreSQL is the source of truth: what a cluster lacks is detected, reported and restored.

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

ServerStarter = Callable[..., EdgeServer]
Question = Callable[[], object]


@dataclass
class ClusterPlace:
    """A workspace on PostgreSQL and its own Qdrant server."""

    address: Address
    qdrant: EdgeServer

    def open_searches(self, grace_s: float = 600.0) -> QdrantBackend:
        client = QdrantClient(parse_qdrant_address(self.qdrant.url), policy=QUICK)
        return QdrantBackend(client, grace_s=grace_s)

    def open_writer(self, grace_s: float = 600.0) -> PostgresWriter:
        return open_writer(self.address, IDENTITY, self.open_searches(grace_s))

    def open_reader(self) -> PostgresReader:
        return open_reader(self.address, None, self.open_searches())

    def count_points(self) -> dict[str, int]:
        """Return the number of points in each collection, whatever their tenant and mark."""
        with QdrantClient(parse_qdrant_address(self.qdrant.url), policy=QUICK) as client:
            collections = {
                name: client.request("GET", f"/collections/{name}") for name in COLLECTIONS
            }
        return {
            name: collection["points_count"]
            for name, collection in collections.items()
            if collection
        }

    def back_up(self) -> Path:
        """Return a copy of the current data of the cluster."""
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
def place(
    postgres: Server, start_edge_server: ServerStarter, request: pytest.FixtureRequest
) -> ClusterPlace:
    name = request.node.name[:90]
    return ClusterPlace(
        Address.from_url(switch_workspace(postgres.shared, name)), start_edge_server(shards=2)
    )


def search_all(reader: Any) -> list[object]:
    """Return the matches of several searches."""
    return [
        reader.keyword_search("title cats sea", k=9),
        reader.vector_search(axis(1, 0.5), k=9),
        reader.count_chunks_per_word(["sleep", "title"]),
    ]


def test_a_cluster_restored_from_an_older_backup_is_detected_and_updated(
    place: ClusterPlace,
) -> None:
    with place.open_writer() as writer:
        put(writer, CATS)
        old = place.back_up()
        put(writer, SHIPS)
        expected = search_all(writer)
    place.restore(old)
    with place.open_reader() as reader:
        searches: tuple[Question, ...] = (
            lambda: reader.keyword_search("cats", k=1),
            lambda: reader.vector_search(axis(1), k=1),
        )
        for search in searches:
            with pytest.raises(IndexCorrupt, match=r"lacks 1 of 3 chunks.*doctor --fix") as caught:
                search()
            assert (caught.value.exit_code, "\n" in str(caught.value)) == (5, False)
        assert len(reader.list_findings()) == 2
        place.open_writer().close()  # whoever writes next brings what is lacking
        assert (search_all(reader), reader.list_findings()) == (expected, [])
        assert set(reader.status().bytes_on_disk) == {"chunk_terms", "vectors"}


def test_a_restored_cluster_with_an_equal_number_of_points_is_detected_too(
    place: ClusterPlace,
) -> None:
    changed = entry("ships", ["Boats sail the sea."], [[0.6, 0.8]])
    with place.open_writer() as writer:
        put(writer, CATS, SHIPS)
        old = place.back_up()
        put(writer, changed)
        expected = search_all(writer)
    place.restore(old)
    with place.open_reader() as reader:
        with pytest.raises(IndexCorrupt, match="lacks the last change"):
            search_all(reader)
        place.open_writer().close()
        assert search_all(reader) == expected


def test_an_empty_cluster_is_filled_from_postgres(place: ClusterPlace) -> None:
    with place.open_writer() as writer:
        put(writer, CATS, SHIPS)
        expected = search_all(writer)
    place.qdrant.kill()
    shutil.rmtree(place.qdrant.directory)
    place.qdrant.start()
    with place.open_reader() as reader, pytest.raises(IndexCorrupt, match="lacks 3 of 3 chunks"):
        search_all(reader)
    with place.open_writer() as writer:
        assert search_all(writer) == expected
        assert writer.list_findings() == []


def test_everything_is_rebuilt_while_searches_go_on(place: ClusterPlace) -> None:
    with place.open_writer() as writer, place.open_reader() as reader:
        put(writer, CATS, SHIPS)
        expected, points = search_all(writer), place.count_points()
        writer.rebuild_backend()
        assert (search_all(reader), place.count_points()) == (expected, points)


def test_an_absent_qdrant_is_reported_and_nothing_is_acknowledged(place: ClusterPlace) -> None:
    with place.open_writer() as writer, place.open_reader() as reader:
        put(writer, CATS)
        expected = search_all(reader)
        place.qdrant.kill()
        asking: tuple[Question, ...] = (
            lambda: reader.keyword_search("cats", k=1),
            lambda: reader.vector_search(axis(1), k=1),
            lambda: put(writer, SHIPS),
            place.open_writer,
        )
        for ask in asking:
            with pytest.raises(
                RunError, match=r"Qdrant at http://127.* cannot be reached"
            ) as error:
                ask()
            assert (error.value.exit_code, "\n" in str(error.value)) == (5, False)
        assert [document.id for document in reader.list_documents()] == ["cats"]
        place.qdrant.start()
        assert search_all(reader) == expected
        put(writer, SHIPS)
        assert [match.chunk_id for match in reader.keyword_search("sail", k=5)] == ["ships#0"]


def test_points_of_an_uncommitted_change_are_never_shown_and_are_removed(
    place: ClusterPlace,
) -> None:
    with place.open_writer(grace_s=0) as writer, place.open_reader() as reader:
        put(writer, CATS)
        points = place.count_points()
        with pytest.raises(ZeroDivisionError):
            put_uncommitted(writer)
        assert place.count_points() != points  # it is there, for nobody
        assert reader.keyword_search("sail", k=5) == []
        assert [match.chunk_id for match in reader.vector_search(axis(0.8, 0.6), k=5)] == [
            "cats#0",
            "cats#1",
        ]
        put(writer, SHIPS)  # of another number: a late request for the old one meets nothing
        assert [match.chunk_id for match in reader.keyword_search("sail", k=5)] == ["ships#0"]
        expected = search_all(reader)
        with writer._begin_transaction() as store:
            store.run("UPDATE fathom.leftovers SET until = clock_timestamp()")
        writer.optimize()
        assert search_all(reader) == expected
        assert place.count_points() == {name: count + 2 for name, count in points.items()}


def test_replaced_points_are_removed_once_nobody_reads_them(place: ClusterPlace) -> None:
    with place.open_writer(grace_s=0) as writer:
        put(writer, CATS, SHIPS)
        writer.optimize()
        points = place.count_points()
        for _again in range(3):
            put(writer, entry("cats", ["Cats sleep all day.", "Dogs bark."], [[1], [0, 1]]))
        assert place.count_points() != points
        writer.optimize()
        assert place.count_points() == points
        writer.forget(["/c/cats", "/c/ships"])
        writer.optimize()
        assert search_all(writer)[:2] == [[], []]


def test_a_dropped_space_or_index_leaves_no_point(place: ClusterPlace) -> None:
    with place.open_writer(grace_s=0) as writer:
        put(writer, CATS)
    other = IDENTITY | {"embedder.model": "other"}
    with rebuild(place.address, other, [], place.open_searches(grace_s=0)) as (new, _before):
        put(new, SHIPS)
    with open_writer(place.address, other, place.open_searches(grace_s=0)) as writer:
        writer.optimize()
        assert place.count_points() == {"fathom-words": 2, "fathom-4": 2}  # one chunk, one mark
        assert [match.chunk_id for match in writer.vector_search(axis(1), k=9)] == ["ships#0"]


def test_weights_are_rebuilt_once_documents_are_longer(place: ClusterPlace) -> None:
    long = [entry(f"d{n}", [f"{'sea ' * n} and many words more {n}"], [[1]]) for n in range(1, 40)]
    with place.open_writer() as writer, place.open_reader() as reader:
        put(writer, entry("d0", ["sea"], [[1]]))
        put(writer, *long)
        before = reader.keyword_search("sea words", k=7)
        writer.optimize()
        assert reader.keyword_search("sea words", k=7) == before


def test_a_cluster_that_the_index_was_not_made_with_is_refused(place: ClusterPlace) -> None:
    with place.open_writer() as writer:
        put(writer, CATS)
    bare: tuple[Question, ...] = (
        lambda: open_reader(place.address),
        lambda: open_writer(place.address, None),
    )
    for opened in bare:
        with pytest.raises(IndexMismatch, match=r"Qdrant searches this index; add \+qdrant"):
            opened()
    plain = place.address.switch_workspace("plain")
    open_writer(plain, IDENTITY).close()
    legged: tuple[Question, ...] = (
        lambda: open_reader(plain, None, place.open_searches()),
        lambda: open_writer(plain, IDENTITY, place.open_searches()),
    )
    for opened in legged:
        with pytest.raises(IndexMismatch, match=r"PostgreSQL itself searches.*leave \+qdrant"):
            opened()


def test_copying_to_a_server_and_back_changes_nothing(place: ClusterPlace, tmp_path: Path) -> None:
    with write_embedded(tmp_path / "one", IDENTITY) as writer:
        put(writer, CATS, SHIPS)
    with open_embedded(tmp_path / "one") as embedded, place.open_writer() as there:
        assert copy_index(embedded, there).content == embedded.status().content
        assert there.vector_search(axis(1), k=3) == embedded.vector_search(axis(1), k=3)
        with write_embedded(tmp_path / "two", IDENTITY) as back:
            assert copy_index(there, back).content == embedded.status().content


def test_an_engine_answers_and_reports_an_absent_qdrant(
    place: ClusterPlace, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        questions: tuple[Question, ...] = (
            lambda: engine.ask(question),
            lambda: engine.search(question),
            lambda: engine.ingest(tmp_path / "b.md"),
        )
        for ask in questions:
            with pytest.raises(RunError, match=r"Qdrant at http://127.* cannot be reached"):
                ask()
        assert "cannot be reached" in _check_index(engine, fix=True)[0].detail
        place.qdrant.start()
        assert "three months" in engine.ask(question).answer
        assert engine.status().documents == 1
        assert _check_index(engine, fix=True)[0].ok


@pytest.mark.slow
def test_twenty_workspaces_of_one_cluster_see_nothing_of_each_other(place: ClusterPlace) -> None:
    """Probe 10,000 times: for every word of all workspaces, and for near vectors."""
    names = [f"t{number}" for number in range(20)]
    for name in names:
        entries = [entry(f"{name}d{n}", [f"word{name}x{n} shared"], [[1]]) for n in range(25)]
        with open_writer(
            place.address.switch_workspace(name), IDENTITY, place.open_searches()
        ) as writer:
            put(writer, *entries)
    every = " ".join(f"word{name}x{n}" for name in names for n in range(25)) + " shared"
    leaks = probes = 0
    for name in names:
        own_ids = {f"{name}d{n}#0" for n in range(25)}
        with open_reader(
            place.address.switch_workspace(name), None, place.open_searches()
        ) as reader:
            worded = [match.chunk_id for match in reader.keyword_search(every, k=500)]
            near = [match.chunk_id for match in reader.vector_search(axis(1), k=500)]
        assert set(worded) == set(near) == own_ids
        leaks += sum(chunk_id not in own_ids for chunk_id in (*worded, *near))
        probes += 500
    assert (leaks, probes) == (0, 10_000)


def test_a_url_names_both_servers_and_shows_no_secret(tmp_path: Path, monkeypatch: Any) -> None:
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


def test_offline_mode_contacts_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="offline"):
        locate_index(
            "postgresql://localhost/n+qdrant:http://127.0.0.1:6333", tmp_path, offline=True
        )


def put_uncommitted(writer: PostgresWriter) -> None:
    """Send a document to the cluster and fail before the commit."""

    def fail(*_given: object) -> None:
        raise ZeroDivisionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fathom.index.postgres.writer._move_documents", fail)
        put(writer, SHIPS)
