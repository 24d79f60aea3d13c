"""The answering of many questions: one in each line of stdin, one JSON object in each of stdout."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from fathom.errors import FathomError, UsageError

STDIN = "-"
"""The argument that means the lines of stdin."""
_BYTE_ORDER_MARK = "\ufeff"


def answer_lines(name: str, serialize: Callable[[str], dict[str, Any]]) -> int:
    """Print the answer to each line of stdin, in order, as soon as it is made.

    For a line that cannot be answered, print `{NAME: ..., "error": {...}}`, and go on.

    Args:
        name: The name of the field with the line in the object of an error.
        serialize: Returns the answer to a line as an object.

    Returns:
        The exit code of the first error, else 0.

    Raises:
        UsageError: If stdin is not UTF-8, or all its lines are blank.
    """
    from fathom.serving.cli.output import show_json  # `--help` must not wait for it

    codes = []
    for line in _read_lines():
        try:
            show_json(serialize(line))
            codes.append(0)
        except FathomError as error:
            code = error.exit_code
            fault = {"kind": type(error).__name__, "message": str(error), "exit_code": code}
            show_json({name: line, "error": fault})
            codes.append(code)
        # A reader of a pipe gets each answer at once.
        sys.stdout.flush()
    if not codes:
        raise UsageError("stdin has no line to answer; write one question a line")
    return next(filter(None, codes), 0)


def _read_lines() -> Iterator[str]:
    """Yield the lines of stdin that are not blank."""
    try:
        # Programs on Windows begin a text with a byte order mark.
        yield from filter(None, (line.lstrip(_BYTE_ORDER_MARK).strip() for line in sys.stdin))
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8 text: {error.reason}") from None
