"""Flags of a text: keys with a value for yes or no, as in `Has kids: FALSE`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_DENIALS = (
    "false", "no", "none", "0", "off", "never", "disabled", "not available", "not allowed",
    "not supported", "tidak ada", "tidak pernah", "tidak", "bukan", "belum", "nihil", "nol",
    "mati", "nonaktif", "salah",
)  # fmt: skip
_AFFIRMATIONS = (
    "true", "yes", "on", "enabled", "available", "allowed", "supported", "ya", "ada", "sudah",
    "benar", "aktif", "hidup",
)  # fmt: skip
_VALUE = "|".join(sorted((*_DENIALS, *_AFFIRMATIONS), key=len, reverse=True))
_FLAG = re.compile(
    r"\b(?P<key>\w[^:|=;,\n]{1,60}?)[*_`\s]*[:|=][*_`\s]*"
    rf"(?P<value>{_VALUE})[*_`]*(?=\s*(?:$|[;|,.\n])|\s+(?-i:[A-Z]))",
    re.IGNORECASE,
)
"""A key with its value. The next key may follow directly, because a paragraph is one line."""


class Flag(NamedTuple):
    """A key with a value for yes or no.

    Attributes:
        key: The key, as written.
        yes: Whether the value says yes.
    """

    key: str
    yes: bool


def list_flags(text: str) -> Iterator[Flag]:
    """Yield the flags of a text in order; English and Indonesian."""
    for match in _FLAG.finditer(text):
        yield Flag(match["key"], match["value"].casefold() not in _DENIALS)
