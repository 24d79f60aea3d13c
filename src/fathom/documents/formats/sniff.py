"""Detection of a file's format and its parser; the name decides between text formats only."""

import importlib
import re
import zipfile
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, cast

from fathom.documents.base import Parser, ParseRefusal
from fathom.documents.decode import decode_markup
from fathom.documents.zipguard import open_zip, unpack_member
from fathom.extensions import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.documents.base import ParsedDocument
    from fathom.documents.formats.pdf.lines import Recogniser

    PictureParser = Callable[[bytes, Recogniser], ParsedDocument]

Format = Literal[
    "csv", "docx", "eml", "epub", "html", "json", "manual", "markdown", "notebook", "odt",
    "pdf", "picture", "pptx", "rst", "rtf", "text", "xlsx", "xml",
]  # fmt: skip

# A parser is imported with the first file of its format: most runs need two or three parsers.
PARSERS: dict[Format, str] = {
    "csv": "csv",
    "docx": "office.docx",
    "eml": "eml",
    "epub": "epub",
    "html": "html",
    "json": "json",
    "manual": "manual",
    "markdown": "markdown",
    "notebook": "notebook",
    "odt": "office.odt",
    "pdf": "pdf.document",
    "picture": "picture",
    "pptx": "office.pptx",
    "rst": "rst",
    "rtf": "rtf",
    "text": "text",
    "xlsx": "office.xlsx",
    "xml": "xml",
}

_BY_NAME: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".rst": "rst",
    ".txt": "text",
    ".text": "text",
    ".log": "text",
}
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
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OFFICE: tuple[tuple[str, Format], ...] = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
_MIMETYPES: dict[bytes, Format] = {
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.text-template": "odt",
    b"application/epub+zip": "epub",
}
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
_XML_ROOT = re.compile(r"<(?:!DOCTYPE\s+)?([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s/>\[]")
_ATX = re.compile(r"(?m)^#{1,6} \S")
_CELLS = re.compile(r'^\s*\{.*"cells"\s*:', re.DOTALL)


def load_parser(kind: Format) -> Parser:
    """Load the parser of a format."""
    module = importlib.import_module(f"fathom.documents.formats.{PARSERS[kind]}")
    return cast("Parser", module.parse)


def load_picture_parser(kind: Format) -> "PictureParser":
    """Load the parser of a format that may hold pictures of text."""
    return cast("PictureParser", load_parser(kind))


def detect_format(data: bytes, name: str) -> Format:
    """Return the format of `data`.

    Args:
        data: The whole file.
        name: The file's name.

    Raises:
        ParseRefusal: `empty`, `encrypted`, `unsupported` or `no_document`; `failed` for a damaged
            zip.
    """
    if not data:
        raise ParseRefusal("empty", "the file has no bytes")
    suffix = PurePath(name).suffix.lower()
    try:
        return _detect_binary(data) or _detect_text(data, suffix)
    except ParseRefusal as refusal:
        raise refine_refusal(refusal, name) from None


def refine_refusal(refusal: ParseRefusal, name: str) -> ParseRefusal:
    """Return the refusal as `unsupported` if the file's name says that it should be a document.

    Other refusals are returned unchanged.
    """
    if refusal.outcome == "no_document" and PurePath(name).suffix[1:].lower() in FORMATS:
        return ParseRefusal("unsupported", refusal.reason)
    return refusal


def _detect_binary(data: bytes) -> Format | None:
    # Readers accept a PDF header within the first kilobyte, so some files have bytes before it.
    at = data.find(b"%PDF-", 0, 1024)
    if at == 0 or (at > 0 and b" obj" in data):
        return "pdf"
    if data.startswith(_OLE):
        raise _refuse_ole(data)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _detect_zip(data)
    if data.startswith(b"{\\rtf"):
        return "rtf"
    if data.startswith(_PICTURES):
        return "picture"
    for magic, description in _KNOWN_BINARY:
        if data.startswith(magic):
            raise ParseRefusal("no_document", f"is {description}")
    return None


def _refuse_ole(data: bytes) -> ParseRefusal:
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
    with open_zip(data) as archive:
        names = archive.namelist()
        if "mimetype" in names:
            kind = _read_mimetype(archive)
            if kind:
                return kind
        for folder, office in _OFFICE:
            if any(name.startswith(folder) for name in names):
                return office
        if "META-INF/container.xml" in names:
            return "epub"
    raise ParseRefusal("no_document", "is a zip archive; unpack it and name the folder")


def _read_mimetype(archive: zipfile.ZipFile) -> Format | None:
    try:
        declared = unpack_member(archive, "mimetype", 200).strip()
    except zipfile.BadZipFile:
        return None
    if declared.startswith(b"application/vnd.oasis") and declared not in _MIMETYPES:
        raise ParseRefusal("unsupported", "is an OpenDocument file but no text; save it as .odt")
    return _MIMETYPES.get(declared)


def _detect_text(data: bytes, suffix: str) -> Format:
    from fathom.documents.formats import manual

    if _is_mail(data):
        return "eml"
    text = decode_markup(data)
    start = text[_skip_comments(text) :][:4000]
    if start.startswith("<"):
        markup = _detect_markup(start, suffix)
        if markup:
            return markup
    if suffix in {".html", ".htm", ".xhtml"}:
        return "html"
    if start.startswith(("{", "[")):
        notation = _detect_notation(text, suffix)
        if notation:
            return notation
    kind = _BY_NAME.get(suffix) or _detect_by_content(text)
    return "manual" if kind == "text" and manual.is_manual(text) else kind


def _skip_comments(text: str) -> int:
    match = _COMMENTS.match(text)
    return match.end() if match else 0


def _detect_markup(start: str, suffix: str) -> Format | None:
    if suffix in _BY_NAME:
        # Markdown and text may begin with a tag; only a whole page overrules the name.
        whole = re.match(r"<(?:!doctype\s+html|html)\b", start, re.IGNORECASE)
        return "html" if whole else None
    if _HTML_START.match(start):
        return "html"
    return "xml" if _XML_ROOT.match(start) else None


def _detect_notation(text: str, suffix: str) -> Format | None:
    from fathom.documents.formats import json

    if (
        suffix not in {".json", ".jsonl", ".ndjson", ".ipynb", ".geojson", ""}
        and suffix in _BY_NAME
    ):
        return None
    if _CELLS.match(text[:200_000]) and '"nbformat"' in text:
        return "notebook"
    return "json" if json.is_json(text) else None


def _is_mail(data: bytes) -> bool:
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


def _detect_by_content(text: str) -> Format:
    from fathom.documents.formats import csv, manual

    if manual.is_source(text):
        return "manual"  # first, since its examples may look like any other format
    if len(_ATX.findall(text, 0, 100_000)) >= 2:
        return "markdown"
    return "csv" if csv.is_csv(text) else "text"
