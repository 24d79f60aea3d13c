"""Make a bundle for clients of the Model Context Protocol: python deploy/bundle.py WHEEL FOLDER.

A bundle (`.mcpb`) is a zip file that a client installs by a click. This one holds the wheel of
Fathom; uv, which the client brings, installs what the wheel needs. The user chooses a folder, and
the server keeps its index in the cache.
"""

import argparse
import json
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from fathom import __version__
from fathom.serving.mcp import TOOLS

ROOT = Path(__file__).parents[1]
SERVER = """\
import sys

from fathom.serving.cli.app import main

sys.argv = ["fathom", "mcp", "--docs", *sys.argv[1:]]
main()
"""


def build_manifest() -> dict[str, Any]:
    """Return the manifest, in version 0.4 of its format."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "manifest_version": "0.4",
        "name": "fathom",
        "display_name": "Fathom",
        "version": __version__,
        "description": project["description"],
        "author": {"name": "The developers of Fathom"},
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run",
                    "--directory",
                    "${__dirname}",
                    "server.py",
                    "${user_config.folder}",
                ],
            },
        },
        "tools": [{"name": name, "description": title} for name, title in TOOLS.items()],
        "user_config": {
            "folder": {
                "type": "directory",
                "title": "Folder of documents",
                "description": "Fathom answers from the files below it, and changes none.",
                "required": True,
            }
        },
        "compatibility": {
            "platforms": ["darwin", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
    }


def build_project(wheel: str) -> str:
    """Return the project file, by which uv installs the wheel with what it needs."""
    return (
        "[project]\n"
        'name = "fathom-bundle"\n'
        f'version = "{__version__}"\n'
        'requires-python = ">=3.11"\n'
        'dependencies = ["fathom-qa[mcp]"]\n\n'
        "[tool.uv.sources]\n"
        f'fathom-qa = {{ path = "{wheel}" }}\n'
    )


def write_bundle(wheel: Path, folder: Path) -> Path:
    """Write the bundle into a folder, and return its path."""
    bundle = folder / f"fathom-{__version__}.mcpb"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(build_manifest(), indent=2))
        archive.writestr("pyproject.toml", build_project(wheel.name))
        archive.writestr("server.py", SERVER)
        archive.write(ROOT / "LICENSE", "LICENSE")
        # A wheel is compressed already.
        archive.write(wheel, wheel.name, zipfile.ZIP_STORED)
    return bundle


def main() -> None:
    """Write the bundle that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    # Checked first: a bundle that is written in part could be taken for a whole one.
    if not options.wheel.is_file():
        parser.error(f"{options.wheel}: no such file; `make bundle` builds the wheel first")
    if not options.wheel.name.startswith(f"fathom_qa-{__version__}-"):
        parser.error(f"{options.wheel}: not the wheel of version {__version__}, which is bundled")
    options.folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(f"{write_bundle(options.wheel, options.folder)}\n")


if __name__ == "__main__":
    main()
