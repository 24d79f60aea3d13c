"""The facade over a whole index: what is made anew, removed, read and said."""

import asyncio
import json
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import NoReturn

import pytest
from tests.making import FEES, QUESTION, engine_at, ingested, open_folder, uncaged, unprivileged

from fathom.engine import Engine
from fathom.errors import IndexMismatch, IndexMissing, RunError, UsageError
from fathom.index.base import MetadataKey, SourceRecord
from fathom.index.embedded.opening import open_writer
from fathom.models.embedder import load_embedder
from fathom.runs.concurrency import run_in_loop
from fathom.settings import Settings
from fathom.strategies.base import STRATEGIES
from fathom.testing.doubles import OVERLAP, HashingEmbedder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(autouse=True)
def _no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    uncaged(monkeypatch)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_at(tmp_path) as made:
        yield made


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def names(engine: Engine) -> list[str]:
    return [Path(one.path).name for one in engine.documents.list()]


# Conditions that nothing meets


def test_conditions_that_nothing_meets_are_looked_up_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        index, asked = engine.reader(checked=False), []
        keys = index.list_keys

        def counted() -> Mapping[str, MetadataKey]:
            asked.append(current_thread())
            return keys()

        def failing() -> NoReturn:
            raise RunError("torn")

        monkeypatch.setattr(index, "status", failing)  # more than is needed
        monkeypatch.setattr(index, "list_keys", counted)

        async def told() -> tuple[Thread, tuple[str, ...]]:
            answer = await engine.aask(QUESTION, filters=["yaer>=2021"])
            assert answer.status == "abstained"
            return current_thread(), answer.warnings

        loop, warnings = asyncio.run(told())
        assert warnings == ("no document has 'yaer'; `fathom status` lists the keys",)
        assert len(asked) == 1
        assert loop not in asked
        monkeypatch.setattr(index, "list_keys", failing)
        assert asyncio.run(told())[1] == ()
    assert "the filter keys were not checked: torn" in caplog.text


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_question_and_what_its_filters_lack_do_not_wait_for_names_of_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        index, found, revisions = engine.reader(checked=False), Event(), []
        keys = index.list_keys

        def counted() -> Mapping[str, MetadataKey]:
            revisions.append(index.get_revision())
            with open_writer(engine.directory, None) as writer:
                writer.put([], [SourceRecord(path="/new", digest="", outcome="failed")])
            revisions.append(index.get_revision())
            return keys()

        async def beside_slow_look_ups() -> tuple[str, ...]:
            slow = asyncio.gather(*(asyncio.to_thread(found.wait, 60) for _ in range(4)))
            await asyncio.sleep(0)  # they begin
            try:
                async with asyncio.timeout(20):
                    answer = await engine.aask(QUESTION, strategy=strategy, filters=["yaer>=2021"])
            finally:
                found.set()
                await slow
            return answer.warnings

        engine.ask(QUESTION, strategy=strategy)  # loads what is loaded once
        monkeypatch.setattr(index, "list_keys", counted)
        assert run_in_loop(beside_slow_look_ups()) == (
            "no document has 'yaer'; `fathom status` lists the keys",
        )
        assert len(revisions) == 2
        assert len(set(revisions)) == 1  # the question's own state
        assert engine.reader(checked=False).get_revision() not in revisions


# Rebuilding


def test_an_interrupted_rebuild_leaves_the_old_index_and_its_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        answer = engine.ask(QUESTION)
        before = engine.status()
        write(tmp_path / "corpus" / "more.md", "More text.")

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("fathom.ingest.workers.work.detect_language", interrupt)
            with pytest.raises(KeyboardInterrupt):
                engine.ingest([tmp_path / "corpus"], rebuild=True)
        assert engine.status().content == before.content
        assert engine.ask(QUESTION).status == "answered"
        assert engine.verify() == []
        assert engine.ingest([tmp_path / "corpus"], rebuild=True).new == 2
        assert engine.ask(QUESTION).status == "answered"
        # Texts that the new index holds too stay in traces.
        assert answer.trace_id in {each.id for each in engine.traces.list()}
        assert engine.verify() == []


