"""`ask --docs` and `search --docs`: files are asked about with nothing to set up."""

import threading
from pathlib import Path

from tests.factories import QUESTION
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401

COST = "A mooring permit costs 40 crowns a year."


def test_a_folder_is_asked_about_and_its_index_lies_in_the_cache(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    answered = run("ask", QUESTION, "--docs", str(corpus), "--json")
    assert (answered.code, answered.json["citations"][0]["quote"]) == (0, COST)
    (index,) = (tmp_path / ".cache" / "fathom").iterdir()
    status = run("status", "--index", str(index), "--json").json
    assert (status["documents"], status["lacking"]) == (2, 0)  # the vectors are complete
    assert not (tmp_path / ".fathom").exists()


def test_the_next_command_brings_the_index_up_to_date(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    run("search", "ferry", "--docs", str(corpus))
    (corpus / "ferry.txt").write_text("The ferry to the island sails at noon.\n")
    (corpus / "hours.txt").unlink()
    hits = run("search", "ferry", "--docs", str(corpus), "--json").json["hits"]
    assert {Path(hit["path"]).name for hit in hits} == {"ferry.txt", "fees.md"}
    assert len(list((tmp_path / ".cache" / "fathom").iterdir())) == 1


def test_another_choice_of_files_has_another_index(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    run("search", "permit", "--docs", str(corpus))
    hits = run("search", "permit", "--docs", str(corpus / "fees.md"), "--json").json["hits"]
    assert [Path(hit["path"]).name for hit in hits] == ["fees.md"]
    assert len(list((tmp_path / ".cache" / "fathom").iterdir())) == 2


def test_a_question_that_fails_ends_the_ingestion_before_the_engine_closes(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    ran = run("search", "x" * 100_001, "--docs", str(corpus))
    check_one_line(ran, 2, "100001 characters")
    assert not [thread for thread in threading.enumerate() if thread.name == "fathom-docs"]


def test_mistakes_are_one_line(run: CommandRunner, corpus: Path) -> None:  # noqa: F811
    both = run("ask", "x", "--docs", str(corpus), "--index", "place")
    check_one_line(both, 2, "--docs has an index of its own", "leave out --index")
    check_one_line(run("ask", "x", "--docs", "nowhere"), 2, "nowhere", "no such file")
