"""The facade over a whole index: rebuilding, removing, reading and reporting."""

import asyncio
import errno
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any, NoReturn, cast

import pytest
from tests.documents.factories import make_odp
from tests.factories import (
    FEES,
    QUESTION,
    disable_sandbox,
    drop_privileges,
    engine_at,
    index_fees,
    open_public_folder,
)

from fathom.engine import Engine
from fathom.errors import IndexMismatch, IndexMissing, RunError, UsageError
from fathom.index.base import MetadataKey, SourceRecord
from fathom.index.embedded.opening import open_writer
from fathom.models.embedder import SHIPPED, SHIPPED_INT8, load_embedder
from fathom.registry import STRATEGIES
from fathom.runs.concurrency import run_in_loop
from fathom.serving.cli.errors import _describe_error
from fathom.serving.wording import choose_page_word
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, HashingEmbedder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_public_folder() as folder:
        yield folder


@pytest.fixture(autouse=True)
def _disable_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    disable_sandbox(monkeypatch)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_at(tmp_path) as opened:
        yield opened


def write_file(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def list_names(engine: Engine) -> list[str]:
    return [Path(document.path).name for document in engine.documents.list()]


# Conditions that nothing meets


def test_missing_filter_values_are_looked_up_off_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        index, calls = engine.reader(checked=False), []
        keys = index.list_keys

        def count_calls() -> Mapping[str, MetadataKey]:
            calls.append(current_thread())
            return keys()

        def fail() -> NoReturn:
            raise RunError("torn")

        monkeypatch.setattr(index, "status", fail)  # more than is needed
        monkeypatch.setattr(index, "list_keys", count_calls)

        async def ask() -> tuple[Thread, tuple[str, ...]]:
            answer = await engine.aask(QUESTION, filters=["yaer>=2021"])
            assert answer.status == "abstained"
            return current_thread(), answer.warnings

        loop, warnings = asyncio.run(ask())
        assert warnings == ("no document has 'yaer'; `fathom status` lists the keys",)
        assert len(calls) == 1
        assert loop not in calls
        monkeypatch.setattr(index, "list_keys", fail)
        assert asyncio.run(ask())[1] == ()
    assert "the filter keys were not checked: torn" in caplog.text


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_question_and_its_missing_filter_values_do_not_wait_for_name_look_ups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        index, answers, revisions = engine.reader(checked=False), Event(), []
        keys = index.list_keys

        def count_keys() -> Mapping[str, MetadataKey]:
            revisions.append(index.get_revision())
            with open_writer(engine.directory, None) as writer:
                writer.put([], [SourceRecord(path="/new", digest="", outcome="failed")])
            revisions.append(index.get_revision())
            return keys()

        async def ask_during_look_ups() -> tuple[str, ...]:
            slow = asyncio.gather(*(asyncio.to_thread(answers.wait, 60) for _ in range(4)))
            await asyncio.sleep(0)  # they begin
            try:
                async with asyncio.timeout(20):
                    answer = await engine.aask(QUESTION, strategy=strategy, filters=["yaer>=2021"])
            finally:
                answers.set()
                await slow
            return answer.warnings

        engine.ask(QUESTION, strategy=strategy)  # loads what is loaded once
        monkeypatch.setattr(index, "list_keys", count_keys)
        assert run_in_loop(ask_during_look_ups()) == (
            "no document has 'yaer'; `fathom status` lists the keys",
        )
        assert len(revisions) == 2
        assert len(set(revisions)) == 1  # the question's own state
        assert engine.reader(checked=False).get_revision() not in revisions


# Rebuilding


def test_an_interrupted_rebuild_leaves_the_old_index_and_its_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION)
        before = engine.status()
        write_file(tmp_path / "corpus" / "more.md", "More text.")

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
        assert answer.trace_id in {trace.id for trace in engine.traces.list()}
        assert engine.verify() == []


