"""Which document a file gives: its content names it, wherever the file lies."""

import hashlib
from pathlib import Path


def content_digest(file: Path) -> str:
    """The sha256 of a file's bytes, as 64 hexadecimal digits.

    Raises:
        OSError: If it cannot be read.
    """
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def document_id(digest: str) -> str:
    """The id of the document that a file with this content gives; equal files give the same."""
    return digest[:16]
