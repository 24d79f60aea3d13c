"""Small files of each format, written by hand."""

import io
import json
import zipfile


def make_pdf(*pages: str, info: str = "") -> bytes:
    """Return a PDF whose pages have these content streams, Helvetica being `/F1`.

    Args:
        pages: Content streams.
        info: Entries of the information dictionary, such as `/Title (x)`.
    """
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, content in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< {info} >>")
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1"))
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.writelines(f"{place:010d} 00000 n \n".encode() for place in places)
    out.write(
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\n".encode()
    )
    out.write(f"startxref\n{start}\n%%EOF".encode())
    return out.getvalue()


def make_lines(*texts: str, top: int = 700, pitch: int = 14) -> str:
    """Return a content stream with one line below the other; an empty text leaves a gap."""
    operators = [
        f"BT /F1 10 Tf 50 {top - n * pitch} Td ({text}) Tj ET"
        for n, text in enumerate(texts)
        if text
    ]
    return "\n".join(operators)


def make_zip(members: dict[str, str]) -> bytes:
    """Return a zip with these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def make_docx(*paragraphs: str) -> bytes:
    """Return a Word document with these paragraphs."""
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return make_zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body>'
            "</w:document>",
        }
    )


def make_samples() -> dict[str, bytes]:
    """Return a small file of each text-like format and of two binary ones, by file name."""
    page = "<html><body><h1>T</h1><ol><li>a</li></ol><table><tr><td>1</td></tr></table></body>"
    cells = [{"cell_type": "code", "source": "x = 1", "outputs": []}]
    return {
        "a.pdf": make_pdf(make_lines("First line of text", "Second line"), make_lines("Page two")),
        "a.docx": make_docx("One paragraph of words", "Another"),
        "a.html": page.encode() * 3,
        "a.md": b"# Title\n\n1. one\n2. two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n"
        * 3,
        "a.rst": b"Title\n=====\n\n- one\n- two\n\n::\n\n    code\n" * 2,
        "a.csv": b"Name,City\nAnn,Rome\nBob,Bonn\n" * 5,
        "a.json": json.dumps({"a": [1, {"b": "c"}], "d": {"e": None}}).encode(),
        "a.jsonl": b'{"_id": "1", "title": "T", "text": "words here"}\n' * 5,
        "a.ipynb": json.dumps({"nbformat": 4, "cells": cells}).encode(),
        "a.xml": b"<r><title>T</title><p>one <i>two</i></p><p>three</p></r>" * 1,
        "a.rtf": rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 A;}}caf\'e9 \u8364?\par next}",
        "a.eml": b"From: a@b.c\nTo: d@e.f\nSubject: hi\nMIME-Version: 1.0\n\nThe text.\n",
        "a.txt": "Ein Satz über Gebäude. Noch einer.\n\nUnd mehr.".encode("utf-16"),
    }
