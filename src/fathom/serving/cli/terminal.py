"""Text for a terminal, with links and without control characters."""

import os
import re
import sys
from collections.abc import Mapping

from fathom.serving.invisible import replace_controls


def is_terminal() -> bool:
    """Return whether stdout is a terminal that understands escape sequences."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def add_links(text: str, links: Mapping[str, str]) -> str:
    """Turn the words of `links` in a text into links, by OSC 8 sequences."""
    targets = {replace_breaks(words): replace_controls(target) for words, target in links.items()}
    # Longest first, because the path of a folder would match within the path of its file.
    pattern = re.compile("|".join(re.escape(words) for words in sorted(targets, key=len)[::-1]))
    return pattern.sub(
        lambda match: f"\x1b]8;;{targets[match[0]]}\x1b\\{match[0]}\x1b]8;;\x1b\\", text
    )


def replace_breaks(text: str) -> str:
    """Return a name as one line, with spaces for breaks and without control characters."""
    # `isspace` also holds for a tab and for the separators of lines and paragraphs.
    return replace_controls(
        "".join(" " if character.isspace() else character for character in text)
    )
