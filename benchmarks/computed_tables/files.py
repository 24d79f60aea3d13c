"""A table as a file of each format, as programs write it, with no library but that for XLSX."""

import csv
import html
import io
import zipfile
from collections.abc import Callable, Sequence

from openpyxl import Workbook

Cells = Sequence[Sequence[str]]

_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"


def write_table(form: str, title: str, rows: Cells) -> bytes:
    """Return a table, its first row the head, as a file of a format."""
    return _WRITERS[form](title, rows)


def _write_csv(_: str, rows: Cells) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _write_markdown(title: str, rows: Cells) -> bytes:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([f"# {title}", "", head, "|---" * len(rows[0]) + "|", *body, ""]).encode()


def _write_html(title: str, rows: Cells) -> bytes:
    lines = [
        "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
        for row, tag in zip(rows, ["th", *["td"] * (len(rows) - 1)], strict=True)
    ]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<html><head><meta charset='utf-8'><title>{title}</title></head>"
        f"<body><h1>{title}</h1><table>{body}</table></body></html>"
    ).encode()


def _write_xlsx(title: str, rows: Cells) -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title[:31]
    for row in rows:
        sheet.append([int(cell) if cell.isdigit() else cell or None for cell in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _pack(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def _relate(mark: str, kind: str, target: str) -> str:
    link = f'<Relationship Id="{mark}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_RELATIONS}">{link}</Relationships>'


def _write_ods(title: str, rows: Cells) -> bytes:
    def write_cell(cell: str) -> str:
        if not cell:
            return "<table:table-cell/>"
        kind = (
            f'office:value-type="float" office:value="{cell}"'
            if cell.isdigit()
            else ('office:value-type="string"')
        )
        return f"<table:table-cell {kind}><text:p>{html.escape(cell)}</text:p></table:table-cell>"

    lines = "".join(
        f"<table:table-row>{''.join(map(write_cell, row))}</table:table-row>" for row in rows
    )
    spaces = " ".join(f'xmlns:{name}="{_OPEN}:{name}:1.0"' for name in ("office", "table", "text"))
    sheet = f'<table:table table:name="{title}">{lines}</table:table>'
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>{sheet}"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return _pack({"mimetype": kind, "content.xml": content})


def _write_docx(title: str, rows: Cells) -> bytes:
    def write_paragraph(text: str) -> str:
        return f'<w:p><w:r><w:t xml:space="preserve">{html.escape(text)}</w:t></w:r></w:p>'

    lines = "".join(
        "<w:tr>" + "".join(f"<w:tc>{write_paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in rows
    )
    heading = write_paragraph(title).replace(
        "<w:p>", '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>'
    )
    body = f'<w:document xmlns:w="{_WORD}"><w:body>{heading}<w:tbl>{lines}</w:tbl></w:body>'
    return _pack(
        {
            "_rels/.rels": _relate("r0", "officeDocument", "word/document.xml"),
            "word/document.xml": f"{body}</w:document>",
        }
    )


def _write_pptx(title: str, rows: Cells) -> bytes:
    def write_text(text: str) -> str:
        return f"<a:p><a:r><a:t>{html.escape(text)}</a:t></a:r></a:p>"

    lines = "".join(
        "<a:tr>"
        + "".join(f"<a:tc><a:txBody>{write_text(cell)}</a:txBody></a:tc>" for cell in row)
        + "</a:tr>"
        for row in rows
    )
    spaces = f'xmlns:a="{_DRAWING}" xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}"'
    name = (
        '<p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:spPr/>'
        f"<p:txBody>{write_text(title)}</p:txBody></p:sp>"
    )
    frame = f"<p:graphicFrame><a:tbl><a:tblPr firstRow='1'/>{lines}</a:tbl></p:graphicFrame>"
    show = '<p:sldIdLst><p:sldId id="256" r:id="r0"/></p:sldIdLst>'
    return _pack(
        {
            "ppt/presentation.xml": f"<p:presentation {spaces}>{show}</p:presentation>",
            "ppt/_rels/presentation.xml.rels": _relate("r0", "slide", "slides/s0.xml"),
            "ppt/slides/s0.xml": (
                f"<p:sld {spaces}><p:cSld><p:spTree>{name}{frame}</p:spTree></p:cSld></p:sld>"
            ),
        }
    )


def _write_pdf(title: str, rows: Cells) -> bytes:
    def write_cell(text: str, left: int, base: int, size: int = 9) -> str:
        escaped = text.replace("(", r"\(").replace(")", r"\)")
        return f"BT /F1 {size} Tf {left} {base} Td ({escaped}) Tj ET"

    width = 540 // len(rows[0])
    cells = [
        write_cell(cell, 40 + width * column, 720 - 16 * row)
        for row, texts in enumerate(rows)
        for column, cell in enumerate(texts)
        if cell
    ]
    content = "\n".join([write_cell(title, 40, 760, 18), *cells])
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
        "/Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        f"<< /Title ({title}) >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    marks = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        out
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{marks}"
            f"trailer << /Size {size} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
            f"startxref\n{start}\n%%EOF"
        ).encode()
    )


_WRITERS: dict[str, Callable[[str, Cells], bytes]] = {
    "csv": _write_csv,
    "xlsx": _write_xlsx,
    "ods": _write_ods,
    "html": _write_html,
    "md": _write_markdown,
    "docx": _write_docx,
    "pptx": _write_pptx,
    "pdf": _write_pdf,
}
