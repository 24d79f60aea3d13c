"""The `_id` of a record: free text that becomes a document's id and a part of its place.

Files have ids of 16 hexadecimal digits, made by `discover.derive_document_id`. No record is stored
under such an id, because it would take the place of the file with that content.
"""

import re
import unicodedata

MAX_ID_BYTES = 1000
"""The longest id in UTF-8; an index on a server takes keys, with their file, up to 2,700 bytes."""
_SEPARATOR = re.compile(r"[/\\]")
_FILE_ID = re.compile(r"_*[0-9a-f]{16}")
_MARK = "_"


def check_record_id(name: str) -> None:
    """Check that the `_id` of a record can be displayed and leads nowhere else as a path.

    Raises:
        ValueError: If the id is not acceptable; the message gives the reason in one line, without
            the id.
    """
    if len(name.encode("utf-8", "replace")) > MAX_ID_BYTES:
        raise ValueError(f'its "_id" is longer than {MAX_ID_BYTES} bytes; give it a shorter one')
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in name):
        raise ValueError('its "_id" holds a control character; give it one without')
    if is_file_id(name):
        raise ValueError('its "_id" has the form of the id of a file; give it another one')
    if any(step.strip() == ".." for step in _SEPARATOR.split(name)):
        raise ValueError('its "_id" holds ".." as a part of a path; give it one without')


def is_file_id(document_id: str) -> bool:
    """Return whether an id has the form of the ids of files."""
    return _FILE_ID.fullmatch(document_id) is not None and not document_id.startswith(_MARK)


def name_record(name: str) -> str:
    """Return the id under which a record is stored: its `_id`, after a mark if it is like a file's.

    Different `_id`s give different ids.
    """
    return f"{_MARK}{name}" if _FILE_ID.fullmatch(name) else name


def restore_name(document_id: str) -> str:
    """Return the `_id` from which `name_record` made an id."""
    is_marked = document_id.startswith(_MARK) and _FILE_ID.fullmatch(document_id)
    return document_id.removeprefix(_MARK) if is_marked else document_id
