"""What the `_id` of a record may be; it is free text, and becomes a part of places."""

import re
import unicodedata

MOST_BYTES = 1000
"""Of an id in UTF-8; an index on a server takes no key of more than some 2,700 with its file."""
_SEPARATOR = re.compile(r"[/\\]")


def check_record_id(name: str) -> None:
    """Refuse the `_id` of a record that could lead elsewhere as a path, or cannot be shown.

    Raises:
        ValueError: If it cannot be taken; says why in one line, without the id.
    """
    if len(name.encode("utf-8", "replace")) > MOST_BYTES:
        raise ValueError(f'its "_id" is longer than {MOST_BYTES} bytes; give it a shorter one')
    if any(unicodedata.category(each) in {"Cc", "Cs"} for each in name):
        raise ValueError('its "_id" holds a control character; give it one without')
    if any(part.strip() == ".." for part in _SEPARATOR.split(name)):
        raise ValueError('its "_id" holds ".." as a part of a path; give it one without')
