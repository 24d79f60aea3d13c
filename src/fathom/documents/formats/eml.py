"""Electronic mail: sender, recipients, date, the text, and readable attachments."""

import base64
import binascii
import codecs
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import cast

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal, add_blocks
from fathom.documents.decode import decode_text
from fathom.documents.formats.html import parse as parse_html
from fathom.types import Scalar

_DEEPEST = 2
_MOST_ATTACHMENTS = 100
_STUB_RATIO, _STUB_WORDS = 2, 20
"""A plain text is a stub if the page has more words than this ratio of its own, and these on top.

The same text as a page has hardly more words."""
_SHOWN_HEADERS = ("From", "To", "Cc", "Date")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_SEPARATOR = re.compile(rb"(?:\A|\n\r?\n)From [^\r\n]+\r?\n(?=[!-9;-~]+:)")
"""The line before each message of a mailbox file."""
_MARKED = re.compile(rb"(?m)^>(?=>*From )")
_SIGNATURE = "-- "
"""The line before a signature."""
_MESSAGES = frozenset({"message/rfc822", "message/global", "message/news"})
_ESCAPING = ("iso2022", "hz", "utf-7")
"""The beginnings of the names of encodings that write all letters by ASCII bytes."""


def parse(data: bytes) -> ParsedDocument:
    """Parse an EML file or a mailbox file; messages attached to a message are read, one level deep.

    Raises:
        ParseRefusal: `empty` without text, `failed` for a message with more than 100 attachments.
    """
    first, *others = _split_mailbox(data)
    message = message_from_bytes(first, policy=default)
    builder = Builder()
    if others:
        return _build_mailbox(builder, (first, *others))
    _add_message(builder, message, 1)
    metadata: dict[str, Scalar] = {}
    for key, name in (("author", "From"), ("recipient", "To"), ("created", "Date")):
        value = _get_header(message, name)
        if value:
            metadata[key] = value
    return builder.build(_get_header(message, "Subject"), metadata)


def _split_mailbox(data: bytes) -> list[bytes]:
    """Return the messages of a mailbox file (mbox), or the one message of any other file."""
    if not data.startswith(b"From "):
        return [data]
    messages = _SEPARATOR.split(data)[1:]
    # Programs put a mark before a line of text that would look like the next message.
    return [_MARKED.sub(b"", message) for message in messages] or [data]


def _build_mailbox(builder: Builder, messages: Iterable[bytes]) -> ParsedDocument:
    """Build a document with a section for each message."""
    for number, data in enumerate(messages, start=1):
        message = message_from_bytes(data, policy=default)
        _add_message(builder, message, 1, f"Message {number}")
    return builder.build(opening=False)


def _add_message(
    builder: Builder, message: EmailMessage, depth: int, usual_heading: str = ""
) -> None:
    """Add a message.

    Args:
        builder: The builder that receives the message.
        message: The message.
        depth: 1 for the file itself, 2 for a message attached to it.
        usual_heading: The heading of a message without a subject; empty for none.

    Raises:
        ParseRefusal: `failed` for too many attachments.
    """
    builder.add_heading(_get_header(message, "Subject") or usual_heading, depth)
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
    """Add the text of a message, plain or HTML; say so if HTML cannot be read."""
    if body.get_content_subtype() == "html":
        try:
            _add_file(builder, _encode_page(body), "body.html", depth)
        except ParseRefusal as refusal:
            if refusal.outcome != "empty":  # a message may consist of attachments only
                builder.add_paragraph(f"The message's text is not read: {refusal}")
        return
    text = _get_text(body)
    if str(body.get_param("format")).lower() == "flowed":
        text = _unwrap_lines(text, drop_spaces=str(body.get_param("delsp")).lower() == "yes")
    for paragraph in _PARAGRAPHS.split(text):
        builder.add_paragraph(paragraph)


def _unwrap_lines(text: str, *, drop_spaces: bool) -> str:
    """Join the lines of a text in `format=flowed` (RFC 3676) that its sender wrapped.

    Args:
        text: The text, in which a line that goes on ends with a space.
        drop_spaces: Whether that space is no part of the text, as between Chinese characters.
    """
    pieces: list[str] = []
    open_depth: int | None = None  # the depth of quotation of the line before, if it goes on
    for line in text.split("\n"):
        unquoted = line.lstrip(">")
        depth = len(line) - len(unquoted)
        content = unquoted.removeprefix(" ")  # the sender's guard of lines that begin with a sign
        is_whole = content == _SIGNATURE or not content.strip()
        if is_whole or depth != open_depth:
            pieces += "\n", ">" * depth, " " if depth and content else ""
        goes_on = content.endswith(" ") and not is_whole
        pieces.append(content[:-1] if goes_on and drop_spaces else content)
        open_depth = depth if goes_on else None
    return "".join(pieces[1:])


