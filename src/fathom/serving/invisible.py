"""Characters that nobody sees: in the text of a document they could fool a terminal or a model."""

import re

INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"  # control characters, surrogates
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # order and width
    "\U000e0000-\U000e0fff]"  # tags: a model reads them as text, and people see nothing
)
"""The characters; spaces of any width and joiners are none of them, as they shape what is seen."""


def replace_controls(text: str) -> str:
    """Replace invisible characters, each by one other character, so that offsets hold."""
    return INVISIBLE.sub(lambda match: " " if match[0].isspace() else "\ufffd", text)
