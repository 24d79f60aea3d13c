import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.postgres_server import Server

from fathom.config import Layers
from fathom.engine import Engine
from fathom.errors import FathomError, IndexMismatch, IndexMissing, RunError, UsageError
from fathom.index.copying import copy_index
from fathom.index.embedded.opening import open_reader as open_embedded
from fathom.index.embedded.opening import open_writer as write_embedded
from fathom.index.engines import create_shared_connections, locate_index, switch_workspace
from fathom.index.postgres import spaces
from fathom.index.postgres.address import Address
from fathom.index.postgres.opening import open_reader, open_writer, rebuild
from fathom.runs.events import Listener, RunEvent, StepStart
from fathom.testing import IndexConformance as _  # noqa: F401 - its asserts are rewritten
from fathom.testing.index_entries import CATS, IDENTITY, SHIPS, WORDLESS, axis, put

QUERIES = ("cats sleep", "title sea", "dogs", "all day the sea")


def open_workspace(postgres: Server, name: str) -> Address:
    return Address.from_url(postgres.shared).switch_workspace(name)


def test_copying_to_a_server_and_back_changes_nothing(postgres: Server, tmp_path: Path) -> None:
    address = open_workspace(postgres, "copied")
    with write_embedded(tmp_path / "one", IDENTITY) as writer:
        put(writer, CATS, SHIPS)
        writer.set_roots(["/c"])
        writer.keep_calibration("naive", "{}")
    with open_embedded(tmp_path / "one") as embedded, open_writer(address, IDENTITY) as there:
        copied = copy_index(embedded, there)
        with write_embedded(tmp_path / "two", IDENTITY) as back:
            assert copy_index(there, back).content == copied.content == embedded.status().content
            for index in (there, back):
                assert (index.get_roots(), index.get_calibrations()) == (["/c"], {"naive": "{}"})
                assert index.vector_search(axis(1), k=3) == embedded.vector_search(axis(1), k=3)
                for query in QUERIES:
                    matches, expected = (i.keyword_search(query, k=5) for i in (index, embedded))
                    assert [m.chunk_id for m in matches] == [m.chunk_id for m in expected]
                    scores = [m.score for m in expected]
                    assert [m.score for m in matches] == pytest.approx(scores, rel=1e-5)
        assert copy_index(embedded, there).content == copied.content
        put(there, WORDLESS)
        with pytest.raises(UsageError, match="already"):
            copy_index(embedded, there)


def test_no_workspace_sees_another_one(postgres: Server) -> None:
    with (
        open_writer(open_workspace(postgres, "ours"), IDENTITY) as ours,
        open_writer(open_workspace(postgres, "theirs"), IDENTITY) as theirs,
    ):
        put(ours, CATS)
        put(theirs, SHIPS)
        assert ours.keyword_search("ships sail sea", k=9) == []
        assert theirs.get_document("cats") is None
        # Also whoever forgets to ask for his own gets no others.
        with ours._connections.borrow() as connection:
            for table in ("documents", "chunks", "sources", "terms", "postings", "spaces"):
                rows = connection.execute(
                    f"SELECT DISTINCT workspace_no FROM fathom.{table}"
                ).fetchall()
                assert len(rows) == 1, table
    with postgres.connect("d1") as nobody:
        assert nobody.execute("SELECT * FROM fathom.documents").fetchall() == []


def test_a_superuser_also_sees_only_the_current_workspace(postgres: Server) -> None:
    url = postgres.open_database().replace("fathom@", "postgres@")
    ours, theirs = (Address.from_url(url).switch_workspace(name) for name in ("ours", "theirs"))
    with open_writer(ours, IDENTITY) as first, open_writer(theirs, IDENTITY) as other:
        put(first, CATS)
        put(other, SHIPS)
        for writer, word in ((first, "cats"), (other, "ships")):
            assert [document.id for document in writer.list_documents()] == [word]


def test_a_new_index_replaces_the_old_one_in_one_step(postgres: Server) -> None:
    address = open_workspace(postgres, "anew")
    with open_writer(address, IDENTITY) as writer:
        put(writer, CATS)
    with open_reader(address) as reader:
        other = IDENTITY | {"embedder.model": "other"}
        with rebuild(address, other, ["/c"]) as (new, before):
            put(new, SHIPS)
            assert before is not None
            assert before.get_document("cats") == reader.get_document("cats") == CATS.document
        assert [document.id for document in reader.list_documents()] == ["ships"]
        with pytest.raises(ZeroDivisionError), rebuild(address, IDENTITY, []):
            raise ZeroDivisionError
        assert reader.status().identity == other


