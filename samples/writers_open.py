"""Minimal writers for the open formats of the sample corpus: ODT, EPUB and PDF."""

from xml.sax.saxutils import escape

from writers import Blocks, packed

_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_PAGE_LINES = 44
_SIZES = {"h1": 16, "h2": 13, "p": 11}


def odt(title: str, blocks: Blocks) -> bytes:
    """A text document with headings, numbered and bulleted lists and tables."""
    names = " ".join(f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in ("office", "text", "table"))
    names += f' xmlns:style="{_ODF}:style:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    body = ""
    for kind, content in blocks:
        if kind in {"h1", "h2"}:
            body += f'<text:h text:outline-level="{kind[1]}">{escape(content)}</text:h>'
        elif kind in {"ol", "ul"}:
            items = "".join(f"<text:list-item>{_odf_p(one)}</text:list-item>" for one in content)
            body += f'<text:list text:style-name="{kind}">{items}</text:list>'
        elif kind == "table":
            body += f'<table:table table:name="T">{"".join(map(_odf_row, content))}</table:table>'
        else:
            body += _odf_p(content)
    styles = (
        '<text:list-style style:name="ol"><text:list-level-style-number text:level="1" '
        'style:num-format="1" style:num-suffix="."/></text:list-style>'
        '<text:list-style style:name="ul"><text:list-level-style-bullet text:level="1" '
        'text:bullet-char="•"/></text:list-style>'
    )
    kind = "application/vnd.oasis.opendocument.text"
    entry = "<manifest:file-entry manifest:full-path="
    return packed(
        {
            "mimetype": kind,
            "content.xml": (
                f"<office:document-content {names}><office:automatic-styles>{styles}"
                f"</office:automatic-styles><office:body><office:text>{body}</office:text>"
                "</office:body></office:document-content>"
            ),
            "meta.xml": (
                f"<office:document-meta {names}><office:meta><dc:title>{escape(title)}</dc:title>"
                "</office:meta></office:document-meta>"
            ),
            "META-INF/manifest.xml": (
                f'<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0">'
                f'{entry}"/" manifest:media-type="{kind}"/>'
                f'{entry}"content.xml" manifest:media-type="text/xml"/>'
                f'{entry}"meta.xml" manifest:media-type="text/xml"/></manifest:manifest>'
            ),
        }
    )


def _odf_p(text: str) -> str:
    return f"<text:p>{escape(text)}</text:p>"


def _odf_row(cells: list[str]) -> str:
    inner = "".join(f"<table:table-cell>{_odf_p(cell)}</table:table-cell>" for cell in cells)
    return f"<table:table-row>{inner}</table:table-row>"


def epub(title: str, author: str, chapters: list[Blocks]) -> bytes:
    """A book; each chapter is a list of blocks."""
    names = [f"chapter{at}.xhtml" for at in range(1, len(chapters) + 1)]
    items = "".join(
        f'<item id="c{at}" href="{name}" media-type="application/xhtml+xml"/>'
        for at, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(names)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="id">merrow-{len(chapters)}</dc:identifier>'
        f"<dc:title>{escape(title)}</dc:title><dc:creator>{escape(author)}</dc:creator>"
        f"<dc:language>en</dc:language></metadata><manifest>{items}</manifest>"
        f"<spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="OPS/package.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    pages = {f"OPS/{name}": _chapter(blocks) for name, blocks in zip(names, chapters, strict=True)}
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OPS/package.opf": package,
            **pages,
        }
    )


def _chapter(blocks: Blocks) -> str:
    body = "".join(f"<{kind}>{escape(text)}</{kind}>" for kind, text in blocks)
    return (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Chapter</title></head>'
        f"<body>{body}</body></html>"
    )


def pdf(title: str, pages: list[list[tuple[str, str]]]) -> bytes:
    """Pages of lines `(kind, text)`, printed as they are; an empty text leaves a line blank."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids ["
        + " ".join(f"{5 + 2 * at} 0 R" for at in range(len(pages)))
        + "] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< /Title ({_literal(title)}) /Producer (samples/make.py) >>",
    ]
    for at, lines in enumerate(pages):
        stream = _stream(lines)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {6 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    return _file(objects)


def _stream(lines: list[tuple[str, str]]) -> str:
    if len(lines) > _PAGE_LINES:
        raise ValueError(f"a page holds {_PAGE_LINES} lines, not {len(lines)}")
    commands, y = ["BT"], 790
    for kind, text in lines:
        size = _SIZES[kind]
        commands.append(f"/F1 {size} Tf 1 0 0 1 60 {y} Tm ({_literal(text)}) Tj")
        y -= size + 5
    return "\n".join([*commands, "ET"])


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _file(objects: list[str]) -> bytes:
    out = b"%PDF-1.4\n"
    offsets = []
    for number, text in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode("cp1252")
