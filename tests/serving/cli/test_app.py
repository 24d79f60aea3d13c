"""The command line's contract: shapes, exit codes, one clear line for each mistake.

Covers fathom.serving.cli.__main__.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.real_model import RealModel

from fathom.serving import cli
from fathom.settings.tree import GradingPromptFiles, PromptFiles
from fathom.testing.doubles import OVERLAP


class CommandOutput(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


CommandRunner = Callable[..., CommandOutput]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandRunner:
    """Run `fathom ...` in this process, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("fathom.assembly.models.load_shipped_reader", lambda *_, **__: OVERLAP)
    for name in list(os.environ):
        if name.startswith(("FATHOM_", "XDG_")):
            monkeypatch.delenv(name)

    def runner(*arguments: str) -> CommandOutput:
        monkeypatch.setattr(sys, "argv", ["fathom", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        code = exit_.value.code
        return CommandOutput(code if isinstance(code, int) else 0, captured.out, captured.err)

    return runner


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "fees.md").write_text(
        "# Fees\n\nA mooring permit costs 40 crowns a year. It is paid at the harbour office.\n"
    )
    (folder / "hours.txt").write_text(
        "Opening hours\n\nThe library opens at nine in the morning and closes at six.\n"
    )
    return folder


def check_one_line(ran: CommandOutput, code: int, *parts: str) -> None:
    assert ran.code == code
    assert ran.err.startswith("fathom: ")
    assert ran.err.count("\n") == 1
    for part in parts:
        assert part in ran.err
    assert ran.out == ""


def test_documents_are_ingested_searched_asked_listed_shown_and_removed(
    run: CommandRunner, corpus: Path
) -> None:
    ingested = run("ingest", str(corpus), "--json")
    assert ingested.code == 0
    assert list(ingested.json) == [
        "new", "changed", "unchanged", "removed", "failed", "stale", "skipped", "chunks",
        "filled", "unembedded", "seconds", "files", "untold",
    ]  # fmt: skip
    assert (ingested.json["new"], ingested.json["failed"]) == (2, 0)
    assert {file["outcome"] for file in ingested.json["files"]} == {"ok"}

    again = run("ingest", str(corpus))
    assert again.code == 0
    assert again.out.startswith("0 new, 0 changed, 2 unchanged")

    searched = run("search", "mooring permit", "--json", "-k", "1")
    assert searched.code == 0
    (hit,) = searched.json["hits"]
    assert "40 crowns" in hit["text"]

    answered = run("ask", "How much does a mooring permit cost?", "--json")
    assert answered.code == 0
    assert answered.json["status"] == "answered"
    (citation, *_) = answered.json["citations"]
    text = (corpus / "fees.md").read_text()
    assert citation["quote"] in text
    assert citation["verified"] is True
    assert citation["document"] == hit["document"]

    listed = run("docs", "list", "--json").json["documents"]
    assert [Path(document["path"]).name for document in listed] == ["fees.md", "hours.txt"]
    assert list(listed[0]) == ["id", "path", "title", "language", "chunks", "updated"]

    printed = run("docs", "show", listed[1]["id"])
    assert "opens at nine" in printed.out

    removed = run("docs", "rm", listed[0]["id"])
    assert (removed.code, removed.out) == (0, "1 removed\n")
    assert "40 crowns" not in run("search", "mooring permit").out
    assert run("status", "--json").json["documents"] == 1


def test_an_index_without_folders_has_nothing_to_ingest(run: CommandRunner, corpus: Path) -> None:
    run("ingest", str(corpus))
    assert run("docs", "rm", str(corpus)).out == "2 removed\n"
    check_one_line(run("ingest"), 2, "asked to hold nothing; name a file or folder")


def test_a_question_that_the_documents_do_not_answer_is_an_abstention(
    run: CommandRunner, corpus: Path
) -> None:
    run("ingest", str(corpus))
    ran = run("ask", "Which enzyme unwinds the double helix of chromosomes?", "--json")
    assert ran.code == 3
    assert ran.json["status"] == "abstained"
    assert ran.json["answer"] == ""
    assert ran.json["stop_reason"] in {"no_evidence", "low_confidence"}


def test_an_eager_level_shows_a_weak_answer_as_not_sure_with_a_code_of_its_own(
    run: CommandRunner, corpus: Path
) -> None:
    run("ingest", str(corpus))
    weak = ("ask", "When is the harbour office open in the morning, and when does it close at six?")
    assert run(*weak).code == 3
    eager = (*weak, "--set", "ask.caution=eager")
    ran = run(*eager)
    assert (ran.code, ran.out.split(":")[0]) == (8, "Not sure")
    answer = run(*eager, "--json").json
    assert (answer["status"], answer["tentative"]) == ("answered", True)
    (citation, *_) = answer["citations"]
    assert (
        citation["quote"] in (corpus / "fees.md").read_text() + (corpus / "hours.txt").read_text()
    )
    assert "tentative" in run("trace").out
    assert run("replay", answer["trace_id"]).out.startswith("the same answer, byte for byte")
    other = run("replay", answer["trace_id"], "--set", "ask.caution=balanced")
    assert other.out.startswith("differs: ")
    assert run("ask", weak[1], "--set", "ask.caution=reckless").code == 2


def test_a_changed_file_replaces_its_document(run: CommandRunner, corpus: Path) -> None:
    run("ingest", str(corpus))
    (corpus / "fees.md").write_text("# Fees\n\nA mooring permit costs 55 crowns a year.\n")
    assert run("ingest", str(corpus), "--json").json["changed"] == 1
    printed = run("search", "mooring permit").out
    assert "55 crowns" in printed
    assert "40 crowns" not in printed


def test_prune_removes_deleted_files(run: CommandRunner, corpus: Path) -> None:
    run("ingest", str(corpus))
    (corpus / "fees.md").unlink()
    assert run("ingest", str(corpus), "--json").json["removed"] == 0
    assert run("ingest", str(corpus), "--prune", "--json").json["removed"] == 1
    assert run("status", "--json").json["documents"] == 1


def test_prune_removes_records_deleted_from_their_file(run: CommandRunner, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    file = tmp_path / "set" / "corpus.jsonl"
    lines = [f'{{"_id": "d{n}", "text": "Ferry {n} sails at noon."}}\n' for n in range(3)]
    file.write_text("".join(lines))
    run("ingest", str(file.parent))
    file.write_text(lines[0] + lines[2])
    assert run("ingest", str(file.parent), "--json").json["removed"] == 0
    pruned = run("ingest", str(file.parent), "--prune", "--json").json
    assert (pruned["removed"], pruned["unchanged"]) == (1, 2)
    assert [document["id"] for document in run("docs", "list", "--json").json["documents"]] == [
        "d0",
        "d2",
    ]
    file.write_text(lines[0] + "no JSON\n")  # what line it was nobody knows; the rest is known
    assert run("ingest", str(file.parent), "--prune", "--json").json["removed"] == 1
    file.write_bytes(b"\xff\xfe\x00")  # a file that cannot be read says nothing of its records
    assert run("ingest", str(file.parent), "--prune", "--json").json["removed"] == 0


def test_a_bad_file_does_not_stop_the_others(
    run: CommandRunner, corpus: Path, tmp_path: Path
) -> None:
    (corpus / "broken.pdf").write_bytes(b"%PDF-1.7 nothing of use")
    (corpus / "blank.txt").write_text("   \n")
    report = tmp_path / "report.json"
    ingested = run("ingest", str(corpus), "--json", "--report", str(report))
    assert ingested.code == 6
    assert (ingested.json["new"], ingested.json["failed"]) == (2, 2)
    outcomes = {Path(file["path"]).name: file for file in ingested.json["files"]}
    assert outcomes["blank.txt"]["outcome"] == "empty"
    assert outcomes["broken.pdf"]["outcome"] == "failed"
    assert all(outcomes[name]["reason"] for name in ("blank.txt", "broken.pdf"))
    assert json.loads(report.read_text()) == ingested.json
    assert run("ingest", str(corpus)).code == 6  # they are still not in


def test_each_line_of_a_corpus_file_is_a_document(run: CommandRunner, tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    folder.mkdir()
    rows = [
        {"_id": "x1", "title": "Ferry", "text": "The ferry sails at noon.", "metadata": {"y": 1}},
        {"_id": "x2", "title": "", "text": "The bridge is closed in winter."},
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("ingest", str(folder), "--json").json["new"] == 2
    assert run("ingest", str(folder), "--json").json["unchanged"] == 2
    (hit, *_) = run("search", "when does the ferry sail", "--json").json["hits"]
    assert hit["document"] == "x1"
    filtered = run("search", "ferry bridge", "--filter", "y=1", "--json").json["hits"]
    assert [hit["document"] for hit in filtered] == ["x1"]


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (("search", "x"), 2, ("no index", "fathom ingest")),
        (("ask", "x"), 2, ("no index", "fathom ingest")),
        (("ingest", "nowhere"), 2, ("nowhere", "no such file")),
        (("ingest", "void"), 2, ("void", "no file")),
        (("ask", "  "), 2, ("question is empty",)),
        (("ask", "x" * 200_000), 2, ("200000 characters", "document")),
        (("search", "x", "-k", "0"), 2, ("k = 0",)),
        (("search", "x", "--set", "retrieval.kk=1"), 2, ("did you mean 'retrieval.k'",)),
        (("search", "x", "--filter", "y"), 2, ("key=value",)),
        (("eval", "void"), 2, ("corpus.jsonl",)),
        (("ingest", "void", "--set", "models.embedder=nobody/none"), 2, ("void",)),
    ],
)
def test_mistakes_are_one_line_with_the_next_step(
    run: CommandRunner,
    tmp_path: Path,
    arguments: tuple[str, ...],
    code: int,
    parts: tuple[str, ...],
) -> None:
    (tmp_path / "void").mkdir()
    check_one_line(run(*arguments), code, *parts)


def test_mistakes_on_an_existing_index_are_one_line(run: CommandRunner, corpus: Path) -> None:
    run("ingest", str(corpus))
    check_one_line(run("search", "x", "-k", "0"), 2, "at least 1")
    check_one_line(run("search", "x", "--retriever", "magic"), 2, "vector, keyword, hybrid")
    check_one_line(run("docs", "show", "nothing"), 2, "no document 'nothing'", "docs list")
    check_one_line(run("docs", "rm", "nothing"), 2, "no document 'nothing'")
    check_one_line(run("ingest", str(corpus), "--set", "chunking.max_tokens=64"), 2, "--rebuild")
    assert run("status", "--json").json["documents"] == 2
    rebuilt = run("ingest", str(corpus), "--rebuild", "--set", "chunking.max_tokens=64", "--json")
    assert rebuilt.json["new"] == 2


def test_a_damaged_index_names_the_next_step(
    run: CommandRunner, corpus: Path, tmp_path: Path
) -> None:
    run("ingest", str(corpus))
    (tmp_path / ".fathom" / "fathom.db").write_bytes(b"not a database" * 1000)
    check_one_line(run("search", "permit"), 5, "fathom.db", "--rebuild")
    assert run("doctor").code == 5
    assert run("ingest", str(corpus), "--rebuild", "--json").json["new"] == 2


@pytest.mark.parametrize("flags", [(), ("--rebuild",)])
def test_an_interrupted_ingestion_reports_what_is_stored(
    run: CommandRunner, corpus: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    run("ingest", str(corpus))
    for number in range(3):
        (corpus / f"more{number}.md").write_text(f"More text, number {number}.")
    command = ("ingest", str(corpus), "--set", "ingest.batch_documents=1", *flags)

    def interrupt(text: str) -> str:
        if "number 1" in text:
            raise KeyboardInterrupt
        return "en"

    with monkeypatch.context() as patch:
        patch.setattr("fathom.ingest.workers.work.detect_language", interrupt)
        where = "the new index beside the old one" if flags else "the index"
        check_one_line(run(*command), 130, f"stored in {where} (3 of 5 files)", "to continue")
    assert run("status", "--json").json["documents"] == (2 if flags else 3)
    done = run(*command, "--json").json
    assert (done["new"], done["unchanged"]) == (2, 3)


def test_an_interrupted_command_is_reported_in_one_line(
    run: CommandRunner, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run("ingest", str(corpus))
    monkeypatch.setattr("fathom.engine.Engine.ask", interrupt)
    check_one_line(run("ask", "What costs 40 crowns?"), 130, "interrupted", "same command")
    shown = run("ask", "What costs 40 crowns?", "--json")
    assert (shown.code, shown.json["error"]["exit_code"]) == (130, 130)


def test_a_command_interrupted_at_its_start_is_reported_in_one_line(
    run: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupter:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "fathom.serving.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "fathom.serving.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupter, *sys.meta_path])
    check_one_line(run("status"), 130, "interrupted", "same command")


def test_a_rebuild_that_would_lose_folders_is_refused(run: CommandRunner, corpus: Path) -> None:
    run("ingest", str(corpus))
    other = corpus.with_name("other")
    other.mkdir()
    (other / "a.md").write_text("Some text.")
    check_one_line(
        run("ingest", str(other), "--rebuild"), 2, "lose 2 documents", str(corpus), "--yes"
    )
    assert run("status", "--json").json["documents"] == 2
    assert run("ingest", str(other), "--rebuild", "--yes", "--json").json["new"] == 1


def test_names_that_are_not_utf8_are_read_and_listed(run: CommandRunner, corpus: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (corpus / name).write_text("The cellar keeps three hundred barrels of cider.\n")
    assert run("ingest", str(corpus), "--json").json["new"] == 3
    assert "caf\\xe9.txt" in run("docs", "list").out
    assert run("ingest", str(corpus), "--json").json["unchanged"] == 3


def test_offline_mode_opens_no_socket(
    run: CommandRunner, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert run("ingest", str(corpus), "--offline").code == 0
    assert run("search", "permit", "--offline").code == 0
    check_one_line(
        run("search", "x", "--offline", "--set", "models.embedder=some/model"), 5, "offline"
    )


def test_settings_show_their_origin(run: CommandRunner, tmp_path: Path) -> None:
    (tmp_path / "fathom.toml").write_text("[retrieval]\nk = 7\n")
    shown_settings = run("config", "show", "--json").json
    assert shown_settings["retrieval.k"]["value"] == 7
    assert shown_settings["retrieval.k"]["origin"].endswith("fathom.toml")
    assert "retrieval.k = 7" in run("config", "show").out
    assert "anchor.min_score" not in shown_settings
    constants = run("config", "show", "--constants", "--json").json
    assert constants["anchor.min_score"] == {"value": 0.5, "origin": "default"}


def test_a_constant_is_refused_with_its_page(run: CommandRunner) -> None:
    refused = run("config", "show", "--set", "anchor.gate=false")
    check_one_line(
        refused, 2, "anchor.gate in --set is a constant of anchor", "docs/strategies/anchor.md"
    )


def test_the_doctor_reports_local_models(run: CommandRunner, real_model: RealModel) -> None:
    findings = {finding["name"]: finding for finding in run("doctor", "--json").json["findings"]}
    assert f"{real_model.file.name} of 98 MB" in findings["local language model"]["detail"]
    wrong_findings = run("doctor", "--json", "--set", "llm.model=local:/nowhere/m.gguf").json[
        "findings"
    ]
    (wrong,) = (finding for finding in wrong_findings if not finding["ok"])
    assert wrong["detail"].startswith("local:/nowhere/m.gguf cannot be read: No such file")


def test_a_missing_local_model_is_reported_in_one_line(run: CommandRunner, corpus: Path) -> None:
    pytest.importorskip("xllamacpp")
    run("ingest", str(corpus))
    output = run("ask", "What is it?", "-m", "local:/nowhere/m.gguf")
    check_one_line(output, 2, "name another file")


def test_prompts_are_listed_shown_and_replaced_by_a_file(
    run: CommandRunner, tmp_path: Path
) -> None:
    listed = run("config", "prompts", "--json").json["prompts"]
    fields = [*PromptFiles.model_fields, *GradingPromptFiles.model_fields]
    assert [field["name"] for field in listed] == fields
    assert run("config", "prompts", "no_hallucination").out.startswith("You check whether")
    assert {field["source"] for field in listed} == {None}
    reader = run("config", "prompts", "reader", "--json").json
    assert reader in listed
    assert reader["text"] == run("config", "prompts", "reader").out.rstrip("\n")
    assert f"reader               {reader['version']}  shipped" in run("config", "prompts").out

    mine = tmp_path / "mine" / "reader.txt"
    mine.parent.mkdir()
    mine.write_text("Answer.\n")
    (tmp_path / "fathom.toml").write_text('[llm]\nprompts = "mine"\n')
    prompt = run("config", "prompts", "reader", "--json").json
    assert (prompt["source"], prompt["text"]) == ("mine/reader.txt", "Answer.")
    assert prompt["version"] != reader["version"]
    mine.write_text("Answer for $5.\n")
    check_one_line(run("config", "prompts"), 2, "llm.prompts: 'mine/reader.txt' holds a $")
    check_one_line(run("config", "prompts", "poet", "--set", "llm.prompts="), 2, "no prompt 'poet'")


def test_the_doctor_accepts_a_sound_installation(run: CommandRunner, corpus: Path) -> None:
    assert run("doctor").code == 0
    run("ingest", str(corpus))
    checked = run("doctor", "--json")
    assert checked.code == 0
    assert any("2 documents" in finding["detail"] for finding in checked.json["findings"])


def test_importing_fathom_opens_no_socket_and_loads_no_heavy_library() -> None:
    program = (
        "import sys\n"
        "sys.addaudithook(lambda event, _: sys.exit(9) if event.startswith('socket.') else None)\n"
        "import fathom, fathom.serving.cli\n"
        "heavy = {'numpy', 'onnxruntime', 'tantivy', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(8 if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_command_ends_without_a_last_look_for_garbage() -> None:
    program = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1_000 > len(gc.get_objects())))\n"
        "from fathom.serving.cli import main\n"
        "main()"
    )
    command = [sys.executable, "-c", program, "--version"]
    assert subprocess.check_output(command).split() == [b"0.1.0", b"True"]


def test_help_and_version_are_printed(run: CommandRunner) -> None:
    printed = run("--help").out
    assert printed.index("  ingest ") < printed.index("  ask ") < printed.index("  search ")
    assert printed.index("  search ") < printed.index("  status ") < printed.index("  doctor ")
    assert run("--version").out.strip() == "0.1.0"
    assert run("ask").code == 2


def test_files_of_other_formats_are_skipped_with_a_count(run: CommandRunner, corpus: Path) -> None:
    (corpus / "a.gif").write_bytes(b"GIF89a" + bytes(99))
    (corpus / "b.gif").write_bytes(b"GIF89a" + bytes(98))
    ingested = run("ingest", str(corpus), "--json")
    assert ingested.code == 0
    assert (ingested.json["new"], ingested.json["failed"], ingested.json["skipped"]) == (2, 0, 2)
    again = run("ingest", str(corpus))
    assert again.code == 0
    assert "0 failed, 2 skipped" in again.out
    assert "skipped       2 x is a picture of a kind that is not read" in again.out
    assert run("status", "--json").json["failed"] == 0
    # Named, or meant by a pattern, it is missing.
    assert run("ingest", str(corpus / "a.gif")).code == 6
    assert run("ingest", str(corpus), "--include", "*.gif").code == 6


def test_patterns_select_files(run: CommandRunner, corpus: Path, tmp_path: Path) -> None:
    def list_names() -> list[str]:
        listed = run("docs", "list", "--json").json["documents"]
        return [Path(document["path"]).name for document in listed]

    check_one_line(run("ingest", str(corpus), "--include", "*.rst"), 2, "--include and --exclude")
    assert run("ingest", str(corpus), "--include", "*.md").code == 0
    assert list_names() == ["fees.md"]
    (tmp_path / "fathom.toml").write_text('[ingest]\nexclude = ["f*"]\n')
    assert run("ingest", str(corpus)).code == 0
    assert list_names() == ["fees.md", "hours.txt"]


def test_typed_front_matter_can_be_filtered_and_is_listed(
    run: CommandRunner, tmp_path: Path
) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    for year in (2020, 2021, 2022):
        head = f"---\nyear: {year}\nfinal: {str(year < 2022).lower()}\nread-on: {year}-05-01\n---\n"
        (folder / f"{year}.md").write_text(f"{head}\nThe harbour report of spring {year}.\n")
    assert run("ingest", str(folder)).code == 0

    def search_names(*conditions: str) -> set[str]:
        filters = [part for condition in conditions for part in ("--filter", condition)]
        hits = run("search", "harbour report", "--json", *filters).json["hits"]
        return {hit["text"].rstrip(".")[-4:] for hit in hits}

    assert search_names("year>=2021") == {"2021", "2022"}
    assert search_names("year>=2021", "final=true") == {"2021"}
    assert search_names("read-on<2021-06") == {"2020", "2021"}
    assert search_names("read-on>2021") == {"2022"}
    lost = run("search", "harbour report", "--filter", "yaer>=2021")
    assert lost.out == "nothing found\n"
    assert lost.err == "fathom: no document has 'yaer'; `fathom status` lists the keys\n"
    assert run("search", "harbour report", "--filter", "year>2030").err == ""
    answer = run("ask", "Which harbour report?", "--filter", "yaer>=2021", "--json").json
    assert answer["warnings"] == ["no document has 'yaer'; `fathom status` lists the keys"]
    keys = run("status", "--json").json["keys"]
    assert keys["year"] == {"kinds": ["number"], "documents": 3}
    assert keys["read-on"]["kinds"] == ["date"]
    status = run("status").out
    assert "filter by path, file, folder, title, language, document" in status
    assert "  final: bool (3 documents)" in status


def test_the_command_line_reads_a_conversation_from_a_file(
    run: CommandRunner, corpus: Path, tmp_path: Path
) -> None:
    before = [{"role": "user", "content": "Where is a mooring permit paid?"}]
    follows, alone = "And how much does it cost?", "How much does a mooring permit cost?"
    file = tmp_path / "history.json"
    file.write_text(json.dumps(before))
    assert run("ingest", str(corpus)).code == 0
    answer = run("ask", follows, "--history", str(file), "--json").json
    assert (answer["question"], answer["standalone_question"]) == (follows, alone)
    assert run("ask", alone, "--json").json["standalone_question"] is None
    completed = run("ask", follows, "--history", str(file))
    assert completed.out.startswith(f"Understood as: {alone}\n")
    file.write_text("hello")
    wrong = run("ask", follows, "--history", str(file))
    assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1)
    assert "history.json:1: not JSON" in wrong.err
