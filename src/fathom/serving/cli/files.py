"""Files that a command shall write: whether it can is seen before the work, not after it."""

import tempfile
from pathlib import Path

from fathom.errors import UsageError


def check_writable(file: Path) -> None:
    """Accept a file that can be written; nothing is left there.

    Raises:
        UsageError: If it cannot.
    """
    try:
        there = file.exists()
        if there and not (file.is_file() or file.is_dir()):
            return  # a device or a pipe: opening it could be felt at its other end
        with file.open("ab"):
            pass
        if not there:
            file.unlink()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file}: cannot be written: {_reason(error)}; name a file in a folder that exists"
        ) from None


def check_folder(folder: Path) -> None:
    """Accept a folder that can be written into, making it where there is none.

    Raises:
        UsageError: If it cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: no folder to write into: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
