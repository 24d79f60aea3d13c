"""Bugs are reported in one line too, and can be traced."""

from pathlib import Path
from typing import Any

import pytest
from tests.factories import QUESTION
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401 - fixtures

from fathom.engine import Engine
from fathom.strategies.adaptive import Adaptive


def raise_bug(*_: Any, **__: Any) -> Any:
    raise LookupError("some text of a document")


def test_an_agent_that_fails_is_a_failed_answer_with_a_trace(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("ingest", str(corpus))
    monkeypatch.setattr(Adaptive, "finish", raise_bug)
    ran = run("ask", QUESTION)
    assert (ran.code, ran.err) == (5, "")
    assert ran.out.startswith("No answer: LookupError in cli/test_bugs.py, line ")
    output = run("ask", QUESTION, "--json")
    assert (output.code, output.json["status"]) == (5, "failed")
    assert "failed: LookupError in cli/test_bugs.py" in run("trace", output.json["trace_id"]).out
    assert run("replay", output.json["trace_id"]).code == 0


def test_a_bug_elsewhere_is_one_line_and_on_demand_the_whole_traceback(
    run: CommandRunner,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Engine, "search", raise_bug)
    check_one_line(
        run("search", "anything"), 1, "a bug: LookupError in cli/test_bugs.py", "DEVMODE"
    )
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    with pytest.raises(LookupError):
        run("search", "anything")
