"""How a command ends where it does not end well: one line, one exit code, with `--json` one object.

Also what the streams of the terminal, or what stands in their place, cannot take.
"""

import errno
import json
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

import typer

from fathom.errors import FathomError, culprit

BUG = 1
INTERRUPTED = 130
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing to a stream can meet; the error then knows no file name."""


def prepare_streams() -> None:
    """Let every text be written: what a stream lacks is a `?`, and one that is closed takes all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure") and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def json_text(value: object, **options: Any) -> str:  # noqa: ANN401 - those of json.dumps
    """JSON that the standard output can take whole."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not unicode, **options)


def told(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong, in one line on stderr.

    Args:
        error: What ended the command.
        as_json: Also say it as one object on stdout.

    Returns:
        The exit code.
    """
    if isinstance(error, BrokenPipeError):  # the reader has seen enough
        _silence(sys.stdout)
        return 0
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]  # Click's
        return 2
    message, code = _said(error)
    if code == BUG and os.environ.get("PYTHONDEVMODE"):
        raise error
    message = " ".join(message.split())
    sys.stderr.write(f"fathom: {message}\n")
    if isinstance(error, OSError) and error.filename is None:
        _silence(sys.stdout)
    elif as_json:
        told_as = {"error": {"kind": type(error).__name__, "message": message, "exit_code": code}}
        with suppress(OSError):
            sys.stdout.write(json_text(told_as) + "\n")
    return code


def _said(error: BaseException) -> tuple[str, int]:
    if isinstance(error, FathomError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "interrupted; run the same command again to go on", INTERRUPTED
    if isinstance(error, _click_errors()):
        command = error.ctx.command_path if getattr(error, "ctx", None) else "fathom"
        return f"{error.format_message().rstrip('.')}; see `{command} --help`", 2
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _FULL):
        code = 2 if error.errno == errno.ENAMETOOLONG else 5
        return f"{_shown(error.filename)}: {error.strerror}", code
    return f"a bug: {culprit(error)}; please report what PYTHONDEVMODE=1 shows of it", BUG


def _click_errors() -> type[Any]:
    """The errors of bad arguments."""
    # Newer versions of Typer bring their own copy of Click.
    return next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def _shown(filename: object) -> str:
    return "the output cannot be written" if filename is None else str(filename)


def _silence(stream: TextIO) -> None:
    """Let nothing more be written: Python would try again at its end, and complain there."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
