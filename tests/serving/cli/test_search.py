"""`fathom search`: short excerpts for agents, whole chunks, and many queries at once."""

import io
import json
import sys
from pathlib import Path

import pytest
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401

QUERY = "What does a mooring permit cost?"
COST = "A mooring permit costs 40 crowns a year."


@pytest.fixture
def filled(run: CommandRunner, corpus: Path) -> CommandRunner:  # noqa: F811
    """Run commands over an index of the corpus."""
    assert run("ingest", str(corpus)).code == 0
    return run


def test_a_hit_is_its_place_and_the_sentences_that_bear_on_the_query(filled: CommandRunner) -> None:
    lines = filled("search", QUERY).out.splitlines()
    assert lines[0] == "corpus/fees.md:3  Fees"
    assert lines[1].strip().startswith(COST)
    assert lines[-1].endswith(" chars more: --chars N)")


@pytest.mark.parametrize("chars", [150, 200, 300, 1_200])
def test_no_more_characters_are_printed_than_asked_for(filled: CommandRunner, chars: int) -> None:
    printed = filled("search", QUERY, "--chars", str(chars)).out
    assert COST[:20] in printed
    assert len(printed) <= chars


def test_a_hit_in_brief_json_has_six_fields(filled: CommandRunner) -> None:
    output = filled("search", QUERY, "--brief", "--json", "--chars", "170").json
    assert list(output) == ["query", "hits", "hits_left", "chars_left"]
    (hit,) = output["hits"]
    assert list(hit) == ["at", "name", "document", "start", "end", "text"]
    assert hit["at"] == "corpus/fees.md:3"
    assert COST in hit["text"]
    assert output["hits_left"] == 1


def test_whole_chunks_are_shown_on_request(filled: CommandRunner) -> None:
    shown = filled("search", QUERY, "--full").out
    assert "closes at six." in shown
    output = filled("search", QUERY, "--json").json
    assert list(output["hits"][0]) == [
        "rank", "score", "document", "chunk", "path", "title", "section", "page", "line",
        "recognised", "start", "end", "text",
    ]  # fmt: skip
    assert [hit["rank"] for hit in output["hits"]] == [1, 2]
    assert filled("search", QUERY, "--full", "--json").json == output


def test_lines_around_an_excerpt_are_shown_on_request(filled: CommandRunner) -> None:
    assert "# Fees" not in filled("search", QUERY).out
    shown = filled("search", QUERY, "--context", "2", "--brief", "--json").json["hits"][0]
    assert shown["text"].startswith("Fees\n")


@pytest.mark.parametrize("command", ["search", "ask"])
def test_a_filter_with_a_part_of_a_path_is_explained(
    filled: CommandRunner,
    corpus: Path,  # noqa: F811
    command: str,
) -> None:
    file = corpus / "fees.md"
    for condition in ("path^=corp", "path=corpus/fees.md", f"path=corpus/fees.md,{corpus.parent}"):
        ran = filled(command, QUERY, "--filter", condition)
        (line,) = ran.err.splitlines()
        assert "a path is whole, such as 'path" in line, condition
    ran = filled(command, QUERY, "--filter", f"path^={corpus.name}", "--brief", "--json")
    assert f"'path^={Path.cwd() / corpus.name}'" in ran.err
    for condition in (f"path^={corpus}", f"path={file}", "path^=https://", "path!=corpus"):
        assert "a path is whole" not in filled(command, QUERY, "--filter", condition).err


def read_lines(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_each_line_of_stdin_is_answered_by_an_object_of_its_own(
    filled: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_lines(monkeypatch, f"{QUERY}\n\nWhen does the library open?\n")
    ran = filled("search", "-", "--brief")
    assert ran.code == 0
    first, second = map(json.loads, ran.out.splitlines())
    assert first == filled("search", QUERY, "--brief", "--json").json
    assert second["query"] == "When does the library open?"
    assert "nine" in second["hits"][0]["text"]


def test_a_line_that_cannot_be_answered_does_not_end_the_others(
    filled: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_lines(monkeypatch, f"{'x' * 100_001}\n{QUERY}\n")
    ran = filled("search", "-")
    first, second = map(json.loads, ran.out.splitlines())
    assert (ran.code, first["error"]["exit_code"]) == (2, 2)
    assert first["query"].startswith("xxx")
    assert "100001 characters" in first["error"]["message"]
    assert second["hits"]


def test_a_stdin_without_lines_is_a_mistake(
    filled: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_lines(monkeypatch, "\n \n")
    check_one_line(filled("search", "-"), 2, "stdin has no line", "one question a line")


def test_the_mark_at_the_start_of_a_text_of_windows_is_no_part_of_the_question(
    filled: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_lines(monkeypatch, f"\ufeff{QUERY}\r\n")
    (line,) = filled("search", "-").out.splitlines()
    assert json.loads(line)["query"] == QUERY


def test_a_closed_stdin_has_no_lines(
    filled: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    ran = filled("search", "-")
    sys.stdin.close()
    check_one_line(ran, 2, "stdin has no line", "one question a line")
