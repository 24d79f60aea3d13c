"""`fathom source`: sources added, listed, synchronized, paused and removed."""

from pathlib import Path

from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401


def test_a_folder_is_followed_from_its_addition_to_its_removal(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    added = run("source", "add", str(corpus), "--name", "notices", "--json")
    assert (added.code, added.json["name"], added.json["url"]) == (0, "notices", str(corpus))
    check_one_line(run("source", "add", str(corpus)), 2, "notices is there already")
    assert "never synchronized" in run("source", "list").out
    (report,) = run("source", "sync", "--json").json["sources"]
    number = report["listed"]
    assert (
        number == report["ingested"]["new"] == len(run("docs", "list", "--json").json["documents"])
    )
    assert run("source", "sync", "notices").out.startswith(f"notices: {number} listed, 0 fetched")
    assert f"{number} objects" in run("source", "list").out
    run("source", "pause", "notices")
    assert run("source", "sync", "--json").json == {"sources": []}
    assert run("source", "list", "--json").json["sources"][0]["paused"] is True
    run("source", "pause", "notices", "--resume")
    assert run("source", "remove", "notices", "--json").json["removed"] == number
    assert run("docs", "list", "--json").json == {"documents": []}
    assert run("source", "list", "--json").json == {"sources": []}
    assert list(corpus.iterdir())


def test_a_source_that_is_away_keeps_its_documents_and_is_told(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    run("source", "add", str(corpus), "--name", "notices")
    run("source", "sync")
    corpus.rename(corpus.with_name("away"))
    ran = run("source", "sync")
    assert ran.code == 5
    assert "not complete, nothing was removed" in ran.out
    assert "not complete" in run("source", "list").out
    assert run("docs", "list", "--json").json["documents"]


def test_an_unknown_source_is_refused_in_one_line(run: CommandRunner) -> None:  # noqa: F811
    for command in ("sync", "pause", "remove"):
        check_one_line(run("source", command, "none"), 2, "no source 'none'")
    check_one_line(run("source", "add", "x", "--name", "No Name"), 2, "cannot name a source")


def test_ingestion_leaves_the_documents_of_sources_alone(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# Other\n\nThe other folder.\n")
    run("source", "add", str(corpus), "--name", "notices", "--exclude", "*.md")
    run("source", "sync")
    number = len(run("docs", "list", "--json").json["documents"])
    run("ingest", str(other))
    assert run("ingest", "--prune", "--json").json["unchanged"] == 1
    assert len(run("docs", "list", "--json").json["documents"]) == number + 1
    assert run("status", "--stale", "--json").json == {"stale": []}
    check_one_line(run("ingest", "--rebuild"), 2, "documents of sources", "source sync")
    run("ingest", "--rebuild", "--yes")
    assert len(run("docs", "list", "--json").json["documents"]) == 1
    run("source", "sync")
    assert len(run("docs", "list", "--json").json["documents"]) == number + 1
