"""Streams that cannot encode the output, files that cannot be written, an index being filled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401 - fixtures

from fathom.engine import Engine
from fathom.index.embedded.lock import WriterLock
from fathom.index.embedded.opening import open_writer
from fathom.serving.cli.errors import end_quietly
from fathom.serving.cli.files import check_folder, check_outputs, check_writable
from fathom.settings import IndexSettings, Settings

FATHOM = (sys.executable, "-m", "fathom")


@pytest.fixture(scope="module")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of one document whose letters some terminals lack."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "ferry.md").write_text("# Fährplan\n\nDie Fähre „Žofie“ fährt um zwölf.\n")
    with Engine(Settings(index=IndexSettings(directory=folder / ".fathom"))) as engine:
        engine.ingest([folder / "ferry.md"])
    return folder


def run_shell(place: Path, command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run `fathom ...` as a shell does, with its redirections."""
    line = command.replace("fathom", " ".join(FATHOM))
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=place,
        env=inherited | {"HOME": str(place)} | environment,
        capture_output=True,
        check=False,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "command", ["fathom docs show ferry.md", "fathom docs list --json", "fathom --help"]
)
def test_a_full_disk_is_reported_in_one_line(index_folder: Path, command: str) -> None:
    ran = run_shell(index_folder, f"{command} > /dev/full")
    assert ran.returncode == 5
    assert ran.stderr == b"fathom: the output cannot be written: No space left on device\n"


def test_a_closed_stream_accepts_everything(index_folder: Path) -> None:
    ran = run_shell(index_folder, "fathom docs show ferry.md >&- 2>&-")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert run_shell(index_folder, "fathom docs show nothing 2>&-").returncode == 2


def test_a_reader_that_stops_reading_is_no_error(index_folder: Path) -> None:
    ran = run_shell(index_folder, "fathom docs show ferry.md | true")
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_the_letters_shows_the_rest(index_folder: Path, encoding: str) -> None:
    ran = run_shell(index_folder, "fathom docs show ferry.md", PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert "hrt um zw" in ran.stdout.decode(encoding)


def test_a_terminal_without_the_letters_gets_json_and_errors(index_folder: Path) -> None:
    as_json = run_shell(index_folder, "fathom docs show ferry.md --json", PYTHONIOENCODING="ascii")
    assert "Žofie" in json.loads(as_json.stdout)["text"]  # no letter is lost
    missing = run_shell(index_folder, "fathom docs show Žofie", PYTHONIOENCODING="ascii")
    assert missing.returncode == 2
    assert b"a bug" not in missing.stderr
    assert missing.stderr.count(b"\n") == 1


def test_the_ctrl_c_that_ends_a_server_needs_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end, end_quietly():
        raise KeyboardInterrupt
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_checking_whether_a_file_is_writable_leaves_no_trace(tmp_path: Path) -> None:
    check_writable(tmp_path / "new.json")
    (tmp_path / "old.json").write_text("kept")
    check_writable(tmp_path / "old.json")
    check_writable(Path("/dev/null"))
    check_folder(tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "kept"
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_an_unwritable_file_is_reported_before_the_work(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    check_one_line(run("ingest", str(corpus), "--report", "none/r.json"), 2, "none/r.json")
    check_one_line(run("status"), 2, "no index")  # nothing was ingested
    beir = tmp_path / "set"
    beir.mkdir()
    (beir / "corpus.jsonl").write_text('{"_id": "d", "text": "The ferry sails at noon."}\n')
    (beir / "queries.jsonl").write_text('{"_id": "q", "text": "When does the ferry sail?"}\n')
    check_one_line(
        run("eval", str(beir), "--records", str(beir / "corpus.jsonl")), 2, "corpus.jsonl"
    )
    assert not (tmp_path / ".fathom").exists()


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("eval asked.jsonl --strategy naive --html r --markdown ./r", "r"),
        ("eval asked.jsonl --strategy naive --markdown old --save-baseline link", "link"),
        ("eval asked.jsonl --strategy naive --markdown asked.jsonl", "asked.jsonl"),
        ("eval asked.jsonl --strategy naive --labels old --judge correctness --html old", "old"),
        ("eval asked.jsonl --strategy naive --gate old --markdown old", "old"),
        ("tune asked.jsonl --html r --markdown r", "r"),
        ("tune asked.jsonl --markdown asked.jsonl", "asked.jsonl"),
        ("train planner asked.jsonl --curves planner.json", "planner.json"),
        ("train planner asked.jsonl --records old --out old", "old"),
        ("train weights weights.json", "weights.json"),
        ("ingest old --report link", "link"),
    ],
)
def test_an_output_replaces_no_other_file_of_its_command(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
    command: str,
    file: str,
) -> None:
    for name in ("old", "asked.jsonl", "weights.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "link").symlink_to("old")
    check_one_line(run(*command.split()), 2, f"{file}: the command names this file twice")
    assert (tmp_path / "old").read_text() == (tmp_path / "asked.jsonl").read_text() == "{}"


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("eval beir --html beir/queries.jsonl", "queries.jsonl: the command names this file twice"),
        ("eval beir --markdown beir/qrels.tsv", "qrels.tsv: the command names this file twice"),
        ("eval beir --save-baseline beir/corpus/d.md", "d.md: the command reads "),
        ("tune beir --html beir/corpus/new.html", "new.html: the command reads "),
        ("train planner beir --curves beir/queries.jsonl", "queries.jsonl: the command names"),
        ("train weights beir --out beir/corpus/w.json", "w.json: the command reads "),
        ("tune mine.jsonl --write --html fathom.toml", "fathom.toml: the settings are read from"),
        ("eval beir --markdown ./fathom.toml", "fathom.toml: the settings are read from"),
        ("questions make --out fathom.toml", "fathom.toml: the settings are read from"),
        ("ingest beir --report beir/corpus/d.md", "d.md: the command reads this file as a"),
        ("ingest beir/corpus --report beir/corpus/c.json", "c.json: the command reads this file"),
    ],
)
def test_no_output_replaces_a_file_that_its_command_reads(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
    command: str,
    part: str,
) -> None:
    (tmp_path / "beir" / "corpus").mkdir(parents=True)
    inputs = [tmp_path / "fathom.toml", tmp_path / "mine.jsonl"]
    inputs += [tmp_path / "beir" / name for name in ("queries.jsonl", "qrels.tsv", "corpus/d.md")]
    for file in inputs:
        file.write_text("# as before\n")
    (tmp_path / "beir" / "corpus" / "c.json").write_text('{"files": []}')
    check_one_line(run(*command.split()), 2, part)
    assert {file.read_text() for file in inputs} == {"# as before\n"}
    assert (tmp_path / "beir" / "corpus" / "c.json").read_text() == '{"files": []}'


