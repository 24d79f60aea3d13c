import io
import sys

import pytest

from fathom.runs.events import StepEnd, StepStart, TextEvent
from fathom.runs.trace import Step
from fathom.serving.cli.steps import make_step_listener


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def end_step(name: str, reason: str, number: int = 1) -> StepEnd:
    return StepEnd(Step(id=f"{name}#{number}", name=name, reason=reason))


def test_steps_are_shown_live_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    quiet = make_step_listener()
    quiet.on_event(end_step("read", "done"))
    assert (quiet.wants_text, err.getvalue()) == (False, "")

    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    listener = make_step_listener()
    listener.on_event(StepStart(Step(id="read", name="read")))
    listener.on_event(end_step("read", "confidence\n0.9\x1b[2J"))
    listener.on_event(TextEvent("It costs 4."))
    listener.on_event(end_step("turn", ""))
    assert listener.wants_text
    assert err.getvalue() == "  read: confidence 0.9\ufffd[2J\n  > It costs 4.\n"


def test_a_repeated_step_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    listener = make_step_listener()
    for number, news in enumerate(("43 hits", "10 hits", "9 hits"), start=1):
        listener.on_event(end_step("search", news, number))
    listener.on_event(end_step("read", "done"))
    listener.on_event(end_step("search", "3 hits", 4))
    lines = err.getvalue().split("\n")
    assert lines == [
        "  search: 43 hits",
        "\x1b[A\x1b[2K\r  search (2 times): 10 hits",
        "\x1b[A\x1b[2K\r  search (3 times): 9 hits",
        "  read: done",
        "  search: 3 hits",
        "",
    ]
