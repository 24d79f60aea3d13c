"""`fathom ask --brief`, and many questions at once."""

import json

import pytest
from tests.factories import QUESTION
from tests.serving.cli.test_app import CommandRunner, corpus, run  # noqa: F401
from tests.serving.cli.test_search import filled, read_lines  # noqa: F401

UNKNOWN = "Who won the election of 1789?"
COST = "A mooring permit costs 40 crowns a year."


def test_an_answer_is_a_few_lines_with_its_quote_and_place(filled: CommandRunner) -> None:  # noqa: F811
    ran = filled("ask", QUESTION, "--brief")
    first, quote, sureness = ran.out.splitlines()
    assert (ran.code, first) == (0, filled("ask", QUESTION, "--json").json["short_answer"])
    assert quote == f'"{COST}"  corpus/fees.md:3'
    assert sureness.startswith("P(right) 0.")


def test_the_short_json_says_what_where_and_how_sure(filled: CommandRunner) -> None:  # noqa: F811
    shape = filled("ask", QUESTION, "--brief", "--json").json
    assert list(shape) == [
        "question", "status", "tentative", "answer", "quotes", "p", "others",
    ]  # fmt: skip
    (quote,) = shape["quotes"]
    assert quote["quote"] == COST
    assert quote["at"].endswith("corpus/fees.md:3")
    assert 0 <= shape["p"] <= 1


def test_a_refusal_gives_the_nearest_sentences_with_their_places(filled: CommandRunner) -> None:  # noqa: F811
    ran = filled("ask", UNKNOWN, "--brief")
    assert ran.code == 3
    assert ran.out.startswith("I don't know: ")
    assert "corpus/" in ran.out
    assert "--chars" not in ran.out
    shape = filled("ask", UNKNOWN, "--brief", "--json").json
    assert list(shape) == ["question", "status", "reason", "nearest"]
    assert shape["nearest"][0]["text"]


def test_each_line_of_stdin_gets_the_answer_that_it_gets_alone(
    filled: CommandRunner,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_lines(monkeypatch, f"{QUESTION}\n{UNKNOWN}\n")
    ran = filled("ask", "-", "--brief")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert answers == [
        filled("ask", question, "--brief", "--json").json for question in (QUESTION, UNKNOWN)
    ]
    read_lines(monkeypatch, QUESTION)
    (whole,) = map(json.loads, filled("ask", "-").out.splitlines())
    assert (whole["status"], whole["citations"][0]["quote"]) == ("answered", COST)


def test_a_short_answer_notes_its_warnings_on_stderr(filled: CommandRunner) -> None:  # noqa: F811
    warning = "no document has 'yaer'; `fathom status` lists the keys"
    asked = ("ask", QUESTION, "--brief", "--filter", "yaer=2020")
    text, shape = filled(*asked), filled(*asked, "--json")
    assert (text.code, shape.code) == (3, 3)
    assert f"fathom: {warning}\n" in text.err
    assert f"fathom: {warning}\n" in shape.err
    assert "yaer" not in text.out
    assert shape.json["warnings"] == [warning]
    assert "warnings" not in filled("ask", QUESTION, "--brief", "--json").json