def test_a_rebuild_names_the_folders_that_it_would_lose(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    for name in ("one/a.md", "two/b.md", "two2/c.md"):
        write(folder / name, f"Text of {name}.")
    engine.ingest([folder / "one", folder / "two"])
    engine.ingest([folder / "two2"])
    with pytest.raises(UsageError, match=r"lose 2 documents of .*/one, .*/two2; .*--yes"):
        engine.ingest([folder / "two"], rebuild=True)
    assert names(engine) == ["a.md", "b.md", "c.md"]
    assert engine.ingest([folder], rebuild=True).new == 3
    assert engine.ingest(rebuild=True).new == 3
    assert engine.ingest([folder / "two"], rebuild=True, lose=True).new == 1
    assert names(engine) == ["b.md"]


def test_a_rebuild_keeps_what_cannot_be_read_now(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "px"
    torn = write(folder / "torn.md", "The good version.")
    write(folder / "gone.md", "Gone.").unlink()
    write(folder / ".named.md", "A hidden one.")
    file = write(folder / "set" / "corpus.jsonl", json.dumps({"_id": "d1", "text": "One record."}))
    engine.ingest([folder, folder / ".named.md"])
    gone = write(folder / "gone.md", "Gone.")
    engine.ingest([folder])
    for each in (torn, file):
        each.write_bytes(b"PK\x03\x04 half a DOCX")
    gone.unlink()
    report = engine.ingest([folder], rebuild=True)
    assert (report.new, report.failed, report.stale) == (1, 2, 2)
    assert names(engine) == [".named.md", "corpus.jsonl#d1", "torn.md"]
    assert engine.documents.get(str(torn)).text == "The good version."
    assert {Path(one.path).name for one in engine.documents.list_stale()} == {
        "torn.md",
        "corpus.jsonl#d1",
    }
    assert engine.search("record")[0].chunk.document_id == "d1"
    file.write_text(json.dumps({"_id": "d1", "text": "One record."}))
    torn.write_text("The good version.")
    assert (engine.ingest([folder]).unchanged, engine.documents.list_stale()) == (3, [])


# All that is known


def test_without_paths_all_that_is_known_is_brought_up_to_date(
    engine: Engine, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one / "a.md", "Text a.")
    write(two / "b.md", "Text b.")
    with pytest.raises(IndexMissing):
        engine.ingest()
    engine.ingest([one])
    engine.ingest([two / "b.md", one / "a.md"])
    assert engine.documents.list_roots() == [one, two / "b.md"]
    write(one / "c.md", "Text c.")
    write(two / "b.md", "Text b, changed.")
    report = engine.ingest()
    assert (report.new, report.changed, report.unchanged) == (1, 1, 1)
    (two / "b.md").unlink()
    two.rmdir()
    assert engine.ingest().stale == 1
    assert engine.ingest(prune=True).removed == 1


def test_an_index_of_before_gives_the_files_that_it_knows(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.md", "Text a.")
    write(tmp_path / "set" / "corpus.jsonl", json.dumps({"_id": "d1", "text": "One record."}))
    engine.ingest([tmp_path / "one", tmp_path / "set"])
    engine.close()
    with sqlite3.connect(engine.directory / "fathom.db") as connection:
        connection.execute("DELETE FROM meta WHERE key = 'roots'")
        connection.execute("DROP TABLE kept")
    connection.close()
    assert engine.documents.list_roots() == [
        tmp_path / "one" / "a.md",
        tmp_path / "set" / "corpus.jsonl",
    ]
    assert engine.ingest().unchanged == 2


# Removing


def test_removing_folders_and_patterns(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("px/a.md", "px/in/b.md", "px2/c.md", "px2/d.txt", "px2/e.txt"):
        write(tmp_path / name, f"Text of {name}.")
    write(tmp_path / "px" / "same.md", "Text of px2/c.md.")
    monkeypatch.chdir(tmp_path)
    engine.ingest([tmp_path / "px", tmp_path / "px2"])
    for wrong in ("p", "nothing/*", "px3", str(tmp_path / "p")):
        with pytest.raises(UsageError, match="no document"):
            engine.documents.remove(["px2", wrong])
    assert engine.documents.remove(["px2/*.txt"]) == 2
    assert engine.documents.remove(["px"]) == 2
    # What lies elsewhere too stays there.
    assert [Path(one.path) for one in engine.documents.list()] == [tmp_path / "px2" / "c.md"]
    assert engine.documents.list_roots() == [tmp_path / "px2"]
    (kept,) = engine.documents.list()
    assert engine.documents.remove([kept.id]) == 1
    assert engine.verify() == []


@pytest.mark.parametrize("name", ["/", "."])
def test_a_record_whose_id_is_a_folder_takes_no_folder_with_it(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(tmp_path / "set" / "corpus.jsonl", json.dumps({"_id": name, "text": "One record."}))
    monkeypatch.chdir(tmp_path)
    engine.ingest([tmp_path / "set"])
    assert engine.documents.remove([name]) == 1
    assert engine.documents.list_roots() == [tmp_path / "set"]


# Saying so


def test_an_answer_says_that_its_source_is_stale(tmp_path: Path) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        first = engine.ask(QUESTION)
        assert first.warnings == ()
        file = tmp_path / "corpus" / "fees.md"
        file.write_bytes(b"PK\x03\x04 half a DOCX")
        report = engine.ingest([file])
        answer = engine.ask(QUESTION)
        assert (answer.status, "40 crowns" in answer.answer) == ("answered", True)
        (warning,) = answer.warnings
        assert engine.traces.answer(str(answer.trace_id)) == answer
        assert warning.startswith(f"[1] {file}: {report.files[0].reason}; ")
        assert engine.replay(str(answer.trace_id)).same
        assert engine.replay(str(first.trace_id)).same
        # A copy that can be read is a source.
        write(tmp_path / "corpus" / "copy.md", f"# Fees\n\n{FEES}\n")
        engine.ingest([tmp_path / "corpus"])
        assert engine.ask(QUESTION).warnings == ()


# An index that can be read is read


def test_an_index_of_another_chunker_is_read_and_not_written_to(tmp_path: Path) -> None:
    ingested(tmp_path)
    with engine_at(tmp_path, chunking={"max_tokens": 64}) as engine:
        assert "40 crowns" in engine.search(QUESTION)[0].chunk.text
        assert engine.ask(QUESTION).status == "answered"
        with pytest.raises(IndexMismatch, match=r"chunker.*--rebuild"):
            engine.ingest([tmp_path / "corpus"])


def test_an_index_of_another_embedder_is_not_searched(tmp_path: Path) -> None:
    ingested(tmp_path)
    with engine_at(tmp_path) as engine:
        other = Engine(engine.settings, embedder=HashingEmbedder(32))
    with other, pytest.raises(IndexMismatch, match="embedder"):
        other.search(QUESTION)


def test_an_index_is_asked_with_either_query_encoder_and_replays_with_the_one_of_then(
    tmp_path: Path,
) -> None:
    embedder = load_embedder(threads=1)

    def engine(name: str) -> Engine:
        given = {"index": {"directory": tmp_path / "index"}, "models": {"query_encoder": name}}
        settings = Settings.model_validate(given)
        return Engine(settings, embedder=embedder, cross_reader=OVERLAP)

    write(tmp_path / "corpus" / "fees.md", f"# Fees\n\n{FEES}\n")
    traces, scores = {}, {}
    with engine("rounded") as asked:
        asked.ingest([tmp_path / "corpus"])
    for name in ("same", "rounded"):
        with engine(name) as asked:
            traces[name] = str(asked.ask(QUESTION).trace_id)
            scores[name] = asked.search(QUESTION, retriever="vector")[0].score
            kept = asked.trace(traces[name]).origin.settings
            assert kept["models"]["query_encoder"] == name
    for other in ("rounded", "same"):
        with engine(other) as asked:
            assert all(asked.replay(trace).same for trace in traces.values())
            (chunk,) = [hit.chunk for hit in asked.search(QUESTION)]
    question = embedder.embed([QUESTION])[0]
    near = float(question @ embedder.embed([chunk.context])[0])
    assert scores["same"] == pytest.approx(near, abs=2e-3)
    assert scores["rounded"] != scores["same"]
    assert scores["rounded"] == pytest.approx(near, abs=0.05)


LEFT = {"both": ("-wal", "-shm"), "none": (), "log": ("-wal",), "map": ("-shm",)}


@pytest.mark.parametrize("left", LEFT)
def test_an_index_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path, left: str) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        engine.ask(QUESTION)
    index = tmp_path / "index"
    for path in (*index.glob("*-wal"), *index.glob("*-shm")):
        if path.name[-4:] not in LEFT[left]:
            path.unlink()
    with unprivileged(tmp_path):
        for path in (*index.rglob("*"), index):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with engine_at(tmp_path) as engine:
            assert engine.search(QUESTION)
            assert engine.search(QUESTION, retriever="keyword")
            assert engine.ask(QUESTION).status == "answered"
            assert engine.status().documents == 1
            assert engine.verify() == []
        index.chmod(0o755)


@pytest.mark.parametrize("how", ["no database", "a page"])
def test_damaged_traces_stop_neither_ingest_nor_remove(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        engine.ask(QUESTION)
    traces = tmp_path / "index" / "traces.db"
    data = traces.read_bytes()
    if how == "no database":
        traces.write_bytes(b"no database" * 100)
    else:
        traces.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with engine_at(tmp_path) as engine:
        write(tmp_path / "corpus" / "more.md", "More text.")
        assert engine.ingest([tmp_path / "corpus"]).new == 1
        assert engine.documents.remove([str(tmp_path / "corpus" / "fees.md")]) == 1
        assert names(engine) == ["more.md"]
    assert "traces.db" in caplog.text
    assert "delete the file" in caplog.text


def test_a_moved_index_is_read(tmp_path: Path) -> None:
    with engine_at(ingested(tmp_path)) as engine:
        engine.ingest(rebuild=True)
    shutil.move(tmp_path / "index", tmp_path / "elsewhere")
    with engine_at(tmp_path, index={"directory": tmp_path / "elsewhere"}) as engine:
        assert engine.search(QUESTION)


def test_an_engine_closes_while_a_search_still_asks_it(tmp_path: Path) -> None:
    engine = engine_at(ingested(tmp_path))
    begun, go = Event(), Event()

    def search() -> int:
        begun.set()
        go.wait()
        return len(engine.search(QUESTION, k=1))

    executor = engine.executor
    job = executor.submit(search)
    begun.wait()
    closing = Thread(target=engine.close, daemon=True)
    closing.start()
    while not executor._shutdown:
        time.sleep(0.001)
    go.set()
    closing.join(60)
    assert not closing.is_alive()
    assert job.result() == 1
