"""Raised and lowered figures, which must not read as digits of the number before them."""

import re

LONGEST_BEFORE = 4
"""The characters before a figure that decide whether it needs a sign."""
_FIGURE = re.compile(r"\s*[+\-\u2212\u2013]?\d")
_NUMBER_OR_WORD = re.compile(r"(?:\d|[^\W\d_]{4})\Z")


def choose_sign(before: str, script: str, *, raised: bool) -> str:
    """Return the sign that parts a raised or lowered text from the text before it.

    `10` and a raised `6` read `10^6`; `m2`, `CO2` and `1st` need no sign. Behind a longer word a
    raised figure is a note.

    Args:
        before: The text that ends where the script begins.
        script: The raised or lowered text.
        raised: Whether it is raised.
    """
    if not _FIGURE.match(script) or not _NUMBER_OR_WORD.search(before):
        return ""
    return "^" if raised else "_"
