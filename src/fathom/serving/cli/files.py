"""Checks that a command can write its files, made before its work begins."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from fathom.errors import UsageError


def check_writable(file: Path) -> None:
    """Check that a file can be written, without changing it or leaving a new file.

    Raises:
        UsageError: If the file cannot be written.
    """
    try:
        exists = file.exists()
        if exists and not (file.is_file() or file.is_dir()):
            return  # opening a device or a pipe could affect its other end
        # Opening to append tests the permission without changing the file.
        with file.open("ab"):
            pass
        if not exists:
            file.unlink()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file}: cannot be written: {_describe_reason(error)}; name a file in a folder that "
            "exists"
        ) from None


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Check that a command can write its files and that they replace no file it uses.

    Args:
        outputs: The files to write; `None` for one that is not wanted.
        inputs: The files that the command reads, which no output may replace.

    Raises:
        UsageError: If a file cannot be written, or would replace another one of the command.
    """
    taken = {os.path.realpath(file) for file in inputs if file is not None}
    for file in filter(None, outputs):
        check_writable(file)
        if file.exists() and not file.is_file():
            continue  # a device takes any number of texts
        place = os.path.realpath(file)
        if place in taken:
            raise UsageError(f"{file}: the command names this file twice; name another one")
        taken.add(place)


def check_folder(folder: Path) -> None:
    """Check that files can be written into a folder, and create the folder if it does not exist.

    Raises:
        UsageError: If files cannot be written into the folder.
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
