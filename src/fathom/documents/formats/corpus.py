"""A corpus file: a JSON record with `_id` and `text` on each line, read record by record."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO, cast

from fathom.documents.base import (
    ParsedDocument,
    ParseLimits,
    ParseRefusal,
    RecordFailure,
    clean_text,
)
from fathom.documents.record_ids import check_record_id, name_record
from fathom.types import Block, Scalar, Span

_GZIP = b"\x1f\x8b"
_GAP = re.compile(r"\n[ \t]*\n\s*")
_SAMPLE_LINES = 5
_SAMPLE_BYTES = 1 << 20
_LINE_BYTES = 80_000_000
_BROKEN = (OSError, EOFError, zlib.error)


def is_corpus(file: BinaryIO) -> bool:
    """Return whether one of the first lines of `file` (gzip or plain) is a record of a corpus."""
    source = _open_file(file)
    try:
        lines = list(islice(iter(lambda: source.readline(_SAMPLE_BYTES), b""), _SAMPLE_LINES))
    except _BROKEN:
        return False
    finally:
        file.seek(0)
    return any(_is_record(line) for line in lines)


def read_records(file: BinaryIO, limits: ParseLimits) -> Iterator[ParsedDocument | RecordFailure]:
    """Yield a document or a failure for each line, in file order; blank lines are skipped.

    Args:
        file: The file, gzip or plain.
        limits: The limits for the file and for each record.

    Raises:
        ParseRefusal: `failed` if the file breaks off, unpacks to too much or has too long a line.
    """
    source = _open_file(file)
    number, read_bytes = 0, 0
    try:
        while line := source.readline(_LINE_BYTES):
            number += 1
            read_bytes += len(line)
            if read_bytes > limits.corpus_bytes:
                raise ParseRefusal("failed", f"unpacks to more than {limits.corpus_bytes} bytes")
            if len(line) == _LINE_BYTES and not line.endswith(b"\n"):
                raise ParseRefusal("failed", f"line {number} is longer than {_LINE_BYTES} bytes")
            if line.strip():
                yield _parse_line(line, number, limits)
    except _BROKEN as error:
        raise ParseRefusal(
            "failed", f"the packed file breaks off or is damaged: {error}"
        ) from error


def _open_file(file: BinaryIO) -> BinaryIO:
    """Return the file from its beginning, unpacked if it is gzip."""
    file.seek(0)
    packed = file.read(2) == _GZIP
    file.seek(0)
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file


def _is_record(line: bytes) -> bool:
    """Return whether a line is a JSON object with `_id` and `text`."""
    if not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
        return False
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "_id" in row and "text" in row


def _parse_line(line: bytes, number: int, limits: ParseLimits) -> ParsedDocument | RecordFailure:
    """Return the document of a line, or the reason why it gives none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return RecordFailure(
            line=number, outcome="failed", reason=f"line {number} is no JSON: {reason}"
        )
    # Python counts `true` among the whole numbers.
    given = row.get("_id") if isinstance(row, dict) else None
    if not isinstance(given, str | int) or isinstance(given, bool):
        reason = f'line {number} is no record with an "_id"'
        return RecordFailure(line=number, outcome="failed", reason=reason)
    if not str(row["_id"]).strip():
        reason = f'line {number} has an empty "_id"'
        return RecordFailure(line=number, outcome="failed", reason=reason)
    try:
        check_record_id(name := name_record(str(row["_id"])))
    except ValueError as error:  # the failure has no id: the id would become part of a place
        return RecordFailure(line=number, outcome="failed", reason=f"line {number}: {error}")
    return _build_record(row, name, number, limits)


def _build_record(
    row: dict[str, Any], name: str, number: int, limits: ParseLimits
) -> ParsedDocument | RecordFailure:
    """Build the document of a record with a good id, or return the reason why it gives none."""
    title = row["title"] if isinstance(row.get("title"), str) else ""
    text = row.get("text")
    if not isinstance(text, str):
        reason = f'line {number} has no "text"'
        return RecordFailure(line=number, record=name, outcome="failed", reason=reason)
    if len(text) > limits.text_chars:
        reason = f"line {number} holds more than {limits.text_chars} characters"
        return RecordFailure(line=number, record=name, outcome="failed", reason=reason)
    body = clean_text(text if text.strip() else title)
    if not body.strip():
        return RecordFailure(
            line=number, record=name, outcome="empty", reason=f"line {number} holds no text"
        )
    return ParsedDocument(
        text=body,
        title=" ".join(clean_text(title).split()),
        blocks=tuple(_split_paragraphs(body)),
        metadata={**_select_scalars(row.get("metadata")), **_read_readers(row)},
        record=name,
    )


def _read_readers(row: dict[str, Any]) -> dict[str, Scalar]:
    """Return the readers that a record names, as metadata; empty if it names none.

    A value that is neither a text nor a list of texts becomes an empty text, so that nobody may
    read the record.
    """
    metadata = row.get("metadata")
    rows = (row, metadata if isinstance(metadata, dict) else {})
    given = [part["readers"] for part in rows if "readers" in part]
    if not given:
        return {}
    names = given[0]
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return {"readers": ", ".join(names)}
    return {"readers": names if isinstance(names, str) else ""}


def _split_paragraphs(text: str) -> Iterator[Block]:
    """Yield the paragraphs; the text is unchanged, so their offsets are those in the record."""
    start = 0
    for gap in _GAP.finditer(text):
        if text[start : gap.start()].strip():
            yield Block(kind="paragraph", span=Span(start, gap.start()))
        start = gap.end()
    if text[start:].strip():
        yield Block(kind="paragraph", span=Span(start, len(text)))


def _select_scalars(value: object) -> dict[str, Scalar]:
    """Return the flat values of a record's metadata; filters cannot use nested ones."""
    if not isinstance(value, dict):
        return {}
    return {str(k): v for k, v in value.items() if isinstance(v, str | int | float | bool)}
