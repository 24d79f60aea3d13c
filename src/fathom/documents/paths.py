"""Paths as users give them."""

from collections.abc import Sequence
from pathlib import Path

from fathom.documents.discover import Wanted, discover
from fathom.errors import UsageError


def check_paths(paths: Sequence[Path], wanted: Wanted | None = None) -> None:
    """Accept files and folders with something to ingest in them.

    Args:
        paths: Files and folders.
        wanted: Which files are taken; by default all.

    Raises:
        UsageError: If one is missing, or there is no file below any of them.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    if not any(True for _ in discover(paths, wanted)):
        places = ", ".join(str(path) for path in paths)
        chosen = wanted is not None and (wanted.include or wanted.exclude)
        why = "--include and --exclude leave none" if chosen else "hidden ones are skipped"
        raise UsageError(f"{places}: no file to ingest there ({why})")
