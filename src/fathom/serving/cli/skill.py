"""The command `fathom skill`, which prints instructions for agents that use a shell."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom import __version__
from fathom.serving.cli.files import check_folder


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
    manifest = {
        "name": "fathom",
        "version": __version__,
        "description": "Answers from the user's own documents, with verified quotes.",
        "author": {"name": "The developers of Fathom"},
        "license": "Apache-2.0",
    }
    for name, content in (
        (".claude-plugin/plugin.json", json.dumps(manifest, indent=2) + "\n"),
        ("skills/fathom/SKILL.md", text),
    ):
        file = plugin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        sys.stdout.write(f"{file}\n")
