"""Packages of other authors, installed as pip would install them."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

EntryPoints = Mapping[str, Mapping[str, str]]
"""Entry points: by group, by name."""


def install(
    folder: Path,
    *,
    name: str,
    groups: EntryPoints,
    files: Mapping[str, str],
    version: str = "0.1.0",
) -> Path:
    """Write a distribution into the folder, in place of another version of it."""
    for old in folder.glob(f"{name}-*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {target}" for point, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, text in files.items():
        (folder / module).write_text(text, encoding="utf-8")
    return folder


def add_to_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process import what is installed in the folder until the test ends."""
    monkeypatch.syspath_prepend(str(folder))
    for file in folder.glob("*.py"):
        sys.modules.pop(file.stem, None)  # another version, imported by an earlier test
