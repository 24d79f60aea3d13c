"""Checks that a command can write its files, before it starts its work."""

import tempfile
from pathlib import Path

from fathom.errors import UsageError


def check_writable(file: Path) -> None:
    """Accept a file that can be written; the check leaves nothing behind.

    Raises:
        UsageError: If it cannot be written.
    """
    try:
        exists = file.exists()
        if exists and not (file.is_file() or file.is_dir()):
            return  # opening a device or a pipe could affect its other end
        # Appending nothing proves the permission and keeps what the file holds.
        with file.open("ab"):
            pass
        if not exists:
            file.unlink()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file}: cannot be written: {_describe_reason(error)}; name a file in a folder that "
            "exists"
        ) from None


def check_folder(folder: Path) -> None:
    """Accept a folder that can be written into, and create it if it does not exist.

    Raises:
        UsageError: If it cannot be written into.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{folder}: the folder cannot be written into: {_describe_reason(error)}"
        ) from None


def _describe_reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
