"""Detection of a file's format by its content; the name decides only between text formats."""

import re
import zipfile
from pathlib import PurePath

from fathom.documents.base import ParseRefusal
from fathom.documents.decode import decode_markup
from fathom.documents.zipguard import open_zip, unpack_member
from fathom.registry import ENDINGS, FORMATS, Format

_KNOWN_BINARY: tuple[tuple[bytes, str], ...] = (
    (b"GIF8", "a picture of a kind that is not read; save it as PNG"),
    (b"II+\x00", "a picture of a kind that is not read; save it as PNG"),
    (b"MM\x00+", "a picture of a kind that is not read; save it as PNG"),
    (b"\x1f\x8b", "a packed file; unpack it"),
    (b"7z\xbc\xaf", "an archive; unpack it and name the folder"),
    (b"Rar!", "an archive; unpack it and name the folder"),
    (b"BZh", "a packed file; unpack it"),
    (b"\xfd7zXZ", "a packed file; unpack it"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "a database"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAIL_FIELD = re.compile(
    rb"(?im)^(from|to|date|subject|mime-version|received|message-id|return-path|reply-to|cc|"
    rb"content-type|delivered-to|dkim-signature|x-[\w-]+):[ \t]*\S"
)
_HEADER_LINE = re.compile(rb"[!-9;-~]+:.*|[ \t]+.*|From .*|\r?")
_COMMENTS = re.compile(r"\s*(?:<!--.*?-->|<\?.*?\?>|\s)*", re.DOTALL)
_HTML_START = re.compile(
    r"<(?:!doctype\s+html|html|head|body|title|meta|div|p|h[1-6]|table|ul|ol|span|article|main|"
    r"section|a|b|br|center|font|script|style|nav|header|form|pre|blockquote)\b[^<]{0,2000}>",
    re.IGNORECASE,
)
_SHARED_ROOT = re.compile(r"<(?:article|section)\b([^>]{0,2000})>", re.IGNORECASE)
"""The start of a text whose root element DocBook or JATS shares with HTML."""
_DECLARATION = re.compile(r"\s*<\?xml\s")
_NAMESPACE = re.compile(r"""\sxmlns(?::[\w.-]+)?\s*=\s*["'][^"']""")
_XHTML = "http://www.w3.org/1999/xhtml"
_XML_ROOT = re.compile(r"<(?:!DOCTYPE\s+)?([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s/>\[]")
_ATX = re.compile(r"(?m)^#{1,6} \S")
_CELLS = re.compile(r'^\s*\{.*"cells"\s*:', re.DOTALL)


def detect_format(data: bytes, name: str) -> Format:
    """Return the format of `data`.

    Args:
        data: The whole file.
        name: The file's name.

    Raises:
        ParseRefusal: If no parser can read the file: `empty`, `encrypted`, `unsupported` or
            `no_document`; `failed` for a damaged zip.
    """
    if not data:
        raise ParseRefusal("empty", "the file has no bytes")
    try:
        return _detect_binary(data) or _detect_text(data, ENDINGS.get(_get_ending(name)))
    except ParseRefusal as refusal:
        raise refine_refusal(refusal, name) from None


def refine_refusal(refusal: ParseRefusal, name: str) -> ParseRefusal:
    """Return a refusal `no_document` as `unsupported` if the file has the name of a document.

    Other refusals are returned unchanged.
    """
    if refusal.outcome == "no_document" and _get_ending(name) in ENDINGS:
        return ParseRefusal("unsupported", refusal.reason)
    return refusal


def _get_ending(name: str) -> str:
    """Return the ending of a file's name in small letters, without the dot."""
    return PurePath(name).suffix[1:].lower()


def _detect_binary(data: bytes) -> Format | None:
    """Return the format of binary data; `None` if it may be text.

    Raises:
        ParseRefusal: If it is of a known kind that is not read.
    """
    # Readers accept a PDF header within the first kilobyte, so some files have bytes before it.
    at = data.find(b"%PDF-", 0, 1024)
    if at > 0 and b" obj" in data:
        return FORMATS["pdf"]
    for entry in FORMATS.values():
        if entry.magic and data.startswith(entry.magic):
            return entry
    if data.startswith(_OLE):
        raise _refuse_ole(data)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _detect_zip(data)
    for magic, description in _KNOWN_BINARY:
        if data.startswith(magic):
            raise ParseRefusal("no_document", f"is {description}")
    return None


def _refuse_ole(data: bytes) -> ParseRefusal:
    """Return the refusal of a file in an old Office format, or of an encrypted one."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        return ParseRefusal("encrypted", "protected by a password; save it without one")
    kinds = {"WordDocument": ".docx", "Workbook": ".xlsx", "PowerPoint Document": ".pptx"}
    for stream, modern in kinds.items():
        if stream.encode("utf-16-le") in data:
            return ParseRefusal("unsupported", f"is in an old Office format; save it as {modern}")
    return ParseRefusal(
        "unsupported", "is in an old Office format; save it as .docx, .xlsx or .pptx"
    )


def _detect_zip(data: bytes) -> Format:
    """Return the format of a zip.

    Raises:
        ParseRefusal: `no_document` for a plain archive, or as for `open_zip`.
    """
    with open_zip(data) as archive:
        names = archive.namelist()
        if "mimetype" in names:
            kind = _read_mimetype(archive)
            if kind:
                return kind
        for entry in FORMATS.values():
            if entry.member and any(name.startswith(entry.member) for name in names):
                return entry
    raise ParseRefusal("no_document", "is a zip archive; unpack it and name the folder")


def _read_mimetype(archive: zipfile.ZipFile) -> Format | None:
    """Return the format that the member `mimetype` of a zip states, or `None`.

    Raises:
        ParseRefusal: `unsupported` for an OpenDocument file that is not read.
    """
    try:
        declared = unpack_member(archive, "mimetype", 200).strip().decode("latin-1")
    except zipfile.BadZipFile:
        return None
    for entry in FORMATS.values():
        if declared in entry.media_types:
            return entry
    if declared.startswith("application/vnd.oasis"):
        raise ParseRefusal("unsupported", "is an OpenDocument file but no text; save it as .odt")
    return None


def _detect_text(data: bytes, named: Format | None) -> Format:
    """Return the format of text.

    Args:
        data: The whole file.
        named: The format of the file's ending; `None` for an unknown one.

    Raises:
        ParseRefusal: If the data is no text, or of an unknown encoding.
    """
    from fathom.documents.formats import manual

    if _is_mail(data):
        return FORMATS["eml"]
    text = decode_markup(data)
    start = text[_skip_comments(text) :][:4000]
    is_declared = _DECLARATION.match(text) is not None
    kind = _detect_markup(start, named, is_declared=is_declared) or _detect_notation(
        start, text, named
    )
    if kind:
        return FORMATS[kind]
    entry = named if named and named.by_ending else FORMATS[_detect_by_content(text)]
    return FORMATS["manual"] if entry.name == "text" and manual.is_manual(text) else entry


def _skip_comments(text: str) -> int:
    """Return the place after the comments and processing instructions that begin a text."""
    match = _COMMENTS.match(text)
    return match.end() if match else 0


def _detect_markup(start: str, named: Format | None, *, is_declared: bool) -> str:
    """Return `html` or `xml`, or `""` for a text that is neither."""
    if named and named.by_ending and start.startswith("<"):
        # Markdown and text may begin with a tag; only a whole page overrules the name.
        whole = re.match(r"<(?:!doctype\s+html|html)\b", start, re.IGNORECASE)
        return "html" if whole else ""
    name = named.name if named else ""
    if _HTML_START.match(start):
        return "xml" if _is_xml_article(start, name, is_declared=is_declared) else "html"
    if _XML_ROOT.match(start):
        return "xml"
    return "html" if name == "html" else ""


def _is_xml_article(start: str, named: str, *, is_declared: bool) -> bool:
    """Return whether the first element, which HTML has too, is the root of DocBook or JATS.

    Args:
        start: The beginning of the text, from the element on.
        named: The name of the format of the file's ending; empty for an unknown one.
        is_declared: Whether the text begins with an XML declaration.
    """
    root = _SHARED_ROOT.match(start)
    if root is None or named == "html" or _XHTML in root[1]:
        return False
    return is_declared or named == "xml" or _NAMESPACE.search(root[1]) is not None


def _detect_notation(start: str, text: str, named: Format | None) -> str:
    """Return `notebook` or `json`, or `""` for a text that is neither."""
    if not start.startswith(("{", "[")) or (named and named.by_ending):
        return ""
    from fathom.documents.formats import json

    if _CELLS.match(text[:200_000]) and '"nbformat"' in text:
        return "notebook"
    return "json" if json.is_json(text) else ""


def _is_mail(data: bytes) -> bool:
    """Return whether a file begins with the header of a mail, of three known fields or more."""
    head = data[:8192].lstrip()
    lines = head.split(b"\n")
    fields = 0
    for line in lines[:-1] if len(head) == 8192 else lines:
        if not line.strip():
            break
        if not _HEADER_LINE.fullmatch(line.rstrip(b"\r")):
            return False
        fields += bool(_MAIL_FIELD.match(line))
    return fields >= 3


def _detect_by_content(text: str) -> str:
    """Return the name of the text format that the content alone shows."""
    from fathom.documents.formats import csv, manual

    if manual.is_source(text):
        return "manual"  # first, because its examples may look like any other format
    if len(_ATX.findall(text, 0, 100_000)) >= 2:
        return "markdown"
    return "csv" if csv.is_csv(text) else "text"
