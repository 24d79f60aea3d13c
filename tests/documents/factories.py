"""Small files of each format, written by hand."""

import io
import json
import zipfile
from collections.abc import Sequence


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


_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def make_odt(*paragraphs: str) -> bytes:
    """Return a text of OpenDocument with these paragraphs."""
    body = "".join(f"<text:p>{text}</text:p>" for text in paragraphs)
    return make_zip(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<office:document-content xmlns:office="{_ODF}:office:1.0" '
            f'xmlns:text="{_ODF}:text:1.0"><office:body><office:text>{body}</office:text>'
            "</office:body></office:document-content>",
        }
    )


def make_odp(*slides: tuple[str, str]) -> bytes:
    """Return a presentation of OpenDocument with slides of a title and a text."""
    kind = "application/vnd.oasis.opendocument.presentation"
    frame = (
        '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box>'
        "</draw:frame>"
    )
    pages = "".join(
        f'<draw:page draw:name="page{number}">{frame.format("title", title)}'
        f"{frame.format('outline', text)}</draw:page>"
        for number, (title, text) in enumerate(slides, start=1)
    )
    spaces = " ".join(
        f'xmlns:{name}="{_ODF}:{name if name != "draw" else "drawing"}:1.0"'
        for name in ("office", "text", "draw", "presentation")
    )
    return make_zip(
        {
            "mimetype": kind,
            "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_ODF}:manifest:1.0"><m:file-entry '
            f'm:full-path="/" m:media-type="{kind}"/></m:manifest>',
            "content.xml": f"<office:document-content {spaces}><office:body><office:presentation>"
            f"{pages}<presentation:settings/></office:presentation></office:body>"
            "</office:document-content>",
        }
    )


_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def make_xlsx(*rows: Sequence[str]) -> bytes:
    """Return a workbook of one sheet with these rows of words."""
    cells = [
        "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) for row in rows
    ]
    lines = "".join(f"<row>{line}</row>" for line in cells)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return make_zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/a.xml" ContentType="{kind}.worksheet+xml"/>'
            "</Types>",
            "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
            '<sheet name="Fees" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship '
            f'Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/a.xml"/></Relationships>',
            "xl/worksheets/a.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{lines}</sheetData>'
            "</worksheet>",
        }
    )


_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"


def make_pptx(*lines: str) -> bytes:
    """Return a presentation of one slide with these lines."""
    spaces = f'xmlns:a="{_DRAWING}" xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}"'
    texts = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return make_zip(
        {
            "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst>"
            '<p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>',
            "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship '
            f'Id="r1" Type="{_OFFICE}/slide" Target="slides/a.xml"/></Relationships>',
            "ppt/slides/a.xml": f"<p:sld {spaces}><p:cSld><p:spTree><p:sp><p:txBody>{texts}"
            "</p:txBody></p:sp></p:spTree></p:cSld></p:sld>",
        }
    )


def make_epub(title: str, text: str) -> bytes:
    """Return a book of one chapter."""
    return make_zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<c xmlns="urn:c"><rootfiles><rootfile full-path="book.opf"/>'
            "</rootfiles></c>",
            "book.opf": f'<package xmlns="urn:p" xmlns:dc="urn:dc"><metadata><dc:title>{title}'
            '</dc:title></metadata><manifest><item id="a" href="a.xhtml"/></manifest><spine>'
            '<itemref idref="a"/></spine></package>',
            "a.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body>'
            f"<h1>{title}</h1><p>{text}</p></body></html>",
        }
    )


def make_samples() -> dict[str, bytes]:
    """Return a small file of each format but pictures, by file name."""
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
        "a.odt": make_odt("One paragraph of words", "Another"),
        "a.odp": make_odp(("A slide", "with a line"), ("Another", "with a line too")),
        "a.xlsx": make_xlsx(("Name", "City"), ("Ann", "Rome"), ("Bob", "Bonn")),
        "a.pptx": make_pptx("A slide", "with two lines"),
        "a.epub": make_epub("Bridges", "Stone arches carry the road."),
        "a.1": b".TH FOO 1\n.SH NAME\nfoo \\- count the fees\n.SH OPTIONS\n.TP\n\\fB\\-n\\fR\n"
        b"Only count.\n",
        "a.txt": "Ein Satz über Gebäude. Noch einer.\n\nUnd mehr.".encode("utf-16"),
    }
