"""The report of a failed command: one line, one exit code, and with `--json` one object.

The module also prepares the standard streams for text that they cannot encode or write.
"""

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import typer

from fathom.errors import FathomError, Interrupted, locate_error

BUG_CODE = 1
_STREAM_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""The errors of writing to a stream; such an error has no file name."""


def prepare_streams() -> None:
    """Make the standard streams accept any text.

    A character that a stream cannot encode becomes `?`. A closed stream is replaced by one that
    ignores output and has no input.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure") and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def dump_json(value: object, **options: Any) -> str:  # noqa: ANN401 - the options of json.dumps
    """Return a value as JSON that the standard output can encode without loss."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not unicode, **options)


@contextmanager
def end_quietly() -> Iterator[None]:
    """End a server at Ctrl-C without a message; its exit code says that it was interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(Interrupted.exit_code)


def report_error(error: BaseException, *, as_json: bool) -> int:
    """Report an error in one line on stderr.

    Args:
        error: The error that ended the command.
        as_json: Whether to print the error on stdout too, as one object.

    Returns:
        The exit code.
    """
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has enough
        _silence_stream(sys.stdout)
        return 0
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]  # Click's
        return 2
    message, code = _describe_error(error)
    # Only a developer sees the traceback, which may quote documents.
    if code == BUG_CODE and os.environ.get("PYTHONDEVMODE"):
        raise error
    message = " ".join(message.split())
    sys.stderr.write(f"fathom: {message}\n")
    # If the output cannot be written, the object of `--json` cannot be either.
    if isinstance(error, OSError) and error.filename is None:
        _silence_stream(sys.stdout)
    elif as_json:
        shape = {"error": {"kind": type(error).__name__, "message": message, "exit_code": code}}
        with suppress(OSError):
            sys.stdout.write(dump_json(shape) + "\n")
    return code


def _describe_error(error: BaseException) -> tuple[str, int]:
    if isinstance(error, FathomError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "interrupted; run the same command again to continue", Interrupted.exit_code
    if isinstance(error, _click_errors()):
        command = error.ctx.command_path if getattr(error, "ctx", None) else "fathom"
        return f"{error.format_message().rstrip('.')}; see `{command} --help`", 2
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _STREAM_ERRORS):
        # A name that is too long is a usage error; other errors of files are not.
        code = 2 if error.errno == errno.ENAMETOOLONG else 5
        return f"{_describe_file(error.filename)}: {error.strerror}", code
    return f"a bug: {locate_error(error)}; please report what PYTHONDEVMODE=1 shows of it", BUG_CODE


def _click_errors() -> type[Any]:
    """Return the class of the errors about bad arguments."""
    # Newer versions of Typer bring their own copy of Click, so its class cannot be imported.
    return next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def _describe_file(filename: object) -> str:
    return "the output cannot be written" if filename is None else str(filename)


def _silence_stream(stream: TextIO) -> None:
    """Discard all further output of a stream.

    Otherwise Python, which flushes the stream at exit, would report another error.
    """
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
