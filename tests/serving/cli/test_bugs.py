"""Bugs are one line too, and can be found."""

from pathlib import Path
from typing import Any

import pytest
from tests.making import QUESTION
from tests.serving.cli.test_app import Run, corpus, one_line, run  # noqa: F401 - fixtures

from fathom.engine import Engine
from fathom.strategies.adaptive import Adaptive


def broken(*_: Any, **__: Any) -> Any:
    raise LookupError("some text of a document")


def test_an_agent_that_breaks_is_a_failed_answer_with_a_trace(
    run: Run,  # noqa: F811
    corpus: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("ingest", str(corpus))
    monkeypatch.setattr(Adaptive, "finish", broken)
    ran = run("ask", QUESTION)
    assert (ran.code, ran.err) == (5, "")
    assert ran.out.startswith("No answer: LookupError in cli/test_bugs.py, line ")
    asked = run("ask", QUESTION, "--json")
    assert (asked.code, asked.json["status"]) == (5, "failed")
    assert "failed: LookupError in cli/test_bugs.py" in run("trace", asked.json["trace_id"]).out
    assert run("replay", asked.json["trace_id"]).code == 0


def test_a_bug_elsewhere_is_one_line_and_on_demand_all_of_it(
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Engine, "search", broken)
    one_line(run("search", "anything"), 1, "a bug: LookupError in cli/test_bugs.py", "DEVMODE")
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    with pytest.raises(LookupError):
        run("search", "anything")
