"""`fathom source`: sources added, listed, synchronized, paused and removed."""

import sqlite3
from pathlib import Path

from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401
from tests.serving.cli.test_readers import list_names
from tests.source_worlds import GitWorld

from fathom import Engine
from fathom.index.embedded.lock import WriterLock


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
    assert f"{number} documents" in run("source", "list").out
    run("source", "pause", "notices")
    assert run("source", "sync", "--json").json == {"sources": []}
    (listed,) = run("source", "list", "--json").json["sources"]
    assert (listed["paused"], listed["documents"]) == (True, number)
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


def test_a_source_that_cannot_be_opened_does_not_stop_the_others(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    run("source", "add", "git+https://example.org/a.git", "--name", "a-first")
    run("source", "add", str(corpus), "--name", "notices")
    ran = run("source", "sync", "--offline", "--json")
    assert ran.code == 5
    first, second = ran.json["sources"]
    assert first["fault"].startswith("offline:")
    assert second["ingested"]["new"] == second["listed"] > 0
    check_one_line(run("source", "sync", "a-first", "--offline"), 2, "offline")


def test_a_source_that_another_process_reads_does_not_stop_the_others(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "first").mkdir()
    run("source", "add", str(tmp_path / "first"))
    run("source", "add", str(corpus), "--name", "notices")
    folder = tmp_path / ".fathom" / "sources" / "first"
    folder.mkdir(parents=True)
    with WriterLock(folder / "lock"):
        ran = run("source", "sync", "--json")
    assert ran.code == 5
    first, second = ran.json["sources"]
    assert "first is being written by process" in first["fault"]
    assert second["ingested"]["new"] == second["listed"] > 0


def test_documents_of_sources_are_named_by_their_addresses(
    run: CommandRunner,  # noqa: F811
    tmp_path: Path,
) -> None:
    world = GitWorld(tmp_path / "handbook")
    world.write(
        {"fees.md": "# Fees\n\nA mooring permit costs 40 crowns a year.\n", "b/c.md": "Text."}
    )
    run("source", "add", world.url)
    run("source", "sync")
    address = f"file://{world.folder}"
    answer = run("ask", "What does a mooring permit cost?", "--json").json
    assert answer["citations"][0]["path"] == f"{address}/fees.md"
    assert not answer.get("warnings")
    assert "40 crowns" in run("docs", "show", f"{address}/fees.md").out
    assert run("docs", "rm", f"{address}/b/*", "--json").json == {"removed": 1}
    assert run("docs", "rm", address, "--json").json == {"removed": 1}
    assert run("source", "sync", "--json").json["sources"][0]["fetched"] == 2


def test_rules_of_rights_name_addresses(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    world = GitWorld(tmp_path / "handbook")
    names = ("hr/a.md", "open/b.md", "open/c.md", "open/c.md.readers.toml")
    world.write({name: f"# {name}\n\nText of {name}.\n" for name in names})
    rules = tmp_path / "readers.toml"
    rules.write_text(
        f'[[rule]]\npath = "file://{world.folder}/open/*"\nreaders = ["*"]\n'
        '[[rule]]\npath = "*"\nreaders = ["hr"]\n'
    )
    run("ingest", str(corpus), "--readers", str(rules))
    run("source", "add", world.url)
    ran = run("source", "sync")
    assert ran.code == 6
    assert "c.md.readers.toml: Expected '='" in ran.out
    assert "nobody may read its document until it is mended" in ran.out
    with Engine.open(tmp_path / ".fathom", {"offline": True}) as engine:
        shown = list_names(engine)
        everything = list_names(engine, "hr")
    assert shown == {"b.md"}
    assert everything == {"a.md", "b.md", *(file.name for file in corpus.iterdir())}


def test_sources_with_an_interval_are_synchronized_when_they_are_due(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    check_one_line(run("source", "add", str(corpus), "--every", "10s"), 2, "1m to 30d")
    run("source", "add", str(corpus), "--name", "notices", "--every", "1h")
    other = tmp_path / "other"
    other.mkdir()
    run("source", "add", str(other))
    assert "0 documents, every 1h, never synchronized" in run("source", "list").out
    (report,) = run("source", "sync", "--due", "--json").json["sources"]
    assert (report["source"], report["fault"]) == ("notices", "")
    assert run("source", "sync", "--due").out.strip() == "no source is due"
    with sqlite3.connect(tmp_path / ".fathom" / "sources.db") as connection:
        connection.execute("UPDATE sources SET synced = '2026-01-01T00:00:00+00:00'")
    connection.close()
    run("source", "pause", "notices")
    assert run("source", "sync", "--due", "--json").json == {"sources": []}
    run("source", "pause", "notices", "--resume")
    assert len(run("source", "sync", "--due", "--json").json["sources"]) == 1
    check_one_line(run("source", "sync", "notices", "--due"), 2, "leave out the name")


def test_the_failure_of_a_source_is_listed(run: CommandRunner, tmp_path: Path) -> None:  # noqa: F811
    run("source", "add", "git+https://example.org/a.git", "--name", "far", "--every", "1h")
    assert run("source", "sync", "--due", "--offline").code == 5
    (source,) = run("source", "list", "--json").json["sources"]
    assert source["fault"].startswith("offline:")
    assert run("source", "sync", "--due", "--json").json == {"sources": []}


def test_sources_of_an_earlier_version_stay(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    run("source", "add", str(corpus), "--name", "notices")
    run("source", "sync")
    with sqlite3.connect(tmp_path / ".fathom" / "sources.db") as connection:
        connection.execute("ALTER TABLE sources DROP COLUMN every")
        connection.execute("ALTER TABLE sources DROP COLUMN with_secrets")
        connection.execute("DROP TABLE sidecars")
    connection.close()
    (source,) = run("source", "list", "--json").json["sources"]
    assert (source["every"], source["with_secrets"]) == ("", True)
    assert run("source", "sync", "--json").json["sources"][0]["fetched"] == 0