def _iter_parts(part: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the texts and attachments of a part in order; of several forms of a text the best."""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        yield part
        return
    inner = cast("Iterator[EmailMessage]", part.iter_parts())
    inner_parts = chain.from_iterable(map(_iter_parts, inner))
    if part.get_content_subtype() == "alternative":
        yield from _choose_text(list(inner_parts))
    elif part.get_content_subtype() == "related":
        # Without the pictures that belong into the text.
        yield from (leaf for leaf in inner_parts if not _is_inline(leaf, "image"))
    else:
        yield from inner_parts


def _choose_text(parts: list[EmailMessage]) -> Iterator[EmailMessage]:
    """Yield the best of several forms of a text, and the parts that are no form of it."""
    texts = [part for part in parts if _is_body(part)]
    plain = [part for part in texts if part.get_content_subtype() == "plain"]
    filled = next((part for part in plain if _get_text(part).strip()), None)
    page = next((part for part in texts if part not in plain), None)
    best = page if filled is None or (page and _is_stub(_get_text(filled), page)) else filled
    yield from (part for part in parts if part is best or not _is_form(part))


def _is_stub(plain: str, page: EmailMessage) -> bool:
    """Return whether a plain text only says that the page beside it is to be read."""
    most = _STUB_RATIO * len(plain.split()) + _STUB_WORDS
    data = _encode_page(page)
    if len(data) <= most:  # a word has a byte at least
        return False
    try:
        return len(parse_html(data).text.split()) > most
    except ParseRefusal:
        return False


def _is_form(part: EmailMessage) -> bool:
    """Return whether a part is a form of a text and not an attached file."""
    return _is_body(part) or (_is_inline(part, "text") and not part.get_filename())


def _is_body(part: EmailMessage) -> bool:
    """Return whether a part can be the text of a message."""
    return _is_inline(part, "text") and part.get_content_subtype() in {"plain", "html"}


def _is_inline(part: EmailMessage, kind: str) -> bool:
    """Return whether a part has a main media type and is no attachment."""
    return part.get_content_maintype() == kind and not part.is_attachment()


def _add_attachment(builder: Builder, attachment: EmailMessage, depth: int) -> None:
    """Add an attachment below a heading with its name; say so if it cannot be read."""
    kind = attachment.get_content_type()
    name = attachment.get_filename() or kind
    builder.add_heading(f"Attachment: {name}", depth + 1)
    inner = attachment.get_payload()
    if isinstance(inner, list) and inner and kind.startswith("message/"):
        messages = cast("list[EmailMessage]", inner)
        if kind in _MESSAGES:
            _add_inner(builder, _unpack_message(messages[0]), depth)
        else:
            _add_fields(builder, messages)
        return
    try:
        _add_file(builder, _get_payload(attachment), name, depth + 1)
    except ParseRefusal as refusal:
        builder.add_paragraph(f"{name} ({kind}) is not read: {refusal}")


def _unpack_message(message: EmailMessage) -> EmailMessage:
    """Return an attached message; one in base64, which the standard forbids, is decoded."""
    payload = message.get_payload()
    if len(message) or not isinstance(payload, str):
        return message
    try:
        return message_from_bytes(
            base64.b64decode("".join(payload.split()), validate=True), policy=default
        )
    except (binascii.Error, ValueError):
        return message


def _add_fields(builder: Builder, groups: Iterable[EmailMessage]) -> None:
    """Add the fields of a delivery report, a paragraph for each group of fields."""
    for group in groups:
        fields = [f"{name}: {value}" for name in group if (value := _get_header(group, name))]
        builder.add_paragraph("\n".join(fields))


def _add_file(builder: Builder, data: bytes, name: str, depth: int) -> None:
    """Add a file of any format.

    Raises:
        ParseRefusal: If it gives no text.
    """
    from fathom.documents.formats.sniff import detect_format

    kind = detect_format(data, name)
    if kind.name == "eml":
        _add_inner(builder, message_from_bytes(data, policy=default), depth - 1)
    else:
        add_blocks(builder, kind.load()(data), depth)


def _add_inner(builder: Builder, message: EmailMessage, depth: int) -> None:
    """Add an attached message, or only its subject if it is nested too deep."""
    if depth < _DEEPEST:
        _add_message(builder, message, depth + 1)
    else:
        subject = _get_header(message, "Subject")
        builder.add_paragraph(f"Attached message, too deep to be read: {subject}")


def _get_header(message: EmailMessage, name: str) -> str:
    """Return a header in one line, a date as ISO 8601; empty if it is missing or malformed."""
    # The standard library fails on some malformed headers only when they are accessed.
    with suppress(ValueError, IndexError, AttributeError, TypeError, LookupError):
        value = " ".join(str(message[name] or "").split())
        return _format_date(value) if name == "Date" else value
    return ""


def _format_date(value: str) -> str:
    """Return a date as ISO 8601; a malformed one as it is."""
    with suppress(ValueError, TypeError):
        return parsedate_to_datetime(value).isoformat()
    return value


def _get_payload(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _encode_page(part: EmailMessage) -> bytes:
    """Return an HTML part as bytes, in UTF-8 with a mark if the mail states its encoding.

    The encoding that the mail states counts more than the one in the HTML itself.
    """
    has_charset = part.get_content_charset() is not None
    return _get_text(part).encode("utf-8-sig") if has_charset else _get_payload(part)


def _get_text(part: EmailMessage) -> str:
    payload = _get_payload(part)
    charset = part.get_content_charset() or "utf-8"
    return _decode_payload(payload, charset).replace("\r\n", "\n")


def _decode_payload(payload: bytes, charset: str) -> str:
    """Decode the bytes of a text; the stated encoding may be wrong."""
    if payload.isascii():
        with suppress(LookupError, ValueError):
            if codecs.lookup(charset).name.startswith(_ESCAPING):
                return payload.decode(charset)
    try:
        return decode_text(payload, [charset])
    except ParseRefusal:
        # cp1252 is what most Western mail with a wrong charset uses.
        return payload.decode("cp1252", errors="replace")
