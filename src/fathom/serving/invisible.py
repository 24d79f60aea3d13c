"""Invisible characters, which could deceive a terminal or a model in the text of a document."""

import re

INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"  # control characters, surrogates
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # order and width
    "\U000e0000-\U000e0fff]"  # tags: a model reads them as text, and people see nothing
)
"""The invisible characters, without spaces and joiners, which change how a text looks."""


def replace_controls(text: str) -> str:
    """Replace each invisible character by one other character, so that offsets stay valid."""
    return INVISIBLE.sub(lambda match: " " if match[0].isspace() else "\ufffd", text)
