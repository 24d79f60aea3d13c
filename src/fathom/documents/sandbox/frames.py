"""The frames of bytes that the reading process sends to its parent.

A frame is two lengths, a JSON head with the structure, and the texts as UTF-8. A hostile document
may have taken over the sender: so reading a frame runs no code of the sender's choice, and every
value in it is checked.
"""

import json
import struct
from dataclasses import dataclass
from typing import Any, cast, get_args

from fathom.documents.base import (
    MOST_LEVELS,
    ParsedDocument,
    ParseOutcome,
    ParseRefusal,
    RecordFailure,
    cut_title,
)
from fathom.documents.record_ids import check_record_id
from fathom.types import Block, BlockKind, Scalar, Span

MEMORY_EXIT = 77
"""The exit status of a reading process that ran out of memory."""
LENGTHS = struct.Struct("!II")
"""The lengths of the head and of the texts, in bytes."""
HEAD_BYTES = 32_000_000
"""The largest accepted head, in bytes."""
_KINDS = cast("tuple[BlockKind, ...]", get_args(BlockKind))
_OUTCOMES = cast("tuple[ParseOutcome, ...]", get_args(ParseOutcome))
_FIELDS = 6
_SURE = 1000  # the sureness of recognised text is sent as a whole number of thousandths


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A batch of a file's documents, or its end.

    Attributes:
        values: Documents and failed records, in file order.
        done: Whether this is the last frame of the file.
        refused: The refusal of the file, only in a last frame; `None` without one.
        peak_bytes: The largest memory of the sender since it started, only in a last frame.
        page: The number of pages that have been recognised so far.
        pages: The number of pages to recognise; 0 if none are.
    """

    values: tuple[ParsedDocument | RecordFailure, ...] = ()
    done: bool = False
    refused: ParseRefusal | None = None
    peak_bytes: int = 0
    page: int = 0
    pages: int = 0


def encode_frame(frame: Frame) -> bytes:
    """Encode a frame as bytes, lengths first; lone surrogates become `?`.

    Raises:
        ParseRefusal: `failed` if its structure is larger than `HEAD_BYTES`.
    """
    texts = [
        value.text.encode("utf-8", "replace") if isinstance(value, ParsedDocument) else b""
        for value in frame.values
    ]
    head: dict[str, Any] = {
        "values": [_pack_value(v, len(t)) for v, t in zip(frame.values, texts, strict=True)],
        "done": frame.done,
        "peak": frame.peak_bytes,
        "page": [frame.page, frame.pages],
    }
    if frame.refused is not None:
        head["refused"] = [frame.refused.outcome, frame.refused.reason]
    packed = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    if len(packed) > HEAD_BYTES:
        raise ParseRefusal("failed", "has more structure than fits; split it into smaller files")
    text = b"".join(texts)
    return LENGTHS.pack(len(packed), len(text)) + packed + text


def decode_frame(head: bytes, text: bytes) -> Frame:
    """Decode a frame from its head and its text.

    Raises:
        ValueError: If it differs in any way from the form in which `encode_frame` writes it.
    """
    try:
        return _read_frame(json.loads(head), text)
    except (KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"damaged frame: {error!r}") from error


def _read_frame(head: dict[str, Any], text: bytes) -> Frame:
    """Build a frame from its parsed head and its text.

    Raises:
        ValueError: If a value is malformed; the other errors of access if one is missing.
    """
    values: list[ParsedDocument | RecordFailure] = []
    at = 0
    for packed in head["values"]:
        size = _read_whole(packed.get("size", 0))
        values.append(_read_value(packed, text[at : at + size].decode()))
        at += size
    if at != len(text):
        raise ValueError("damaged frame: lengths do not add up")
    page, pages = map(_read_whole, head.get("page", (0, 0)))
    return Frame(
        values=tuple(values),
        done=head["done"] is True,
        refused=ParseRefusal(*_read_refusal(*head["refused"])) if "refused" in head else None,
        peak_bytes=_read_whole(head["peak"]),
        page=page,
        pages=pages,
    )


def _pack_value(value: ParsedDocument | RecordFailure, size: int) -> dict[str, Any]:
    """Return a value as JSON; `size` is the length of its text in bytes."""
    if isinstance(value, RecordFailure):
        return {
            "line": value.line,
            "refused": [value.outcome, value.reason],
            "record": value.record,
        }
    paths = {path: n for n, path in enumerate(dict.fromkeys(b.headings for b in value.blocks))}
    return {
        "size": size,
        "title": value.title,
        "metadata": dict(value.metadata),
        "record": value.record,
        "unread": value.unread,
        "paths": list(paths),
        "lines": [number for line in value.lines for number in line],
        "blocks": [
            number
            for b in value.blocks
            for number in (
                _KINDS.index(b.kind),
                b.span.start,
                b.span.end,
                paths[b.headings],
                b.page or 0,
                0 if b.recognised is None else 1 + round(b.recognised * _SURE),
            )
        ],
    }


def _read_value(packed: dict[str, Any], text: str) -> ParsedDocument | RecordFailure:
    """Build a value from its JSON and its text."""
    record = None if packed["record"] is None else _read_record_id(packed["record"])
    if "line" in packed:
        outcome, reason = _read_refusal(*packed["refused"])
        return RecordFailure(
            line=_read_whole(packed["line"]), outcome=outcome, reason=reason, record=record
        )
    return ParsedDocument(
        text=text,
        title=cut_title(_read_string(packed["title"])),
        blocks=_read_blocks(packed["blocks"], packed["paths"], len(text)),
        metadata={
            _read_string(key): _read_scalar(item) for key, item in packed["metadata"].items()
        },
        record=record,
        lines=_read_lines(packed["lines"], len(text)),
        unread=" ".join(_read_string(packed.get("unread", ""))[:500].split()),
    )


def _read_lines(numbers: list[Any], length: int) -> tuple[tuple[int, int], ...]:
    """Build the lines of a text of some length; both of their numbers must grow."""
    lines = tuple(zip(*[map(_read_whole, numbers)] * 2, strict=True))
    last = (-1, 0)
    for offset, line in lines:
        if not (last[0] < offset < length and last[1] < line):
            raise ValueError("damaged frame: a line lies outside the text")
        last = (offset, line)
    return lines


def _read_blocks(numbers: list[Any], paths: list[Any], length: int) -> tuple[Block, ...]:
    """Build the blocks of a text of some length; they must be in order and must not overlap."""
    headings = [
        tuple(cut_title(_read_string(title)) for title in path[:MOST_LEVELS]) for path in paths
    ]
    blocks: list[Block] = []
    last = 0
    for at in range(0, len(numbers), _FIELDS):
        kind, start, end, path, page, sure = map(_read_whole, numbers[at : at + _FIELDS])
        if not last <= start <= end <= length or sure > _SURE + 1:
            raise ValueError("damaged frame: a block lies outside the text")
        last = end
        span = Span(start, end)
        blocks.append(
            Block(
                kind=_KINDS[kind],
                span=span,
                headings=headings[path],
                page=page or None,
                recognised=(sure - 1) / _SURE if sure else None,
            )
        )
    return tuple(blocks)


def _read_refusal(outcome: object, reason: object) -> tuple[ParseOutcome, str]:
    """Return an outcome and a reason of one line; the outcome must be known."""
    if outcome not in _OUTCOMES or outcome == "ok":
        raise ValueError(f"damaged frame: outcome {outcome!r}")
    return cast("ParseOutcome", outcome), " ".join(_read_string(reason)[:500].split())


def _read_whole(value: object) -> int:
    """Return a value if it is a whole number of at least 0."""
    # An exact type check, because `True` is an int too.
    if type(value) is not int or value < 0:
        raise ValueError(f"damaged frame: {value!r} is no whole number")
    return value


def _read_string(value: object) -> str:
    """Return a value if it is a text."""
    if not isinstance(value, str):
        raise ValueError(f"damaged frame: {value!r} is no text")  # noqa: TRY004 - one kind of fault
    return value


def _read_record_id(value: object) -> str:
    """Return a value if it is the id of a record."""
    name = _read_string(value)
    check_record_id(name)
    return name


def _read_scalar(value: object) -> Scalar:
    """Return a value if it can be a value of metadata."""
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"damaged frame: {value!r} is no scalar")  # noqa: TRY004
    return value
