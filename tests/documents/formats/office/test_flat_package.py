import pytest

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.parse import parse_bytes

PACKAGE = "http://schemas.microsoft.com/office/2006/xmlPackage"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def link(kind: str, target: str) -> str:
    entry = f'<Relationship Id="rId1" Type="{RELATION}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="urn:relationships">{entry}</Relationships>'


def read_flat(parts: dict[str, str], more: str = "") -> ParsedDocument:
    inner = "".join(
        f'<pkg:part pkg:name="{name}"><pkg:xmlData>{content}</pkg:xmlData></pkg:part>'
        for name, content in parts.items()
    )
    declaration = '<?xml version="1.0"?><?mso-application progid="Word.Document"?>'
    page = f'{declaration}<pkg:package xmlns:pkg="{PACKAGE}">{inner}{more}</pkg:package>'
    (parsed,) = parse_bytes(page.encode(), "minutes.xml")
    assert isinstance(parsed, ParsedDocument)
    return parsed


def test_a_document_in_one_xml_file_is_read_as_a_document() -> None:
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>6</w:t></w:r>'
    volume = f"<w:p><w:r><w:t>Volume is 10</w:t></w:r>{raised}</w:p>"
    cells = "".join(
        f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in ("Fee", "12")
    )
    body = f"<w:body>{volume}<w:tbl><w:tr>{cells}</w:tr></w:tbl></w:body>"
    parts = {
        "/_rels/.rels": link("officeDocument", "word/document.xml"),
        "/word/document.xml": f'<w:document xmlns:w="{WORD}">{body}</w:document>',
    }
    damaged = '<pkg:part pkg:name="/x.bin"><pkg:binaryData>?</pkg:binaryData></pkg:part><pkg:part/>'
    damaged += '<pkg:part pkg:name="/a"><pkg:binaryData>A</pkg:binaryData></pkg:part>'
    parsed = read_flat(parts, damaged * 2)
    assert [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks] == [
        ("paragraph", "Volume is 10^6"),
        ("table_row", "Fee | 12"),
    ]


def test_slides_in_one_xml_file_are_read_as_slides() -> None:
    deck = (
        f'<p:presentation xmlns:p="{SLIDES}" xmlns:r="{RELATION}"><p:sldIdLst>'
        '<p:sldId r:id="rId1"/></p:sldIdLst></p:presentation>'
    )
    text = "<p:txBody><a:p><a:r><a:t>Plan</a:t></a:r></a:p></p:txBody>"
    slide = (
        f'<p:sld xmlns:p="{SLIDES}" xmlns:a="{DRAWING}"><p:cSld><p:spTree><p:sp>{text}</p:sp>'
        "</p:spTree></p:cSld></p:sld>"
    )
    parts = {
        "/_rels/.rels": link("officeDocument", "ppt/presentation.xml"),
        "/ppt/presentation.xml": deck,
        "/ppt/_rels/presentation.xml.rels": link("slide", "slides/slide1.xml"),
        "/ppt/slides/slide1.xml": slide,
    }
    parsed = read_flat(parts)
    assert [(block.page, block.span.cut(parsed.text)) for block in parsed.blocks] == [(1, "Plan")]


def test_a_flat_package_without_parts_is_refused() -> None:
    with pytest.raises(ParseRefusal, match=r"no part word/document\.xml"):
        read_flat({})
