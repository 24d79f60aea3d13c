"""Minimal writers for the sample corpus: the same input always gives the same bytes.

Zip members are stored, not compressed, so that the bytes do not depend on the zlib at hand.

A text is a list of blocks: `("h1" | "h2" | "p", text)`, `("note", text, footnote)`,
`("ol" | "ul", [items])`, `("table", [[cells]])`.
"""

import io
import zipfile
from typing import Any
from xml.sax.saxutils import escape

Blocks = list[tuple[Any, ...]]
_EPOCH = (2025, 1, 1, 0, 0, 0)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument"


def packed(parts: dict[str, str]) -> bytes:
    """A zip with these members in this order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, text in parts.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = 3
            archive.writestr(member, text.encode())
    return buffer.getvalue()


def _relations(links: list[tuple[str, str]]) -> str:
    items = "".join(
        f'<Relationship Id="rId{at}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(links, start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{items}</Relationships>'


def _types(kinds: dict[str, str]) -> str:
    items = "".join(
        f'<Override PartName="/{name}" ContentType="{_TYPE}.{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">{rels}relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{items}</Types>'
    )


def _core(title: str) -> str:
    return (
        f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title>'
        "</cp:coreProperties>"
    )


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def _word_paragraph(text: str, properties: str = "", more: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{_run(text)}{more}</w:p>"


def _word_table(rows: list[list[str]]) -> str:
    lines = "".join(
        "<w:tr>" + "".join(f"<w:tc>{_word_paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in rows
    )
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{lines}</w:tbl>"


def docx(title: str, blocks: Blocks, header: str) -> bytes:
    """A word processing document with headings, lists, tables, footnotes and a page header."""
    body, notes, lists = "", "", 0
    for block in blocks:
        kind, content = block[0], block[1]
        if kind in {"h1", "h2"}:
            body += _word_paragraph(content, f'<w:pStyle w:val="Heading{kind[1]}"/>')
        elif kind in {"ol", "ul"}:
            lists += kind == "ol"
            place = f'<w:ilvl w:val="0"/><w:numId w:val="{lists if kind == "ol" else 99}"/>'
            body += "".join(_word_paragraph(one, f"<w:numPr>{place}</w:numPr>") for one in content)
        elif kind == "table":
            body += _word_table(content)
        elif kind == "note":
            number = notes.count("<w:footnote ") + 1
            notes += f'<w:footnote w:id="{number}">{_word_paragraph(block[2])}</w:footnote>'
            mark = f'<w:r><w:footnoteReference w:id="{number}"/></w:r>'
            body += _word_paragraph(content, more=mark)
        else:
            body += _word_paragraph(content)
    word = f'xmlns:w="{_WORD}" xmlns:r="{_OFFICE}"'
    section = '<w:sectPr><w:headerReference w:type="default" r:id="rId4"/></w:sectPr>'
    return packed(
        {
            "[Content_Types].xml": _types(
                {
                    f"word/{name}.xml": f"wordprocessingml.{name}{'.main' * (name == 'document')}"
                    for name in ("document", "styles", "numbering", "footnotes", "header")
                }
            ),
            "_rels/.rels": _relations([("officeDocument", "word/document.xml")]),
            "docProps/core.xml": _core(title),
            "word/document.xml": (
                f"<w:document {word}><w:body>{body}{section}</w:body></w:document>"
            ),
            "word/styles.xml": f"<w:styles {word}>{_word_styles()}</w:styles>",
            "word/numbering.xml": f"<w:numbering {word}>{_word_lists(lists)}</w:numbering>",
            "word/footnotes.xml": f"<w:footnotes {word}>{notes}</w:footnotes>",
            "word/header.xml": f"<w:hdr {word}>{_word_paragraph(header)}</w:hdr>",
            "word/_rels/document.xml.rels": _relations(
                [
                    ("styles", "styles.xml"),
                    ("numbering", "numbering.xml"),
                    ("footnotes", "footnotes.xml"),
                    ("header", "header.xml"),
                ]
            ),
        }
    )


def _word_styles() -> str:
    return "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        f'<w:pPr><w:outlineLvl w:val="{level - 1}"/></w:pPr></w:style>'
        for level in (1, 2)
    )


def _word_lists(count: int) -> str:
    def abstract(name: int, style: str, text: str) -> str:
        return (
            f'<w:abstractNum w:abstractNumId="{name}"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
            f'<w:numFmt w:val="{style}"/><w:lvlText w:val="{text}"/></w:lvl></w:abstractNum>'
        )

    names = [*range(1, count + 1)]
    lists = "".join(abstract(name, "decimal", "%1.") for name in names)
    nums = [(name, name) for name in names] + [(99, 99)]
    instances = "".join(
        f'<w:num w:numId="{num}"><w:abstractNumId w:val="{of}"/></w:num>' for num, of in nums
    )
    return lists + abstract(99, "bullet", "•") + instances


def xlsx(title: str, sheets: dict[str, list[list[str | float]]]) -> bytes:
    """A workbook; texts are stored inline."""

    def cell(value: str | float) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    book = f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
    kinds = {"xl/workbook.xml": "spreadsheetml.sheet.main"}
    pages: dict[str, str] = {}
    for at, (name, rows) in enumerate(sheets.items(), start=1):
        book += f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}"/>'
        lines = "".join(f"<row>{''.join(cell(value) for value in row)}</row>" for row in rows)
        data = f"<sheetData>{lines}</sheetData>"
        pages[f"xl/sheet{at}.xml"] = f'<worksheet xmlns="{_SHEET}">{data}</worksheet>'
        kinds[f"xl/sheet{at}.xml"] = "spreadsheetml.worksheet"
    links = [("worksheet", name.removeprefix("xl/")) for name in pages]
    return packed(
        {
            "[Content_Types].xml": _types(kinds),
            "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
            "docProps/core.xml": _core(title),
            "xl/workbook.xml": f"{book}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": _relations(links),
            **pages,
        }
    )


def pptx(title: str, slides: list[tuple[str, list[str], str]]) -> bytes:
    """A presentation; each slide has a title, bullets and speaker's notes."""
    names = f'xmlns:a="{_DRAWING}" xmlns:p="{_SLIDE}" xmlns:r="{_OFFICE}"'

    def shape(role: str, lines: list[str]) -> str:
        text = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in lines)
        return (
            f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="{role}"/><p:cNvSpPr/><p:nvPr>'
            f'<p:ph type="{role}"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>{text}'
            "</p:txBody></p:sp>"
        )

    def tree(kind: str, shapes: str) -> str:
        return f"<p:{kind} {names}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{kind}>"

    parts: dict[str, str] = {}
    kinds = {"ppt/presentation.xml": "presentationml.presentation.main"}
    for at, (head, lines, notes) in enumerate(slides, start=1):
        parts[f"ppt/slides/slide{at}.xml"] = tree(
            "sld", shape("title", [head]) + shape("body", lines)
        )
        parts[f"ppt/slides/_rels/slide{at}.xml.rels"] = _relations(
            [("notesSlide", f"../notes/notes{at}.xml")]
        )
        parts[f"ppt/notes/notes{at}.xml"] = tree("notes", shape("body", [notes]))
        kinds[f"ppt/slides/slide{at}.xml"] = "presentationml.slide"
        kinds[f"ppt/notes/notes{at}.xml"] = "presentationml.notesSlide"
    ids = "".join(f'<p:sldId id="{255 + at}" r:id="rId{at}"/>' for at in range(1, len(slides) + 1))
    links = [("slide", f"slides/slide{at}.xml") for at in range(1, len(slides) + 1)]
    return packed(
        {
            "[Content_Types].xml": _types(kinds),
            "_rels/.rels": _relations([("officeDocument", "ppt/presentation.xml")]),
            "docProps/core.xml": _core(title),
            "ppt/presentation.xml": (
                f"<p:presentation {names}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
            ),
            "ppt/_rels/presentation.xml.rels": _relations(links),
            **parts,
        }
    )
