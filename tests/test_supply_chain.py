"""The packages that Fathom brings: imports without sockets, bounds of requirements that hold."""

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from deploy.oldest import PROJECT, list_oldest, pin_oldest
from packaging.requirements import Requirement
from tests.pattern_collector import list_modules

WATCH = """
import gc, importlib, sys

gc.disable()  # imported modules stay for good
opened = []
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith("socket.") else None)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sorted(set(opened)))
gc.freeze()  # as the end of the process frees all memory
"""
PROBE = {"socket.__new__", "socket.bind"}
"""urllib3 finds out at import whether this machine has IPv6, by an address of its own."""
REQUIREMENTS = [
    Requirement(text)
    for text in tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
]


def list_socket_acts(*names: str) -> set[str]:
    """Return what a process does with sockets while it imports modules."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *names], capture_output=True, text=True, check=True
    )
    return set(done.stdout.strip().rpartition("\n")[2].split())


def test_importing_every_module_reaches_nothing() -> None:
    names = list_modules()
    assert len(names) > 400
    assert list_socket_acts(*names) <= PROBE


@pytest.mark.parametrize("name", ["fathom", "fathom.engine.engine", "fathom.serving.cli"])
def test_importing_what_answers_opens_no_socket(name: str) -> None:
    assert list_socket_acts(name) == set()


def test_the_watch_sees_what_reaches_out() -> None:
    script = "import socket; socket.getaddrinfo('127.0.0.1', 80)"
    done = subprocess.run(
        [sys.executable, "-c", WATCH.replace("importlib.import_module(name)", script), "x"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "socket.getaddrinfo" in done.stdout


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.name)
def test_the_bounds_of_a_requirement_hold(requirement: Requirement) -> None:
    assert pin_oldest(requirement).endswith(".*")
    assert requirement.specifier.contains(version(requirement.name), prereleases=True)


def test_oldest_versions_are_those_of_the_lower_bounds() -> None:
    oldest = list_oldest()
    assert "usearch==2.19.*" in oldest
    assert len(oldest) == len(REQUIREMENTS)
    with pytest.raises(ValueError, match="numpy has no lower bound"):
        pin_oldest(Requirement("numpy"))


def test_the_security_policy_names_what_it_points_at() -> None:
    root = Path(__file__).parent.parent
    policy = (root / "SECURITY.md").read_text(encoding="utf-8")
    headings = (root / "docs" / "robustness.md").read_text(encoding="utf-8").lower()
    for anchor in ("files", "secrets", "texts that make patterns slow", "poisoned documents"):
        assert f"(docs/robustness.md#{anchor.replace(' ', '-')})" in policy
        assert f"## {anchor}" in headings