def test_a_report_in_an_ingested_folder_replaces_an_earlier_one(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    report = corpus / "report.json"
    for content in (None, "", None):
        if content is not None:
            report.write_text(content)
        # The report is a document too, but an empty one has no text.
        assert run("ingest", str(corpus), "--report", str(report)).code in {0, 6}
        assert json.loads(report.read_text())["files"]


def test_two_outputs_may_go_to_one_device() -> None:
    check_outputs([Path("/dev/null"), None, Path("/dev/null")], [Path("/dev/null")])


def test_an_empty_index_is_reported(run: CommandRunner, corpus: Path, tmp_path: Path) -> None:  # noqa: F811
    run("ingest", str(corpus / "fees.md"))
    run("docs", "rm", str(corpus / "fees.md"))
    for command in ("ask", "search"):
        check_one_line(run(command, "mooring"), 2, "holds no documents yet", "fathom ingest PATH")
    assert run("docs", "list").code == 0


def test_an_index_that_is_still_filling_is_reported(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    run("ingest", str(corpus / "fees.md"))
    assert run("search", "permit").err == ""
    with open_writer(tmp_path / ".fathom", None):
        hits = run("search", "permit", "--json")
        answer = run("ask", "How much does a mooring permit cost?", "--json")
    for ran in (hits, answer):
        assert ran.code == 0
        assert "is writing to the index; unfinished documents are not found yet" in ran.err
    run("docs", "rm", str(corpus / "fees.md"))
    with WriterLock(tmp_path / ".fathom" / "lock"):
        ran = run("ask", "How much does a mooring permit cost?")
    assert (ran.code, ran.out) == (2, "")
    assert "holds no documents yet: process" in ran.err
    assert "fills it, ask again later" in ran.err


def test_explain_is_part_of_the_json_too(run: CommandRunner, corpus: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    question = "How much does a mooring permit cost?"
    plain = run("ask", question, "--json").json
    explained = run("ask", question, "--json", "--explain").json
    assert "steps" not in plain
    assert {*explained} - {*plain} == {"steps"}
    names = [step["name"] for step in explained["steps"]]
    assert names[:2] == ["search", "read"]
    assert all(
        {"agent", "inputs", "outputs", "reason", "seconds"} <= {*step}
        for step in explained["steps"]
    )
    unkept = run("ask", question, "--json", "--explain", "--set", "trace.enabled=false").json
    assert unkept["steps"] is None