def test_a_rebuild_names_the_folders_that_it_would_lose(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    for name in ("one/a.md", "two/b.md", "two2/c.md"):
        write_file(folder / name, f"Text of {name}.")
    engine.ingest([folder / "one", folder / "two"])
    engine.ingest([folder / "two2"])
    with pytest.raises(UsageError, match=r"lose 2 documents of .*/one, .*/two2; .*--yes"):
        engine.ingest([folder / "two"], rebuild=True)
    assert list_names(engine) == ["a.md", "b.md", "c.md"]
    assert engine.ingest([folder], rebuild=True).new == 3
    assert engine.ingest(rebuild=True).new == 3
    assert engine.ingest([folder / "two"], rebuild=True, lose=True).new == 1
    assert list_names(engine) == ["b.md"]


def test_a_rebuild_keeps_documents_that_cannot_be_read_now(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "px"
    torn = write_file(folder / "torn.md", "The good version.")
    write_file(folder / "gone.md", "Gone.").unlink()
    write_file(folder / ".named.md", "A hidden one.")
    file = write_file(
        folder / "set" / "corpus.jsonl", json.dumps({"_id": "d1", "text": "One record."})
    )
    engine.ingest([folder, folder / ".named.md"])
    gone = write_file(folder / "gone.md", "Gone.")
    engine.ingest([folder])
    for path in (torn, file):
        path.write_bytes(b"PK\x03\x04 half a DOCX")
    gone.unlink()
    report = engine.ingest([folder], rebuild=True)
    assert (report.new, report.failed, report.stale) == (1, 2, 2)
    assert list_names(engine) == [".named.md", "corpus.jsonl#d1", "torn.md"]
    assert engine.documents.get(str(torn)).text == "The good version."
    assert {Path(document.path).name for document in engine.documents.list_stale()} == {
        "torn.md",
        "corpus.jsonl#d1",
    }
    assert engine.search("record")[0].chunk.document_id == "d1"
    file.write_text(json.dumps({"_id": "d1", "text": "One record."}))
    torn.write_text("The good version.")
    assert (engine.ingest([folder]).unchanged, engine.documents.list_stale()) == (3, [])


# All that is known


def test_without_paths_every_recorded_folder_is_updated(engine: Engine, tmp_path: Path) -> None:
    first_folder, two = tmp_path / "one", tmp_path / "two"
    write_file(first_folder / "a.md", "Text a.")
    write_file(two / "b.md", "Text b.")
    with pytest.raises(IndexMissing):
        engine.ingest()
    engine.ingest([first_folder])
    engine.ingest([two / "b.md", first_folder / "a.md"])
    assert engine.documents.list_roots() == [first_folder, two / "b.md"]
    write_file(first_folder / "c.md", "Text c.")
    write_file(two / "b.md", "Text b, changed.")
    report = engine.ingest()
    assert (report.new, report.changed, report.unchanged) == (1, 1, 1)
    (two / "b.md").unlink()
    two.rmdir()
    assert engine.ingest().stale == 1
    assert engine.ingest(prune=True).removed == 1
    assert engine.documents.list_roots() == [first_folder]
    assert engine.ingest().unchanged == 2


def test_an_older_index_lists_the_files_that_it_recorded(engine: Engine, tmp_path: Path) -> None:
    write_file(tmp_path / "one" / "a.md", "Text a.")
    write_file(tmp_path / "set" / "corpus.jsonl", json.dumps({"_id": "d1", "text": "One record."}))
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


def test_the_slides_of_an_opendocument_presentation_are_cited(
    engine: Engine, tmp_path: Path
) -> None:
    slides = (("The ferry", "The ferry sails at noon."), ("The mill", "The mill opened in 1910."))
    file = tmp_path / "docs" / "talk.odp"
    file.parent.mkdir()
    file.write_bytes(make_odp(*slides))
    assert (engine.ingest([file]).new, engine.ingest([file.parent]).unchanged) == (1, 1)
    (document,) = engine.documents.list()
    parsed = engine.documents.get(document.id)
    assert [(block.kind, block.page) for block in parsed.blocks] == [
        (kind, page) for page in (1, 2) for kind in ("heading", "paragraph")
    ]
    answer = engine.ask("When did the mill open?")
    (citation,) = answer.citations
    assert (answer.status, citation.page) == ("answered", 2)
    assert choose_page_word(citation.path) == "slide"


# Removing


def test_removing_by_folder_and_by_pattern(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("px/a.md", "px/in/b.md", "px2/c.md", "px2/d.txt", "px2/e.txt"):
        write_file(tmp_path / name, f"Text of {name}.")
    write_file(tmp_path / "px" / "same.md", "Text of px2/c.md.")
    monkeypatch.chdir(tmp_path)
    engine.ingest([tmp_path / "px", tmp_path / "px2"])
    for wrong in ("p", "nothing/*", "px3", str(tmp_path / "p")):
        with pytest.raises(UsageError, match="no document"):
            engine.documents.remove(["px2", wrong])
    assert engine.documents.remove(["px2/*.txt"]) == 2
    assert engine.documents.remove(["px"]) == 2
    # What lies elsewhere too stays there.
    assert [Path(document.path) for document in engine.documents.list()] == [
        tmp_path / "px2" / "c.md"
    ]
    assert engine.documents.list_roots() == [tmp_path / "px2"]
    (document,) = engine.documents.list()
    assert engine.documents.remove([document.id]) == 1
    assert engine.verify() == []


@pytest.mark.parametrize("name", ["/", "."])
def test_removing_a_record_whose_id_is_a_folder_keeps_the_folder(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_file(tmp_path / "set" / "corpus.jsonl", json.dumps({"_id": name, "text": "One record."}))
    monkeypatch.chdir(tmp_path)
    engine.ingest([tmp_path / "set"])
    assert engine.documents.remove([name]) == 1
    assert engine.documents.list_roots() == [tmp_path / "set"]


@pytest.mark.parametrize("name", ["\ud800", "a\udc00.md", "a\0.md"])
def test_a_text_that_can_be_no_name_of_a_file_names_no_document(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    write_file(tmp_path / "docs" / "a.md", "One text.")
    engine.ingest([tmp_path / "docs"])
    for use in (engine.documents.get, lambda name: engine.documents.remove([name])):
        with pytest.raises(UsageError, match="no document"):
            use(name)
    with pytest.raises(UsageError, match="no document"):
        list(engine.documents.grep("text", [name]))
    with pytest.raises(UsageError, match="no such file"):
        engine.ingest([name])
    with pytest.raises(UsageError, match="no trace"):
        engine.traces.get(name)


# Saying so


def test_an_answer_reports_that_its_source_is_stale(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
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
        write_file(tmp_path / "corpus" / "copy.md", f"# Fees\n\n{FEES}\n")
        engine.ingest([tmp_path / "corpus"])
        assert engine.ask(QUESTION).warnings == ()


# An index that can be read is read


def test_an_index_of_another_chunker_is_read_only(tmp_path: Path) -> None:
    index_fees(tmp_path)
    with engine_at(tmp_path, chunking={"max_tokens": 64}) as engine:
        assert "40 crowns" in engine.search(QUESTION)[0].chunk.text
        assert engine.ask(QUESTION).status == "answered"
        with pytest.raises(IndexMismatch, match=r"chunker.*--rebuild"):
            engine.ingest([tmp_path / "corpus"])


def test_an_index_of_another_embedder_is_not_searched(tmp_path: Path) -> None:
    index_fees(tmp_path)
    with engine_at(tmp_path) as engine:
        other = Engine(engine.settings, embedder=HashingEmbedder(32))
    with other, pytest.raises(IndexMismatch, match="embedder"):
        other.search(QUESTION)


@pytest.mark.parametrize(("first", "second"), [(SHIPPED, SHIPPED_INT8), (SHIPPED_INT8, SHIPPED)])
def test_the_shipped_embedders_search_and_extend_each_others_indexes(
    tmp_path: Path, first: str, second: str
) -> None:
    texts = {"fees": FEES, "tides": "The tide tables hang in the harbour office."}
    for embedder, (name, text) in zip((first, second), texts.items(), strict=True):
        write_file(tmp_path / "corpus" / f"{name}.md", f"# {name.title()}\n\n{text}\n")
        settings = Settings.model_validate(
            {"index": {"directory": tmp_path / "index"}, "models": {"embedder": embedder}}
        )
        with Engine(settings, cross_reader=OVERLAP) as engine:
            engine.ingest([tmp_path / "corpus"])
            assert engine.status().identity["embedder.model"] == first
            (hit, *_) = engine.search(text, retriever="vector")
            assert text in hit.chunk.text


def test_an_index_takes_either_query_encoder_and_replays_with_the_recorded_one(
    tmp_path: Path,
) -> None:
    embedder = load_embedder(threads=1)

    def engine(name: str) -> Engine:
        sections = {
            "index": {"directory": tmp_path / "index"},
            "models": {"query_encoder": name},
        }
        settings = Settings.model_validate(sections)
        return Engine(settings, embedder=embedder, cross_reader=OVERLAP)

    write_file(tmp_path / "corpus" / "fees.md", f"# Fees\n\n{FEES}\n")
    traces, scores = {}, {}
    with engine("rounded") as opened:
        opened.ingest([tmp_path / "corpus"])
    for name in ("same", "rounded"):
        with engine(name) as opened:
            traces[name] = str(opened.ask(QUESTION).trace_id)
            scores[name] = opened.search(QUESTION, retriever="vector")[0].score
            recorded = opened.trace(traces[name]).origin.settings
            assert recorded["models"]["query_encoder"] == name
    for other in ("rounded", "same"):
        with engine(other) as opened:
            assert all(opened.replay(trace).same for trace in traces.values())
            (chunk,) = [hit.chunk for hit in opened.search(QUESTION)]
    question = embedder.embed([QUESTION])[0]
    near = float(question @ embedder.embed([chunk.context])[0])
    assert scores["same"] == pytest.approx(near, abs=2e-3)
    assert scores["rounded"] != scores["same"]
    assert scores["rounded"] == pytest.approx(near, abs=0.05)


LEFT_FILES = {"both": ("-wal", "-shm"), "none": (), "log": ("-wal",), "map": ("-shm",)}


@pytest.mark.parametrize("writable", LEFT_FILES)
def test_an_index_in_a_read_only_folder_is_read(tmp_path: Path, writable: str) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        engine.ask(QUESTION)
    index = tmp_path / "index"
    for path in (*index.glob("*-wal"), *index.glob("*-shm")):
        if path.name[-4:] not in LEFT_FILES[writable]:
            path.unlink()
    with drop_privileges(tmp_path):
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
def test_damaged_traces_block_neither_ingest_nor_remove(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        engine.ask(QUESTION)
    traces = tmp_path / "index" / "traces.db"
    data = traces.read_bytes()
    if how == "no database":
        traces.write_bytes(b"no database" * 100)
    else:
        traces.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with engine_at(tmp_path) as engine:
        write_file(tmp_path / "corpus" / "more.md", "More text.")
        assert engine.ingest([tmp_path / "corpus"]).new == 1
        assert engine.documents.remove([str(tmp_path / "corpus" / "fees.md")]) == 1
        assert list_names(engine) == ["more.md"]
    assert "traces.db" in caplog.text
    assert "delete the file" in caplog.text


def test_a_moved_index_can_be_read(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        engine.ingest(rebuild=True)
    shutil.move(tmp_path / "index", tmp_path / "elsewhere")
    with engine_at(tmp_path, index={"directory": tmp_path / "elsewhere"}) as engine:
        assert engine.search(QUESTION)


def test_an_engine_closes_while_a_search_is_running(tmp_path: Path) -> None:
    engine = engine_at(index_fees(tmp_path))
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


@pytest.mark.parametrize("is_named", [False, True])
def test_a_full_disk_is_told_from_an_output_that_cannot_be_written(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_named: bool
) -> None:
    def fill_disk(*_: object, **__: object) -> NoReturn:
        file = (str(engine.directory / "graph"),) if is_named else ()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *file)

    write_file(tmp_path / "docs" / "a.md", "One text.")
    engine.ingest([tmp_path / "docs"])
    monkeypatch.setattr("fathom.index.embedded.writer.catch_up", fill_disk)
    with pytest.raises(OSError if is_named else RunError) as caught:
        engine.documents.remove([str(tmp_path / "docs" / "a.md")])
    if not is_named:
        text = f"{engine.directory}: No space left on device; check free space and permissions"
        assert str(caught.value) == text
    assert "output" not in _describe_error(caught.value)[0]


WATCHED_QUESTION = """
import asyncio, sys, threading
from fathom import Engine

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {"langgraph.runtime", "langgraph.graph", "fathom.strategies.naive"}:
            print(name, threading.current_thread() is threading.main_thread())

async def ask():
    with Engine.open(sys.argv[1]) as engine:
        await engine.aask("What do mules carry?", strategy="naive")

sys.meta_path.insert(0, Watch())
asyncio.run(ask())
"""


def test_the_first_question_of_a_process_leaves_its_event_loop_to_others(tmp_path: Path) -> None:
    (tmp_path / "mules.txt").write_text("Mules carry salt.")
    with Engine.open(tmp_path / "index") as engine:
        engine.ingest([tmp_path / "mules.txt"])
    imports = subprocess.run(
        [sys.executable, "-c", WATCHED_QUESTION, str(tmp_path / "index")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert sorted(imports) == [
        "fathom.strategies.naive False",
        "langgraph.graph False",
        "langgraph.runtime False",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stragety": "naive"}, "a question has no option 'stragety'; its options are strategy, "),
        ({"budget": 3}, "budget: give a Budget, such as Budget(seconds=10), and not 3"),
    ],
)
def test_an_illegal_option_of_a_question_is_named(
    engine: Engine, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        engine.ask("What do mules carry?", **options)


def test_patterns_of_a_source_are_a_list(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape("include: give a list of patterns, such as [")):
        engine.sources.add(str(tmp_path), include="*.md")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda _engine: Engine(cast("Any", "index")),
            "settings: give `load_settings()`, not a str",
        ),
        (
            lambda engine: engine.ask(cast("Any", None)),
            "the question is of type NoneType; give a text",
        ),
        (
            lambda engine: engine.search("salt", k=cast("Any", "3")),
            "k = '3': ask for at least 1 hit",
        ),
    ],
)
def test_an_argument_of_another_type_is_named(
    engine: Engine, call: Callable[[Engine], object], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        call(engine)
