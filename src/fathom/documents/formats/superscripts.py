"""Superscripts and subscripts: the sign that keeps them apart from a number before them."""

import re
from collections.abc import Iterator
from typing import Any

LONGEST_BEFORE = 4
"""The number of characters before a figure that decide whether it needs a sign."""
_FIGURE = re.compile(r"\s*[+\-\u2212\u2013]?\d")
_NUMBER_OR_WORD = re.compile(r"(?:\d|[^\W\d_]{4})\Z")
_JOINED_FIGURE = re.compile(r"(?:(?<=\d)[+\-\u2212\u2013]?|(?<=[^\W\d_]{4}))\d")


def find_figures(text: str) -> Iterator[int]:
    """Yield the offsets in a text at which a superscript or subscript would need a sign."""
    return (figure.start() for figure in _JOINED_FIGURE.finditer(text))


def choose_sign(before: str, script: str, *, raised: bool) -> str:
    """Return the sign to write between a text and the superscript or subscript after it.

    `10` with a raised `6` becomes `10^6`, because `106` would be another number. `m2`, `CO2` and
    `1st` need no sign. After a word of four letters or more a raised figure is the mark of a note,
    which gets the sign too.

    Args:
        before: The text before the script; its last `LONGEST_BEFORE` characters suffice.
        script: The superscript or subscript.
        raised: Whether it is a superscript.

    Returns:
        `^`, `_`, or `""` if no sign is needed.
    """
    if not _FIGURE.match(script) or not _NUMBER_OR_WORD.search(before):
        return ""
    return "^" if raised else "_"


def mark_script(element: Any, *, raised: bool) -> None:  # noqa: ANN401 - lxml has no types
    """Put the sign before the text of an element of XML that is a superscript or subscript.

    Args:
        element: The element.
        raised: Whether it is a superscript.
    """
    previous, around = element.getprevious(), element.getparent()
    if around is None:
        return
    before = (around.text if previous is None else previous.tail) or ""
    if previous is not None and not before and isinstance(previous.tag, str):
        before = "".join(previous.itertext())
    sign = choose_sign(before, "".join(element.itertext()), raised=raised)
    element.text = sign + (element.text or "")
