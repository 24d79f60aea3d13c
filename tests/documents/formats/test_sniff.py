import io
import json
import zipfile

import pytest

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.sniff import detect_format


def make_zip(*names: str, mimetype: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


MAIL = b"From: a@b.c\r\nTo: d@e.f\r\nSubject: hi\r\n\r\nText"


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"%PDF-1.4 ...", "x.docx", "pdf"),
        (b"\n junk \n%PDF-1.4\n1 0 obj", "x", "pdf"),
        (b"A note on the %PDF- mark", "x.txt", "text"),
        (make_zip("word/document.xml"), "x.pdf", "docx"),
        (make_zip("ppt/presentation.xml"), "x", "pptx"),
        (make_zip("xl/workbook.xml"), "x", "xlsx"),
        (make_zip(mimetype=b"application/vnd.oasis.opendocument.text"), "x", "odt"),
        (make_zip(mimetype=b"application/vnd.oasis.opendocument.presentation"), "x", "odt"),
        (make_zip(mimetype=b"application/epub+zip"), "x", "epub"),
        (make_zip("META-INF/container.xml"), "x", "epub"),
        (b"{\\rtf1 hello}", "x.doc", "rtf"),
        (b"<!DOCTYPE html><p>x", "x.txt", "html"),
        (b"<h1>A heading</h1>", "x", "html"),
        (b"<!-- c -->\n<html><body>x", "x.md", "html"),
        (b"<div align=center>\n\n# Title", "x.md", "markdown"),
        (b"<?xml version='1.0'?><rss><a>x</a></rss>", "x", "xml"),
        (b"<?xml version='1.0'?><html xmlns='h'><p>x</p></html>", "x.xml", "html"),
        (b"<?xml version='1.0'?>\n<article><title>T</title><para>x</para></article>", "x", "xml"),
        (b"<?xml version='1.0'?><!-- c --><section><title>T</title></section>", "x", "xml"),
        (b"<?xml version='1.0'?><!DOCTYPE article SYSTEM 'j.dtd'><article>x</article>", "x", "xml"),
        (b"<article><front><article-meta/></front></article>", "x.xml", "xml"),
        (b"<article xmlns='http://docbook.org/ns/docbook'>x</article>", "x", "xml"),
        (b"<article xmlns:xlink='http://www.w3.org/1999/xlink'>x</article>", "x", "xml"),
        (b"<article><p>x</p></article>", "x", "html"),
        (b"<article class='post'><p>x</p></article>", "x.html", "html"),
        (b"<?xml version='1.0'?><article><p>x</p></article>", "x.xhtml", "html"),
        (b"<article xmlns='http://www.w3.org/1999/xhtml'><p>x</p></article>", "x.xml", "html"),
        (MAIL, "x.txt", "eml"),
        (b"Note: one\nTwo: three\n", "x.txt", "text"),
        (json.dumps({"cells": [], "nbformat": 4}).encode(), "x", "notebook"),
        (b'{"a": 1}', "x", "json"),
        (b'{"a": 1}\n{"a": 2}\n', "x.log2", "json"),
        (b"[a link](x) and more", "x.md", "markdown"),
        (b"[not json", "x", "text"),
        (b"a,b,c\n1,2,3\n4,5,6\n", "x", "csv"),
        (b"a,b\n", "x.csv", "csv"),
        (b"Title\n=====\n\ntext", "x.rst", "rst"),
        (b"# One\n\ntext\n\n# Two\n", "README", "markdown"),
        (b"# a comment\nprint(1)\n", "x.py", "text"),
        (b"plain words", "x", "text"),
    ],
)
def test_the_content_determines_the_format(data: bytes, name: str, expected: str) -> None:
    assert detect_format(data, name).name == expected


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("data", "outcome", "reason"),
    [
        (b"", "empty", "no bytes"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted", "password"),
        (OLE + "WordDocument".encode("utf-16-le"), "unsupported", "save it as .docx"),
        (OLE + "Workbook".encode("utf-16-le"), "unsupported", "save it as .xlsx"),
        (OLE, "unsupported", "old Office format"),
        (make_zip("a.txt"), "unsupported", "zip archive"),
        (
            make_zip(mimetype=b"application/vnd.oasis.opendocument.graphics"),
            "unsupported",
            "no text",
        ),
        (b"PK\x03\x04broken", "failed", "damaged zip"),
        (b"GIF89a", "unsupported", "save it as PNG"),
        (b"\x1f\x8b\x08\x00", "unsupported", "packed"),
        (bytes(range(256)) * 4, "unsupported", "binary"),
    ],
)
def test_unreadable_files_are_refused_with_a_reason(data: bytes, outcome: str, reason: str) -> None:
    with pytest.raises(ParseRefusal, match=reason) as refusal:
        detect_format(data, "x.docx")
    assert refusal.value.outcome == outcome


@pytest.mark.parametrize(
    "data", [b"GIF89a", b"\x1f\x8b\x08\x00", bytes(range(256)) * 4, make_zip("a.txt")]
)
def test_files_that_are_no_documents_by_name_are_distinguished(data: bytes) -> None:
    with pytest.raises(ParseRefusal) as refusal:
        detect_format(data, "x.bin")
    assert refusal.value.outcome == "no_document"
