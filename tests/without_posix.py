"""Runs tests as on a system that lacks the modules of POSIX systems.

    python -m pytest -p tests.without_posix tests/text tests/documents ...

The modules cannot be imported, neither here nor in the processes that tests start.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ABSENT = ("fcntl", "resource", "pwd", "grp", "termios")


def hide_modules(folder: Path) -> Path:
    """Return a folder below another one whose place in the import path hides the modules."""
    # Folders of this name also reach the processes that read and cut files.
    absent = folder / "absent-packages"
    absent.mkdir()
    for name in ABSENT:
        (absent / f"{name}.py").write_text(f"raise ModuleNotFoundError({name!r}, name={name!r})\n")
    return absent


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Hide the modules before any conftest.py imports the package."""
    modules: dict[str, Any] = sys.modules
    modules.update(dict.fromkeys(ABSENT))
    absent = str(hide_modules(Path(tempfile.mkdtemp(prefix="without-posix-"))))
    sys.path.insert(0, absent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (absent, os.environ.get("PYTHONPATH"))))
