import io
import sys

import pytest

from fathom.serving.progress import steps_shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_steps_are_shown_live_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    quiet = steps_shown()
    quiet.step("read", "done")
    assert (quiet.wants_text, sys.stderr.getvalue()) == (False, "")

    monkeypatch.setattr(sys, "stderr", Terminal())
    shown = steps_shown()
    shown.step("read", "")
    shown.step("read", "confidence\n0.9\x1b[2J")
    shown.text("It costs 4.")
    assert shown.wants_text
    assert sys.stderr.getvalue() == "  read: confidence 0.9\ufffd[2J\n  > It costs 4.\n"
