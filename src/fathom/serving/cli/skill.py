"""The command `fathom skill`, which prints instructions for agents that use a shell."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom import __version__
from fathom.errors import UsageError
from fathom.serving.cli.files import check_folder

MANIFEST = ".claude-plugin/plugin.json"
"""The path of the manifest below the folder of a plugin."""


def skill(
    plugin: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the skill into this folder, as a plugin."),
    ] = None,
) -> None:
    """Print a skill file for agents: when to use Fathom, its commands, how to read its answers."""
    text = (Path(__file__).parent / "SKILL.md").read_text(encoding="utf-8")
    if plugin is None:
        sys.stdout.write(text)
        return
    check_folder(plugin)
    _check_manifest(plugin / MANIFEST)
    manifest = {
        "name": "fathom",
        "version": __version__,
        "description": "Answers from the user's own documents, with verified quotes.",
        "author": {"name": "The developers of Fathom"},
        "license": "Apache-2.0",
    }
    for name, content in (
        (MANIFEST, json.dumps(manifest, indent=2) + "\n"),
        ("skills/fathom/SKILL.md", text),
    ):
        file = plugin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        sys.stdout.write(f"{file}\n")


def _check_manifest(file: Path) -> None:
    """Check that a manifest does not exist or is that of this skill, which a new one may replace.

    Raises:
        UsageError: If another plugin lies in the folder.
    """
    if not file.exists():
        return
    try:
        manifest = json.loads(file.read_bytes())
    except (OSError, ValueError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("name") != "fathom":
        raise UsageError(f"{file} is of another plugin; name another folder")
