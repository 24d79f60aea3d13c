"""From a file to its documents: the right parser in the child, the right questions before."""

import importlib
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from fathom.documents.base import Parsed, Parser, Refused
from fathom.documents.failure import Failure
from fathom.documents.limits import Limits
from fathom.documents.sniff import Format, sniff

if TYPE_CHECKING:
    from fathom.documents.guard import Cage

VERSION = "2"
"""Raised when a parser gives other text or facts than before: old indexes are told apart by it."""

# Imported when the first file of the format comes: most runs need two or three of them.
PARSERS: dict[Format, str] = {
    "csv": "tabular",
    "docx": "docx",
    "eml": "eml",
    "epub": "epub",
    "html": "html",
    "json": "records",
    "manual": "manual",
    "markdown": "markdown",
    "notebook": "notebook",
    "odt": "odt",
    "pdf": "pdf",
    "pptx": "pptx",
    "rst": "rst",
    "rtf": "rtf",
    "text": "text",
    "xlsx": "xlsx",
    "xml": "xml",
}

# Formats whose lines a reader of the file counts; JSON is read out of order.
_TAGGED = frozenset({"html", "xml"})
_LINED = _TAGGED | {"csv", "manual", "markdown", "rst", "text"}


def read(path: Path, cage: "Cage") -> Iterator[Parsed | Failure]:
    """What the file at `path` holds: one document, or one value per record of a corpus.

    Raises:
        Refused: With the typed outcome when the file gives no (more) text.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise Refused("failed", f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise Refused("no_document", "not a regular file")
    if not found.st_size:
        raise Refused("empty", "the file has no bytes")
    yield from cage.parse(path)


def parse_bytes(data: bytes, name: str, limits: Limits | None = None) -> Iterator[Parsed | Failure]:
    """Parse a file's content; called in the cage only.

    Args:
        data: The whole file.
        name: Its name, which decides between text formats only.
        limits: What a document may give.

    Raises:
        Refused: With the typed outcome.
    """
    return parse_stream(BytesIO(data), name, limits or Limits())


def parse_stream(file: BinaryIO, name: str, limits: Limits) -> Iterator[Parsed | Failure]:
    """Like `parse_bytes` on an open file: a corpus is read record by record.

    Raises:
        Refused: With the typed outcome.
    """
    from fathom.documents import corpus

    if corpus.recognise(file):
        yield from corpus.read(file, limits)
        return
    size = file.seek(0, os.SEEK_END)
    if size > limits.file_bytes:
        raise Refused("failed", f"larger than {limits.file_bytes // 1_000_000} MB; split it")
    file.seek(0)
    data = file.read()
    kind = sniff(data, name)
    yield _lined(checked(parser(kind)(data), limits), kind, data)


def parser(kind: Format) -> Parser:
    """The parser of a format, imported now."""
    module = importlib.import_module(f"fathom.documents.{PARSERS[kind]}")
    return cast("Parser", module.parse)


def _lined(parsed: Parsed, kind: Format, data: bytes) -> Parsed:
    if kind not in _LINED:
        return parsed
    from fathom.documents.decode import decode_markup
    from fathom.documents.lines import lines_of, without_tags
    from fathom.documents.manual import bare

    file = decode_markup(data)
    if kind in _TAGGED:
        file = without_tags(file)
    elif kind == "manual":
        file = bare(file)
    starts = [block.span.start for block in parsed.blocks]
    return replace(parsed, lines=lines_of(parsed.text, file, starts))


def checked(parsed: Parsed, limits: Limits) -> Parsed:
    """`parsed`, unless it has no text or too much.

    Raises:
        Refused: `empty` or `failed`.
    """
    if not parsed.text.strip():
        raise Refused("empty", "holds no text")
    if len(parsed.text) > limits.text_chars:
        raise Refused(
            "failed", f"holds more than {limits.text_chars // 1_000_000} million characters"
        )
    return parsed
