"""`fathom skill`: instructions for agents that use Fathom from a shell."""

import sys
from pathlib import Path


def skill() -> None:
    """Print a skill file for agents: when to use Fathom, its commands, how to read its answers."""
    sys.stdout.write((Path(__file__).parent / "SKILL.md").read_text(encoding="utf-8"))
