import io
import sys

import pytest

from fathom.serving.cli.progress import show_count


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_count_is_one_line_shown_in_terminals_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    show_count("questions", 1, 2)
    assert err.getvalue() == ""

    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    show_count("questions", 1, 2)
    show_count("questions", 2, 2)
    assert err.getvalue() == "\rquestions: 1/2\rquestions: 2/2\n"
