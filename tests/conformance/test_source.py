"""All kinds of sources pass the conformance suite of sources, each with a real server."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fathom.testing import SourceConformance


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


class FolderWorld:
    """A folder of this machine."""

    options: Mapping[str, Any] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.url = str(folder)

    def write(self, texts: Mapping[str, str]) -> None:
        write_files(self.folder, texts)

    def remove(self, *names: str) -> None:
        for name in names:
            (self.folder / name).unlink()

    def stop(self) -> None:
        self.folder.rename(self.folder.with_name("away"))

    def start(self) -> None:
        self.folder.with_name("away").rename(self.folder)


class GitWorld(FolderWorld):
    """A git repository, which git itself serves from a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"git+file://{folder}"
        self.run("init", "--quiet")
        self.write({})

    def run(self, *arguments: str) -> None:
        person = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
        subprocess.run(["git", "-C", str(self.folder), *person, *arguments], check=True)

    def write(self, texts: Mapping[str, str]) -> None:
        super().write(texts)
        self.commit()

    def remove(self, *names: str) -> None:
        super().remove(*names)
        self.commit()

    def commit(self) -> None:
        self.run("add", "--all")
        self.run("commit", "--quiet", "--allow-empty", "--message", "Change")


class TestFolder(SourceConformance):
    @pytest.fixture
    def world(self, tmp_path: Path) -> FolderWorld:
        return FolderWorld(tmp_path / "docs")


class TestGit(SourceConformance):
    @pytest.fixture
    def world(self, tmp_path: Path) -> GitWorld:
        return GitWorld(tmp_path / "docs")
