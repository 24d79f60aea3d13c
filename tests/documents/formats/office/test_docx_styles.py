import pytest
from lxml import etree

from fathom.documents.formats.office.docx import ParagraphStyles

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def element(name: str, inner: str) -> etree._Element:
    return etree.fromstring(f'<w:{name} xmlns:w="{W}">{inner}</w:{name}>')


def paragraph(style: str = "", more: str = "") -> etree._Element:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return element("p", f"<w:pPr>{named}{more}</w:pPr>")


def style(name: str, title: str, inner: str = "", default: str = "0") -> str:
    return (
        f'<w:style w:type="paragraph" w:styleId="{name}" w:default="{default}">'
        f'<w:name w:val="{title}"/>{inner}</w:style>'
    )


def based(on: str) -> str:
    return f'<w:basedOn w:val="{on}"/>'


def test_a_direct_outline_level_wins_over_the_style() -> None:
    styles = ParagraphStyles(element("styles", style("H", "heading 2")))
    assert styles.find_heading_level(paragraph("H")) == 2
    assert styles.find_heading_level(paragraph("H", '<w:outlineLvl w:val="4"/>')) == 5
    assert styles.find_heading_level(paragraph("H", '<w:outlineLvl w:val="9"/>')) is None


@pytest.mark.parametrize(
    ("title", "level"),
    [("heading 3", 3), ("Heading 1", 1), ("Title", 1), ("Judul 2", 2), ("Normal", None)],
)
def test_names_of_headings(title: str, level: int | None) -> None:
    assert (
        ParagraphStyles(element("styles", style("X", title))).find_heading_level(paragraph("X"))
        == level
    )


def test_without_styles_the_id_tells() -> None:
    assert ParagraphStyles(None).find_heading_level(paragraph("Heading2")) == 2


def test_lists_come_from_the_style_and_zero_takes_them_away() -> None:
    inner = '<w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="4"/></w:numPr></w:pPr>'
    styles = ParagraphStyles(
        element("styles", style("L", "List", inner) + style("M", "My", based("L")))
    )
    assert styles.find_numbering(paragraph("M")) == ("4", 1)
    assert styles.find_numbering(paragraph("M", '<w:numPr><w:numId w:val="0"/></w:numPr>')) is None
    assert styles.find_numbering(paragraph()) is None


def test_a_circle_of_styles_ends() -> None:
    styles = ParagraphStyles(
        element("styles", style("A", "a", based("B")) + style("B", "b", based("A")))
    )
    assert styles.find_heading_level(paragraph("A")) is None


def test_the_default_style_holds_for_paragraphs_without_one() -> None:
    styles = ParagraphStyles(element("styles", style("D", "Source Code", default="1")))
    assert styles.is_code(paragraph())
