"""The sandbox of parsers; covers fathom.documents.sandbox.child."""

import gzip
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.sandbox.parent import Sandbox, begin_file, read_file


def read_text(path: Path, sandbox: Sandbox) -> str:
    (parsed,) = read_file(path, sandbox)
    assert isinstance(parsed, ParsedDocument)
    return parsed.text


def write_file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def wait_for_end(pid: int) -> bool:
    """Return whether the process ends within a generous time, which is no claim about speed."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in {"Z", "X"}:
            return True
        os.sched_yield()
        time.sleep(0.01)
    return False


def test_files_are_read_one_after_the_other_in_one_process(tmp_path: Path) -> None:
    with Sandbox() as sandbox:
        for number in range(3):
            path = write_file(tmp_path, f"{number}.txt", f"number {number}")
            assert read_text(path, sandbox) == f"number {number}"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("~$report.docx", b"\x04John" + b" " * 158),
        ("~$report.xlsx", b"\x04John" + b" " * 160),
        ("Thumbs.db", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600),
    ],
)
def test_a_file_that_a_program_leaves_in_a_folder_is_no_document(
    name: str, content: bytes, tmp_path: Path
) -> None:
    file = write_file(tmp_path, name, content)
    with Sandbox() as sandbox, pytest.raises(ParseRefusal) as refused:
        next(read_file(file, sandbox))
    assert refused.value.outcome == "no_document"


def test_a_long_file_is_read_whatever_its_name_begins_with(tmp_path: Path) -> None:
    with Sandbox() as sandbox:
        assert read_text(write_file(tmp_path, "~$fees.txt", "fee " * 500), sandbox)


def test_reading_only_the_document_of_each_file_takes_one_process(tmp_path: Path) -> None:
    pids = set()
    with Sandbox() as sandbox:
        for number in range(3):
            file = tmp_path / f"{number}.txt"
            file.write_text(f"Text {number}.")
            assert next(iter(sandbox.parse(file))) is not None
            assert sandbox._child is not None
            pids.add(sandbox._child.pid)
    assert len(pids) == 1


def test_encodings_are_detected_in_the_sandbox_too(tmp_path: Path) -> None:
    prose = "これは手数料の表です。ごみの収集は毎週月曜日です。料金は一日あたり四十円です。"
    path = tmp_path / "a.txt"
    path.write_bytes(prose.encode("shift_jis"))
    with Sandbox() as sandbox:
        assert read_text(path, sandbox) == prose


def test_a_time_limit_is_named_and_the_next_file_is_read(tmp_path: Path) -> None:
    endless = tmp_path / "big.jsonl.gz"
    first = json.dumps({"_id": "1", "text": "one"}).encode()
    with gzip.open(endless, "wb") as file:
        file.write(first + b"\n")
        for _ in range(40):
            file.write(b"\n" * 1_000_000)
    with Sandbox(ParseLimits(wall_s=2)) as sandbox:
        with pytest.raises(ParseRefusal, match=r"took longer than 2 s") as refusal:
            list(read_file(endless, sandbox))
        assert refusal.value.outcome == "failed"
        assert read_text(write_file(tmp_path, "ok.txt", "fine"), sandbox) == "fine"


def test_a_processor_limit_is_named(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="this system limits no memory of a process")
    endless = tmp_path / "big.jsonl.gz"
    with gzip.open(endless, "wb", compresslevel=1) as file:
        file.write(b'{"_id": "1", "text": "one"}\n')
        for _ in range(60):
            file.write(b"\n" * 1_000_000)
    with (
        Sandbox(ParseLimits(cpu_s=1)) as sandbox,
        pytest.raises(ParseRefusal, match="took more than 1 s of processor time"),
    ):
        list(read_file(endless, sandbox))


def test_a_memory_limit_is_named_and_the_next_file_is_read(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="this system limits no memory of a process")
    big = write_file(tmp_path, "big.txt", "word " * 30_000_000)
    with Sandbox(ParseLimits(memory_bytes=256 << 20)) as sandbox:
        with pytest.raises(ParseRefusal, match="needs more than 256 MiB of memory"):
            read_text(big, sandbox)
        assert read_text(write_file(tmp_path, "ok.txt", "fine"), sandbox) == "fine"


def test_file_and_text_sizes_are_capped(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "x" * 5_000)
    with (
        Sandbox(ParseLimits(file_bytes=4_000)) as sandbox,
        pytest.raises(ParseRefusal, match="larger than"),
    ):
        read_text(path, sandbox)
    with (
        Sandbox(ParseLimits(text_chars=4_000)) as sandbox,
        pytest.raises(ParseRefusal, match="holds more than"),
    ):
        read_text(path, sandbox)


def test_a_crash_of_the_process_is_reported_and_survived(tmp_path: Path) -> None:
    path = write_file(tmp_path, "rows.jsonl", '{"_id": 1, "text": "row"}\n' * 50_000)
    with Sandbox() as sandbox:
        rows = read_file(path, sandbox)
        next(rows)
        assert sandbox._child is not None
        os.kill(sandbox._child.pid, signal.SIGSEGV)
        with pytest.raises(ParseRefusal, match=r"the parser crashed \(signal 11\)"):
            list(rows)
        assert read_text(write_file(tmp_path, "ok.txt", "fine"), sandbox) == "fine"


def test_a_process_that_died_between_files_is_replaced(tmp_path: Path) -> None:
    path = write_file(tmp_path, "ok.txt", "fine")
    with Sandbox() as sandbox:
        assert sandbox._child is not None
        os.kill(sandbox._child.pid, signal.SIGKILL)
        assert wait_for_end(sandbox._child.pid)
        assert read_text(path, sandbox) == "fine"


def test_a_half_read_file_does_not_mix_into_the_next(tmp_path: Path) -> None:
    rows = write_file(tmp_path, "rows.jsonl", '{"_id": 1, "text": "row"}\n' * 5_000)
    with Sandbox() as sandbox:
        half = read_file(rows, sandbox)
        next(half)
        half.close()
        assert read_text(write_file(tmp_path, "ok.txt", "fine"), sandbox) == "fine"


def test_nothing_is_left_after_the_sandbox(tmp_path: Path) -> None:
    with Sandbox() as sandbox:
        assert sandbox._child is not None
        assert sandbox._folder is not None
        pid, folder = sandbox._child.pid, Path(sandbox._folder.name)
    assert wait_for_end(pid)
    assert not folder.exists()
    with pytest.raises(RuntimeError, match="inside its with statement"):
        list(sandbox.parse(tmp_path))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_child_dies_with_a_killed_parent() -> None:
    code = (
        "import sys, time\n"
        "from fathom.documents.sandbox.parent import Sandbox\n"
        "sandbox = Sandbox().__enter__()\n"
        "print(sandbox._child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert wait_for_end(pid)


@pytest.mark.parametrize(
    ("name", "reason"), [("missing.txt", "No such file"), (".", "not a regular file")]
)
def test_a_path_that_is_no_file_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    with Sandbox() as sandbox, pytest.raises(ParseRefusal, match=reason):
        list(read_file(tmp_path / name, sandbox))


def test_a_name_that_is_no_utf8_is_read(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.write_text("fine")
    with Sandbox() as sandbox:
        assert read_text(path, sandbox) == "fine"


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_records_stream_with_bad_lines_between(tmp_path: Path, count: int) -> None:
    path = tmp_path / "corpus.jsonl"
    with path.open("w") as file:
        for number in range(count):
            file.write(json.dumps({"_id": f"r{number}", "title": "T", "text": f"row {number}"}))
            file.write("\n")
            if number == 500:
                file.write("{broken\n")
    with Sandbox() as sandbox:
        values = list(read_file(path, sandbox))
    failures = [value for value in values if isinstance(value, RecordFailure)]
    assert [failure.line for failure in failures] == [502]
    records = [value for value in values if isinstance(value, ParsedDocument)]
    assert len(records) == count
    last = count - 1
    assert (records[-1].record, records[-1].title, records[-1].text) == (
        f"r{last}",
        "T",
        f"row {last}",
    )


def test_started_files_are_read_before_they_are_requested(tmp_path: Path) -> None:
    files = [write_file(tmp_path, f"{number}.txt", f"number {number}") for number in range(40)]
    with Sandbox() as sandbox:
        for file in files:
            begin_file(file, sandbox)
        assert sandbox._child is not None
        assert select.select([sandbox._child._replies], [], [], 30)[0]
        files[0].write_text("too late")
        texts = [read_text(file, sandbox) for file in files]
    assert texts == [f"number {number}" for number in range(40)]


def test_only_the_started_file_that_breaks_a_limit_is_blamed(tmp_path: Path) -> None:
    fine = [write_file(tmp_path, f"{number}.txt", f"number {number}") for number in range(6)]
    slow = tmp_path / "slow.jsonl.gz"
    with gzip.open(slow, "wb", compresslevel=1) as endless:
        endless.write(b'{"_id": "1", "text": "one"}\n')
        for _ in range(60):
            endless.write(b"\n" * 1_000_000)
    order = [*fine[:3], slow, *fine[3:]]
    with Sandbox(ParseLimits(wall_s=2)) as sandbox:
        for file in order:
            sandbox.begin(file)
        outcomes = []
        for file in order:
            try:
                outcomes += [
                    part.text for part in sandbox.parse(file) if isinstance(part, ParsedDocument)
                ]
            except ParseRefusal as refused:
                outcomes.append(refused.reason)
    texts = [f"number {number}" for number in range(6)]
    assert outcomes == [*texts[:3], "took longer than 2 s", *texts[3:]]


def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = write_file(tmp_path, "a.md", "a")
    with Sandbox() as sandbox:
        pipe.unlink()
        os.mkfifo(pipe)  # opening it would take for ever
        with pytest.raises(ParseRefusal, match="cannot be read"):
            list(sandbox.parse(pipe))


def test_started_files_may_be_skipped_and_others_come_between(tmp_path: Path) -> None:
    begun = [write_file(tmp_path, f"{number}.txt", f"number {number}") for number in range(4)]
    other = write_file(tmp_path, "other.txt", "another one")
    rows = write_file(tmp_path, "rows.jsonl", '{"_id": 1, "text": "row"}\n' * 5_000)
    with Sandbox() as sandbox:
        for file in begun:
            begin_file(file, sandbox)
        assert read_text(other, sandbox) == "another one"
        assert read_text(begun[0], sandbox) == "number 0"
        assert read_text(begun[2], sandbox) == "number 2"
        assert read_text(begun[3], sandbox) == "number 3"
        half = read_file(rows, sandbox)
        next(half)
        assert read_text(other, sandbox) == "another one"
        assert len(list(half)) == 4_999


def test_commands_never_fill_the_pipe(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(14):
        deep /= "d" * 240
    deep.mkdir(parents=True)
    files = [write_file(deep, f"{number}.txt", f"number {number}") for number in range(64)]
    with Sandbox() as sandbox:
        assert sandbox._child is not None
        os.kill(sandbox._child.pid, signal.SIGSTOP)
        for file in files:  # half a megabyte of commands, and nobody reads them
            begin_file(file, sandbox)
        os.kill(sandbox._child.pid, signal.SIGCONT)
        assert [read_text(file, sandbox) for file in files] == [
            f"number {number}" for number in range(64)
        ]
