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
SOFT_LOCK = "ignore:only soft file lock is available:UserWarning"
"""A warning of `filelock`, which finds `fcntl` on POSIX systems and `msvcrt` on Windows."""


def hide_modules(folder: Path) -> Path:
    """Return a folder below another one whose place in the import path hides the modules."""
    # Folders of this name also reach the processes that read and cut files.
    absent = folder / "absent-packages"
    absent.mkdir()
    for name in ABSENT:
        (absent / f"{name}.py").write_text(f"raise ModuleNotFoundError({name!r}, name={name!r})\n")
    return absent


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Hide the modules before any conftest.py imports the package."""
    early_config.addinivalue_line("filterwarnings", SOFT_LOCK)
    modules: dict[str, Any] = sys.modules
    modules.update(dict.fromkeys(ABSENT))
    absent = str(hide_modules(Path(tempfile.mkdtemp(prefix="without-posix-"))))
    sys.path.insert(0, absent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (absent, os.environ.get("PYTHONPATH"))))
