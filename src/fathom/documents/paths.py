"""Paths as users give them."""

from collections.abc import Sequence
from pathlib import Path

from fathom.documents.discover import discover
from fathom.errors import UsageError


def check_paths(paths: Sequence[Path]) -> None:
    """Accept files and folders with something to ingest in them.

    Raises:
        UsageError: If one is missing, or there is no file below any of them.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    if not any(True for _ in discover(paths)):
        places = ", ".join(str(path) for path in paths)
        raise UsageError(f"{places}: no file to ingest there (hidden ones are skipped)")
