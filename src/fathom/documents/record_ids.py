"""The `_id` of a record: free text that becomes the id of a document and a part of its place.

Files have ids of 16 hexadecimal digits, see `discover.document_id`. A record is never stored under
such an id: it would take the place of the file with that content, which is then not read.
"""

import re
import unicodedata

MOST_BYTES = 1000
"""Of an id in UTF-8; an index on a server takes no key of more than some 2,700 with its file."""
_SEPARATOR = re.compile(r"[/\\]")
_FILE_ID = re.compile(r"_*[0-9a-f]{16}")
_MARK = "_"


def check_record_id(name: str) -> None:
    """Refuse the `_id` of a record that could lead elsewhere as a path, or cannot be shown.

    Raises:
        ValueError: If it cannot be taken; says why in one line, without the id.
    """
    if len(name.encode("utf-8", "replace")) > MOST_BYTES:
        raise ValueError(f'its "_id" is longer than {MOST_BYTES} bytes; give it a shorter one')
    if any(unicodedata.category(each) in {"Cc", "Cs"} for each in name):
        raise ValueError('its "_id" holds a control character; give it one without')
    if is_file_id(name):
        raise ValueError('its "_id" has the form of the id of a file; give it another one')
    if any(part.strip() == ".." for part in _SEPARATOR.split(name)):
        raise ValueError('its "_id" holds ".." as a part of a path; give it one without')


def is_file_id(document_id: str) -> bool:
    """Tell whether an id has the form of the ids of files."""
    return _FILE_ID.fullmatch(document_id) is not None and not document_id.startswith(_MARK)


def name_record(name: str) -> str:
    """Make the id under which a record is stored of its `_id`: the same, unless files have such.

    Different ones stay different.
    """
    return f"{_MARK}{name}" if _FILE_ID.fullmatch(name) else name


def restore_name(document_id: str) -> str:
    """Give back the `_id` of which `name_record` made an id."""
    is_marked = document_id.startswith(_MARK) and _FILE_ID.fullmatch(document_id)
    return document_id.removeprefix(_MARK) if is_marked else document_id
