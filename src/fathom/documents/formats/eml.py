"""Electronic mail: sender, recipients, date, the text, and readable attachments."""

import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import cast

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal, add_blocks
from fathom.types import Scalar

_DEEPEST = 2
_MOST_ATTACHMENTS = 100
_SHOWN_HEADERS = ("From", "To", "Cc", "Date")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")


def parse(data: bytes) -> ParsedDocument:
    """Parse an EML file; attached messages are read down to depth 2.

    Raises:
        ParseRefusal: `empty`, or `failed` for more than 100 attachments.
    """
    message = message_from_bytes(data, policy=default)
    builder = Builder()
    _add_message(builder, message, 1)
    metadata: dict[str, Scalar] = {}
    for key, name in (("author", "From"), ("recipient", "To"), ("created", "Date")):
        value = _get_header(message, name)
        if value:
            metadata[key] = value
    return builder.build(_get_header(message, "Subject"), metadata)


def _add_message(builder: Builder, message: EmailMessage, depth: int) -> None:
    """Add a message; `depth` is 1 for the file itself, 2 for a message attached to it."""
    builder.add_heading(_get_header(message, "Subject"), depth)
    headers = [(name, _get_header(message, name)) for name in _SHOWN_HEADERS]
    builder.add_paragraph("\n".join(f"{name}: {value}" for name, value in headers if value))
    parts = list(_iter_parts(message))
    body = next(filter(_is_body, parts), None)
    if body is None and message.get_content_maintype() == "text":
        body = message  # RFC 2046, 4.1.4: text of an unknown kind, such as asciidoc, is plain
    if body is not None:
        _add_body(builder, body, depth)
    attachments = (part for part in parts if part is not body)
    for count, attachment in enumerate(attachments, start=1):
        if count > _MOST_ATTACHMENTS:
            raise ParseRefusal(
                "failed", f"more than {_MOST_ATTACHMENTS} attachments; save them alone"
            )
        _add_attachment(builder, attachment, depth)


def _add_body(builder: Builder, body: EmailMessage, depth: int) -> None:
    if body.get_content_subtype() == "html":
        try:
            _add_file(builder, _get_payload(body), "body.html", depth)
        except ParseRefusal as refusal:
            if refusal.outcome != "empty":  # a message may consist of attachments only
                builder.add_paragraph(f"The message's text is not read: {refusal}")
        return
    for paragraph in _PARAGRAPHS.split(_get_text(body)):
        builder.add_paragraph(paragraph)


def _iter_parts(part: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the texts and attachments of a part in order, without other forms of the same text."""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        yield part
        return
    inner = cast("Iterator[EmailMessage]", part.iter_parts())
    inner_parts = chain.from_iterable(map(_iter_parts, inner))
    if part.get_content_subtype() == "alternative":
        yield from _choose_text(list(inner_parts))
    elif part.get_content_subtype() == "related":
        # The pictures that belong into the text.
        yield from (leaf for leaf in inner_parts if not _is_inline(leaf, "image"))
    else:
        yield from inner_parts


def _choose_text(parts: list[EmailMessage]) -> Iterator[EmailMessage]:
    """Yield the best of several forms of a text, and what is no text."""
    texts = [part for part in parts if _is_body(part)]
    plain = [part for part in texts if part.get_content_subtype() == "plain"]
    filled = (part for part in plain if _get_text(part).strip())
    best = next(filled, next((part for part in texts if part not in plain), None))
    yield from (part for part in parts if part is best or not _is_form(part))


def _is_form(part: EmailMessage) -> bool:
    """Return whether a part is a form of a text, and no file."""
    return _is_body(part) or (_is_inline(part, "text") and not part.get_filename())


def _is_body(part: EmailMessage) -> bool:
    return _is_inline(part, "text") and part.get_content_subtype() in {"plain", "html"}


def _is_inline(part: EmailMessage, kind: str) -> bool:
    return part.get_content_maintype() == kind and not part.is_attachment()


def _add_attachment(builder: Builder, attachment: EmailMessage, depth: int) -> None:
    kind = attachment.get_content_type()
    name = attachment.get_filename() or kind
    builder.add_heading(f"Attachment: {name}", depth + 1)
    inner = attachment.get_payload()
    if kind == "message/rfc822" and isinstance(inner, list) and inner:
        _add_inner(builder, cast("EmailMessage", inner[0]), depth)
        return
    try:
        _add_file(builder, _get_payload(attachment), name, depth + 1)
    except ParseRefusal as refusal:
        builder.add_paragraph(f"{name} ({kind}) is not read: {refusal}")


def _add_file(builder: Builder, data: bytes, name: str, depth: int) -> None:
    """Add a file of any other format.

    Raises:
        ParseRefusal: When it gives no text.
    """
    from fathom.documents.formats.sniff import detect_format

    kind = detect_format(data, name)
    if kind.name == "eml":
        _add_inner(builder, message_from_bytes(data, policy=default), depth - 1)
    else:
        add_blocks(builder, kind.load()(data), depth)


def _add_inner(builder: Builder, message: EmailMessage, depth: int) -> None:
    if depth < _DEEPEST:
        _add_message(builder, message, depth + 1)
    else:
        subject = _get_header(message, "Subject")
        builder.add_paragraph(f"Attached message, too deep to be read: {subject}")


def _get_header(message: EmailMessage, name: str) -> str:
    """Return a header in one line, dates as ISO 8601; empty when it is missing or beyond repair."""
    # The standard library fails on some malformed headers only when they are accessed.
    with suppress(ValueError, IndexError, AttributeError, TypeError, LookupError):
        value = " ".join(str(message[name] or "").split())
        return _format_date(value) if name == "Date" else value
    return ""


def _format_date(value: str) -> str:
    with suppress(ValueError, TypeError):
        return parsedate_to_datetime(value).isoformat()
    return value


def _get_payload(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _get_text(part: EmailMessage) -> str:
    charset = part.get_content_charset() or "utf-8"
    with suppress(LookupError, UnicodeDecodeError):
        return _get_payload(part).decode(charset).replace("\r\n", "\n")
    # cp1252 is what most Western mail with a wrong charset uses.
    return _get_payload(part).decode("cp1252", errors="replace").replace("\r\n", "\n")
