"""Sources that changed or vanished since they were read, and how they are brought up to date."""

from pathlib import Path

from tests.serving.cli.test_app import Run, corpus, one_line, run

__all__ = ["corpus", "run"]  # fixtures

QUESTION = "How much does a mooring permit cost?"


def test_status_stale_names_what_changed_and_what_vanished(run: Run, corpus: Path) -> None:
    run("ingest", str(corpus))
    assert run("status", "--stale").out == "every file is as it was read\n"
    (corpus / "fees.md").write_text("# Fees\n\nA mooring permit costs 50 crowns a year.\n")
    (corpus / "hours.txt").unlink()
    shown = run("status", "--stale")
    assert shown.code == 0
    assert shown.out.splitlines() == [
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


def test_an_answer_warns_of_a_source_that_is_no_longer_what_was_read(
    run: Run, corpus: Path
) -> None:
    run("ingest", str(corpus))
    assert "warning" not in run("ask", QUESTION).out
    fees = corpus / "fees.md"
    fees.write_text("# Fees\n\nA mooring permit costs 50 crowns a year.\n")
    told = f"  warning: [1] {fees}: changed since it was read; quoted as it was read before\n"
    assert told in run("ask", QUESTION).out
    fees.unlink()
    gone = told.replace("changed", "gone")
    assert gone in run("ask", QUESTION).out
    assert run("ask", QUESTION, "--json").json["warnings"] == [gone[len("  warning: ") : -1]]


def test_ingest_without_a_path_brings_all_that_is_known_up_to_date(
    run: Run, corpus: Path, tmp_path: Path
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
    assert run("status", "--stale").out == "every file is as it was read\n"


def test_ingest_without_a_path_and_an_index_says_what_to_do(run: Run) -> None:
    one_line(run("ingest"), 2, "no index at", "fathom ingest PATH")
