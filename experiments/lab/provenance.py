"""The origin of a figure: code, machine, seed."""

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from fathom import __version__

SEED = 0
"""The seed of the samples of questions and of the bootstrap intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of figures.

    Attributes:
        commits: Of the code that asked; with a `+` where it was changed since.
        cpu: The processor's name and the cores that may be used.
    """

    version: str
    commits: tuple[str, ...]
    cpu: str
    python: str
    system: str
    seed: int = SEED

    @classmethod
    def from_process(cls, root: Path) -> Self:
        """Describe this process.

        Args:
            root: The repository; without one the commit is `unknown`.
        """
        return cls(
            version=__version__,
            commits=(_read_commit(root),),
            cpu=f"{read_processor()}, {len(os.sched_getaffinity(0))} cores",
            python=platform.python_version(),
            system=platform.system(),
        )

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Restore it from the output of `asdict`."""
        return cls(**{**stored, "commits": tuple(stored["commits"])})

    @property
    def sentence(self) -> str:
        """The whole origin in one line."""
        return (
            f"Fathom {self.version} at {', '.join(self.commits)}, {self.cpu}, "
            f"Python {self.python}, {self.system}, seed {self.seed}"
        )


def merge_provenances(all_: Iterable[Provenance]) -> list[Provenance]:
    """Return one entry for each machine and version, with the commits of all of them."""
    commits: dict[Provenance, dict[str, None]] = {}
    for entry in all_:
        commits.setdefault(replace(entry, commits=()), {}).update(dict.fromkeys(entry.commits))
    return [replace(place, commits=tuple(merged)) for place, merged in commits.items()]


def _read_commit(root: Path) -> str:
    try:
        head = _run_git(root, "rev-parse", "--short=10", "HEAD")
        changed = _run_git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed else "")


def _run_git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


def read_processor() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
