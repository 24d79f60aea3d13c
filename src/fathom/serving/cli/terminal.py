"""What a terminal may be sent, and what it can do with it."""

import os
import re
import sys
from collections.abc import Mapping


def is_terminal() -> bool:
    """Whether stdout is a terminal that understands more than letters."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def linked(text: str, links: Mapping[str, str]) -> str:
    """The text with the words of `links` made clickable, as terminals know it (OSC 8)."""
    targets = {plain(words): plain(target) for words, target in links.items()}
    found = re.compile("|".join(re.escape(words) for words in sorted(targets, key=len)[::-1]))
    return found.sub(lambda m: f"\x1b]8;;{targets[m[0]]}\x1b\\{m[0]}\x1b]8;;\x1b\\", text)


def plain(text: str) -> str:
    """The text without control characters, which a document could use to fool a terminal."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )
