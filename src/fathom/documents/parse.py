"""Parsing of a file by the parser of its format; it runs only in the sandbox."""

import os
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pkgutil import resolve_name
from typing import TYPE_CHECKING, BinaryIO

from fathom.documents.base import ParsedDocument, ParseLimits, ParseRefusal, RecordFailure
from fathom.documents.formats.sniff import detect_format, refine_refusal
from fathom.errors import UsageError
from fathom.extensions import Extension
from fathom.registry import Format

if TYPE_CHECKING:
    from fathom.documents.formats.pdf.lines import Recogniser

VERSION = "2"
"""The version of the parsers, by which documents that an older version read are recognised.

It is raised when a parser gives other text or facts than before.
"""


def parse_bytes(
    data: bytes,
    name: str,
    limits: ParseLimits | None = None,
    recogniser: "Recogniser | None" = None,
) -> Iterator[ParsedDocument | RecordFailure]:
    """Yield the documents in the bytes of a file, as `parse_stream` does.

    Args:
        data: The whole file.
        name: The file's name, which decides only between text formats.
        limits: The limits; by default the usual ones.
        recogniser: The recogniser of text on pictures; `None` reads no pictures.

    Raises:
        ParseRefusal: If the file gives no text.
    """
    return parse_stream(BytesIO(data), name, limits or ParseLimits(), recogniser=recogniser)


def parse_stream(
    file: BinaryIO,
    name: str,
    limits: ParseLimits,
    extension: Extension | None = None,
    recogniser: "Recogniser | None" = None,
) -> Iterator[ParsedDocument | RecordFailure]:
    """Yield the document in an open file; for a corpus, a value for each record.

    Args:
        file: The file, open for reading bytes.
        name: The file's name, which decides only between text formats.
        limits: The limits.
        extension: The extension that reads the file; by default Fathom's own parsers read it.
        recogniser: The recogniser of text on pictures; `None` reads no pictures.

    Raises:
        ParseRefusal: If the file gives no text, or no more text.
    """
    from fathom.documents.formats import corpus

    # A corpus is recognised first, because it may be larger than a file that is read as a whole.
    if corpus.is_corpus(file):
        yield from corpus.read_records(file, limits)
        return
    size = file.seek(0, os.SEEK_END)
    if size > limits.file_bytes:
        raise ParseRefusal("failed", f"larger than {limits.file_bytes // 1_000_000} MB; split it")
    file.seek(0)
    data = file.read()
    if extension is not None:
        yield check_text(_parse_with_extension(extension, data), limits)
        return
    kind = detect_format(data, name)
    try:
        parsed = kind.load()(data, *([recogniser] if kind.pictures and recogniser else []))
    except ParseRefusal as refusal:
        raise refine_refusal(refusal, name) from None
    yield _add_lines(check_text(parsed, limits), kind, data)


def _parse_with_extension(extension: Extension, data: bytes) -> ParsedDocument:
    """Parse a file by an extension.

    Raises:
        ParseRefusal: `failed` if the extension cannot be loaded or gives something else.
    """
    try:
        parse = extension.load()
    except UsageError as error:
        raise ParseRefusal("failed", str(error)) from error
    parsed = parse(data)
    if not isinstance(parsed, ParsedDocument):
        raise ParseRefusal(
            "failed", f"{extension} gave {type(parsed).__name__} instead of ParsedDocument"
        )
    return parsed


def _add_lines(parsed: ParsedDocument, kind: Format, data: bytes) -> ParsedDocument:
    """Return a document with the lines of its file, if the format has lines."""
    if kind.lines is None:
        return parsed
    from fathom.documents.decode import decode_markup
    from fathom.documents.source_lines import map_lines

    file = decode_markup(data)
    if kind.lines:
        file = resolve_name(kind.lines)(file)
    starts = [block.span.start for block in parsed.blocks]
    return replace(parsed, lines=map_lines(parsed.text, file, starts))


def check_text(parsed: ParsedDocument, limits: ParseLimits) -> ParsedDocument:
    """Return a document if its text is neither empty nor too long.

    Raises:
        ParseRefusal: `empty` without text, `failed` for more than `limits.text_chars` characters.
    """
    if not parsed.text.strip():
        raise ParseRefusal("empty", "holds no text")
    if len(parsed.text) > limits.text_chars:
        raise ParseRefusal(
            "failed", f"holds more than {limits.text_chars // 1_000_000} million characters"
        )
    return parsed
