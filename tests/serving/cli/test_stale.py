"""Sources that changed or vanished since they were read, and their update."""

from pathlib import Path

from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run

__all__ = ["corpus", "run"]  # fixtures

QUESTION = "How much does a mooring permit cost?"


def test_status_stale_names_changed_and_deleted_files(run: CommandRunner, corpus: Path) -> None:
    run("ingest", str(corpus))
    assert run("status", "--stale").out == "no file has changed since it was read\n"
    (corpus / "fees.md").write_text("# Fees\n\nA mooring permit costs 50 crowns a year.\n")
    one = run("status", "--stale").out.splitlines()[-1]
    assert one == "1 file differs; `fathom ingest` reads it again"
    (corpus / "hours.txt").unlink()
    output = run("status", "--stale")
    assert output.code == 0
    assert output.out.splitlines() == [
        f"{corpus / 'fees.md'}: changed since it was read",
        f"{corpus / 'hours.txt'}: gone since it was read",
        "2 files differ; `fathom ingest` reads them again",
    ]
    assert run("status", "--stale", "--json").json == {
        "stale": [
            {"path": str(corpus / "fees.md"), "reason": "changed since it was read"},
            {"path": str(corpus / "hours.txt"), "reason": "gone since it was read"},
        ]
    }


def test_an_answer_warns_of_a_changed_source(run: CommandRunner, corpus: Path) -> None:
    run("ingest", str(corpus))
    assert "warning" not in run("ask", QUESTION).out
    fees = corpus / "fees.md"
    fees.write_text("# Fees\n\nA mooring permit costs 50 crowns a year.\n")
    warning = f"  warning: [1] {fees}: changed since it was read; quoted as it was read before\n"
    assert warning in run("ask", QUESTION).out
    fees.unlink()
    gone = warning.replace("changed", "gone")
    assert gone in run("ask", QUESTION).out
    assert run("ask", QUESTION, "--json").json["warnings"] == [gone[len("  warning: ") : -1]]


def test_ingest_without_a_path_updates_all_recorded_folders(
    run: CommandRunner, corpus: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.md"
    alone.write_text("A file of its own.")
    run("ingest", str(corpus))
    run("ingest", str(alone))
    (corpus / "fees.md").write_text("# Fees\n\nA mooring permit costs 50 crowns a year.\n")
    (corpus / "new.md").write_text("Something new.")
    alone.write_text("A file of its own, changed.")
    done = run("ingest", "--json")
    assert done.code == 0
    assert (done.json["new"], done.json["changed"], done.json["unchanged"]) == (1, 2, 1)
    assert "50 crowns" in run("ask", QUESTION).out
    assert run("status", "--stale").out == "no file has changed since it was read\n"


def test_ingest_without_a_path_and_an_index_names_the_next_step(run: CommandRunner) -> None:
    check_one_line(run("ingest"), 2, "no index at", "fathom ingest PATH")