def test_an_open_question_reads_the_replaced_index(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = open_workspace(postgres, "replaced")
    with open_writer(address, IDENTITY) as writer:
        put(writer, CATS)
    with open_reader(address) as reader:
        with reader.snapshot():
            with rebuild(address, IDENTITY, ["/c"]) as (new, _):
                put(new, SHIPS)
            assert [m.chunk_id for m in reader.vector_search(axis(1), k=9)] == ["cats#0", "cats#1"]
            monkeypatch.setattr(spaces, "RETENTION_S", 0)
            open_writer(address, None).close()  # does not wait for who reads
            assert count_vector_tables(postgres, address) == 2
            assert reader.vector_search(axis(1), k=9)
        assert [m.chunk_id for m in reader.vector_search(axis(1), k=9)] == ["ships#0"]
    open_writer(address, None).close()
    assert count_vector_tables(postgres, address) == 1


def test_an_abandoned_rebuild_is_removed_by_the_next_writer(postgres: Server) -> None:
    address = open_workspace(postgres, "unfinished")
    with open_writer(address, IDENTITY) as writer:
        put(writer, CATS)
    maker = (
        "import sys, time; from fathom.index.postgres.address import Address; "
        "from fathom.index.postgres.opening import rebuild; "
        "from fathom.testing.index_entries import *\n"
        "with rebuild(Address.from_url(sys.argv[1]), IDENTITY, []) as (new, _):\n"
        "    put(new, SHIPS); print('put', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", maker, str(address)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"put\n"
        open_writer(address, None).close()
        assert list_indexes(postgres, address) == 2  # somebody makes it
        child.kill()
    deadline = time.monotonic() + 30  # the server notices that its client is gone
    while list_indexes(postgres, address) > 1:
        assert time.monotonic() < deadline
        open_writer(address, None).close()
    with open_reader(address) as reader, rebuild(address, IDENTITY, []) as (new, before):
        put(new, SHIPS)
        assert before is not None
        assert [document.id for document in reader.list_documents()] == ["cats"]
    assert list_indexes(postgres, address) == 1


def list_indexes(postgres: Server, address: Address) -> int:
    return count_rows(postgres, "indexes", address)


def count_vector_tables(postgres: Server, address: Address) -> int:
    """Return the number of vector tables, of current and of dropped spaces."""
    return count_rows(postgres, "spaces", address) + count_rows(postgres, "dropped", address)


def count_rows(postgres: Server, table: str, address: Address) -> int:
    query = (
        f"SELECT count(*) FROM fathom.{table} WHERE workspace_no = "
        "(SELECT no FROM fathom.workspaces WHERE name = %s)"
    )
    with postgres.connect("d1", "postgres") as connection:
        row = connection.execute(query, (address.workspace,)).fetchone()
    return int(row[0]) if row else 0


def test_changes_acknowledged_during_a_rebuild_are_kept(postgres: Server) -> None:
    address = open_workspace(postgres, "raced")

    def race_rebuild() -> None:
        with rebuild(address, IDENTITY, ["/c"]) as (new, _):
            put(new, CATS)
            put(writer, SHIPS)

    with open_writer(address, IDENTITY) as writer:
        put(writer, CATS)
        with pytest.raises(RunError, match="was changed while it was made anew; run it again"):
            race_rebuild()
        assert [document.id for document in writer.list_documents()] == ["cats", "ships"]
        with rebuild(address, IDENTITY, ["/c"]) as (new, _):
            put(new, CATS)
            writer.keep_calibration("naive", "kept meanwhile")
        with pytest.raises(RunError, match="was made anew; run it again"):
            put(writer, SHIPS)  # perhaps of another embedder
    with open_reader(address) as reader:
        assert [document.id for document in reader.list_documents()] == ["cats"]
        assert reader.get_calibrations() == {"naive": "kept meanwhile"}


def test_acknowledged_changes_survive_a_killed_server(postgres: Server) -> None:
    address = open_workspace(postgres, "killed")
    with open_writer(address, IDENTITY) as writer:
        put(writer, CATS)
        postgres.kill()
        with pytest.raises(RunError, match="see that"):
            put(writer, SHIPS)
        postgres.start()
        assert [document.id for document in writer.list_documents()] == ["cats"]
        put(writer, SHIPS)
        assert writer.list_findings() == []
        assert writer.status().chunks == 3


def open_failing(url: str) -> FathomError:
    with pytest.raises(FathomError) as caught:
        open_writer(Address.from_url(url), IDENTITY)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_errors_are_one_line_without_the_password(postgres: Server) -> None:
    away = open_failing("postgresql://ada:secret@127.0.0.1:9/notes")
    assert (away.exit_code, "cannot be reached" in str(away)) == (5, True)
    unknown = open_failing(f"postgresql://ada:secret@/nowhere?host={postgres.folder}")
    assert (unknown.exit_code, "refuses" in str(unknown)) == (2, True)
    bare = open_failing(postgres.open_database(vector=False))
    assert (bare.exit_code, "CREATE EXTENSION vector" in str(bare)) == (5, True)


def test_tables_of_a_newer_fathom_are_refused(postgres: Server) -> None:
    url = postgres.open_database()
    open_writer(Address.from_url(url), IDENTITY).close()
    with postgres.connect(f"d{postgres.databases}") as connection:
        connection.execute("INSERT INTO fathom.layout VALUES (99)")
    with pytest.raises(IndexMismatch, match="layout 99"):
        open_reader(Address.from_url(url))


def test_a_rebuilt_index_is_distinguished_from_the_one_before(
    postgres: Server, tmp_path: Path
) -> None:
    url, shared = postgres.open_database(), create_shared_connections()
    index = locate_index(f"{url}&workspace=stamped", tmp_path, get_shared=lambda: shared)
    assert index.get_stamp() is None  # there are no tables
    locate_index(f"{url}&workspace=other", tmp_path).open_writer(IDENTITY).close()
    assert index.get_stamp() is None
    with index.open_writer(IDENTITY) as writer:
        before = index.get_stamp()
        put(writer, CATS)
        assert index.get_stamp() == before == writer.get_revision().partition(".")[0]
    with index.rebuild(IDENTITY, []):
        assert index.get_stamp() == before
    assert index.get_stamp() not in {None, before}
    shared.close()


def test_a_missing_index_is_reported(postgres: Server) -> None:
    with pytest.raises(IndexMissing, match="fathom ingest"):
        open_reader(Address.from_url(postgres.open_database()))


def test_a_url_is_shown_without_its_password(tmp_path: Path) -> None:
    url = "postgresql://ada:secret@db.example:5433/notes?sslmode=require&workspace=hr"
    assert str(Address.from_url(url)) == "postgresql://ada@db.example:5433/notes?workspace=hr"
    values = Layers.load(cwd=tmp_path, environment={}, flags={"index.url": url}).list_values()
    assert not any("secret" in str(value) for value in values)
    assert Address.from_url(switch_workspace(url, "it")).workspace == "it"
    for malformed in ("postgresql://ada:secret@db:port/notes", "postgresql://h/d?workspace=a b"):
        with pytest.raises(UsageError) as caught:
            Address.from_url(malformed)
        assert "secret" not in str(caught.value)


def test_offline_mode_contacts_no_other_machine() -> None:
    with pytest.raises(UsageError, match="offline"):
        locate_index("postgresql://db.example/notes", Path("x"), offline=True)


def test_an_engine_answers_from_a_server(postgres: Server, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Leave\n\nThe notice period is three months.\n")
    url = switch_workspace(postgres.shared, "engine")
    side = {"index.directory": str(tmp_path / "side")}
    with Engine.open(tmp_path / "own") as local, Engine.open(url, side) as engine:
        answers = []
        for opened in (local, engine):
            assert opened.ingest(tmp_path / "a.md").new == 1
            answers.append(opened.ask("How long is the notice period?"))
        assert answers[0].answer == answers[1].answer
        assert "three months" in answers[1].answer
        assert engine.trace(answers[1].trace_id or "").answer
        assert engine.open_workspace("tenant").settings.index.url.endswith("workspace=tenant")


def test_a_lost_snapshot_is_reacquired_or_the_question_fails(
    postgres: Server,
) -> None:
    address = open_workspace(postgres, "idle")
    with open_writer(address, IDENTITY) as writer, open_reader(address) as reader:
        put(writer, CATS)
        with reader.snapshot():
            assert reader.keyword_search("cats", k=9)
            terminate_connections(postgres)
            assert reader.keyword_search("cats", k=9)  # nothing has changed since
            terminate_connections(postgres)
            put(writer, SHIPS)
            for _ in range(2):
                with pytest.raises(RunError, match=r"changed while a question waited.*again"):
                    reader.keyword_search("ships", k=9)
        assert reader.keyword_search("ships", k=9)


class ChangingListener(Listener):
    """Changes the index as soon as a question's first step has begun, and counts its steps."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        self.meddle, self.steps = meddle, 0

    def on_event(self, event: RunEvent) -> None:
        self.steps += isinstance(event, StepStart)
        if self.steps == 1 and isinstance(event, StepStart):
            with ThreadPoolExecutor(1) as another:
                another.submit(self.meddle).result()


@pytest.mark.parametrize("engine", ["embedded", "postgresql"])
@pytest.mark.parametrize("strategy", ["naive", "hybrid"])
def test_writing_during_a_question_changes_nothing_in_its_answer(
    postgres: Server, tmp_path: Path, engine: str, strategy: str
) -> None:
    file, side = tmp_path / "a.md", {"index.directory": str(tmp_path / "side")}
    url = switch_workspace(postgres.shared, f"meddled-{strategy}")
    where: str | Path = url if engine == "postgresql" else tmp_path / "own"
    question = "How long is the notice period?"

    def write_document(months: str) -> None:
        file.write_text(f"# Leave\n\nThe notice period is {months} months.\n")
        with Engine.open(where, side) as writer:
            writer.ingest(file)

    write_document("three")
    with Engine.open(where, side) as asked:
        before = asked.reader().get_revision()
        meddler = ChangingListener(lambda: write_document("nine"))
        answer = asked.ask(question, strategy=strategy, listener=meddler)
        assert meddler.steps > 1
        assert "three months" in answer.answer
        assert asked.trace(answer.trace_id or "").origin.index_revision == before
        assert "nine months" in asked.ask(question, strategy=strategy).answer


def terminate_connections(postgres: Server) -> None:
    """Terminate the other connections, as the server does with idle transactions."""
    with postgres.connect("d1", "postgres") as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE state = 'idle in transaction'"
        )
