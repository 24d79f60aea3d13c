"""Places in short output: relative to the working directory or to the ingested folder."""

from pathlib import Path

import pytest
from tests.factories import QUESTION
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401
from tests.serving.cli.test_search import COST, QUERY, filled  # noqa: F401

from fathom.retrieval.excerpts import Excerpt, Excerpts
from fathom.serving.cli.output import format_excerpts


@pytest.fixture
def outside(
    filled: CommandRunner,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> CommandRunner:
    """Run commands in a folder that is not above the documents."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("FATHOM_INDEX__DIRECTORY", str(tmp_path / ".fathom"))
    monkeypatch.chdir(elsewhere)
    return filled


def test_a_place_outside_the_working_directory_is_named_in_its_folder(
    outside: CommandRunner,
) -> None:
    assert outside("search", QUERY).out.splitlines()[0] == "fees.md:3  Fees"
    assert outside("ask", QUESTION, "--brief").out.splitlines()[1] == f'"{COST}"  fees.md:3'
    assert outside("docs", "grep", "crowns").out.startswith("fees.md:3  ")
    assert outside("docs", "outline", "fees.md").out.startswith("fees.md:1  ")
    for command in (("search", QUERY), ("ask", QUESTION)):
        shape = outside(*command, "--brief", "--json").json
        assert [*shape.get("hits", ()), *shape.get("quotes", ())][0]["at"] == "fees.md:3"
    shown = outside("docs", "show", "fees.md:3", "--lines", "1").out
    assert f"> 3  {COST}" in shown
    assert outside("docs", "grep", "the", "hours.txt", "-i").out.startswith("hours.txt:3  ")


def test_a_name_in_two_folders_is_shown_whole_and_refused(
    outside: CommandRunner, tmp_path: Path
) -> None:
    twin = tmp_path / "twin"
    twin.mkdir()
    (twin / "fees.md").write_text("# Dues\n\nA locker costs 7 crowns.\n")
    assert outside("ingest", str(twin)).code == 0
    assert outside("docs", "grep", "locker").out.startswith(f"{twin}/fees.md:3  ")
    for command in (("show", "fees.md:3"), ("outline", "fees.md"), ("rm", "fees.md")):
        check_one_line(
            outside("docs", *command), 2, "'fees.md' is in several folders", f"{twin}/fees.md"
        )
    assert outside("docs", "grep", "nine").out.startswith("hours.txt:3  ")


def test_a_file_below_the_working_directory_keeps_its_name_from_another_folder(
    outside: CommandRunner, tmp_path: Path
) -> None:
    near = tmp_path / "elsewhere" / "fees.md"
    near.write_text("# Dues\n\nA locker costs 7 crowns.\n")
    assert outside("ingest", "fees.md").code == 0
    assert outside("docs", "grep", "locker").out.startswith("fees.md:3  ")
    assert outside("docs", "grep", "mooring").out.startswith(f"{tmp_path}/corpus/fees.md:3  ")
    assert "locker" in outside("docs", "show", "fees.md").out


def test_a_single_file_is_named_in_the_folder_around_it_and_removed_by_that_name(
    outside: CommandRunner, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "dues.md").write_text("# Dues\n\nA locker costs 7 crowns.\n")
    assert outside("ingest", str(tmp_path / "other" / "dues.md")).code == 0
    assert outside("docs", "grep", "locker").out.startswith("dues.md:3  ")
    assert outside("docs", "rm", "dues.md").code == 0
    # A file that was removed by its short name is not read again either.
    outside("ingest")
    assert outside("docs", "grep", "locker").code == 3


def test_a_place_is_printed_once() -> None:
    from tests.retrieval.test_excerpts import FEE_HIT

    def make_excerpt(text: str) -> Excerpt:
        place = FEE_HIT.chunk.place
        return Excerpt(hit=FEE_HIT, place=place, path="fees.md", start=0, end=9, text=text)

    parts = tuple(map(make_excerpt, ("The office is red.", "It is paid at the office.")))
    shown = format_excerpts(Excerpts(query="q", excerpts=parts, hits=2, chars=100))
    assert shown.count("fees.md") == 1
    assert shown.splitlines()[1:3] == ["  The office is red.", "  It is paid at the office."]
