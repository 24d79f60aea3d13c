"""`fathom docs`: outlines, lines that hold a pattern, and places as `search` prints them."""

import os
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401
from tests.serving.cli.test_search import filled  # noqa: F401


def test_a_document_opens_at_a_place_as_search_prints_it(filled: CommandRunner) -> None:  # noqa: F811
    shown = filled("docs", "show", "corpus/fees.md:3", "--lines", "1")
    assert "> 3  A mooring permit costs 40 crowns a year." in shown.out
    assert shown.out == filled("docs", "show", "corpus/fees.md", "--at", "3", "--lines", "1").out
    check_one_line(filled("docs", "show", "corpus/fees.md:90"), 2, "has lines 1 to 3")
    check_one_line(filled("docs", "show", "corpus/no.md:3"), 2, "no document")


def test_an_outline_names_headings_with_their_lines(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    (corpus / "guide.md").write_text(
        "# Guide\n\nHello.\n\n## Berths\n\nTwo.\n\n## Tides\n\nHigh.\n"
    )
    run("ingest", str(corpus))
    assert run("docs", "outline", "corpus/guide.md").out.splitlines() == [
        "corpus/guide.md:1  Guide",
        "corpus/guide.md:5    Berths",
        "corpus/guide.md:9    Tides",
    ]
    outlined = run("docs", "outline", "corpus/guide.md", "--json").json
    assert outlined["headings"][1] == {"text": "Berths", "depth": 1, "line": 5, "page": None}
    assert "has no headings" in run("docs", "outline", "corpus/hours.txt").out


def test_lines_of_all_documents_are_searched(filled: CommandRunner) -> None:  # noqa: F811
    assert filled("docs", "grep", "crowns|nine").out.splitlines() == [
        "corpus/fees.md:3  A mooring permit costs 40 crowns a year. "
        "It is paid at the harbour office.",
        "corpus/hours.txt:3  The library opens at nine in the morning and closes at six.",
    ]
    assert filled("docs", "grep", "Crowns").code == 3
    assert filled("docs", "grep", "Crowns", "-i").code == 0
    only = filled("docs", "grep", "the", "corpus/hours.txt", "-i", "--json").json
    assert [line["at"].rpartition("/")[2] for line in only["lines"]] == ["hours.txt:3"]


@pytest.mark.parametrize(
    ("options", "code"), [((), 2), (("--fixed",), 3), (("--fixed", "--json"), 3)]
)
def test_a_pattern_may_stand_for_itself(
    filled: CommandRunner,  # noqa: F811
    options: tuple[str, ...],
    code: int,
) -> None:
    ran = filled("docs", "grep", "(a", *options)
    assert ran.code == code
    if code == 2:
        check_one_line(ran, 2, "'(a' is no regular expression", "--fixed")


def test_more_lines_than_asked_for_are_announced(filled: CommandRunner) -> None:  # noqa: F811
    shown = filled("docs", "grep", "a", "--most", "1")
    assert shown.out.splitlines()[-1] == "(there are more; --most N shows more)"
    assert filled("docs", "grep", "a", "--most", "1", "--json").json["has_more"] is True


@pytest.mark.parametrize("command", [("rm",), ("grep", "the")])
def test_an_empty_name_stands_for_no_document(
    filled: CommandRunner,  # noqa: F811
    command: tuple[str, ...],
) -> None:
    before = filled("docs", "list").out
    check_one_line(filled("docs", *command, ""), 2, "the name of a document is empty")
    assert filled("docs", "list").out == before


def test_a_file_whose_name_is_not_utf8_is_removed_by_its_name(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    file = corpus / os.fsdecode(b"caf\xe9.txt")
    try:
        file.write_text("Opened in May.\n")
    except OSError:
        pytest.skip("the file system takes UTF-8 names alone")
    run("ingest", str(corpus))
    assert run("docs", "rm", str(file.relative_to(Path.cwd())), "--json").json == {"removed": 1}
    assert "caf" not in run("docs", "list").out
