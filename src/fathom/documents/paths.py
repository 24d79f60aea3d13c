"""Paths as users give them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fathom.documents.discover import Wanted, discover
from fathom.errors import UsageError


def check_paths(paths: Sequence[Path], wanted: Wanted, is_known: Callable[[Path], bool]) -> None:
    """Accept files and folders with something to ingest, or to let go, in them.

    Args:
        paths: Files and folders.
        wanted: Which files are taken.
        is_known: Whether something was read there before.

    Raises:
        UsageError: If one is missing, or there is no file below any of them.
    """
    for path in paths:
        if not path.exists() and not is_known(path):
            raise UsageError(f"{path}: no such file or folder")
    there = [path for path in paths if path.exists()]
    if not any(True for _ in discover(there, wanted)) and not any(map(is_known, paths)):
        places = ", ".join(str(path) for path in paths)
        chosen = wanted.include or wanted.exclude
        why = "--include and --exclude leave none" if chosen else "hidden ones are skipped"
        raise UsageError(f"{places}: no file to ingest there ({why})")
