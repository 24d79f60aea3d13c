import pytest
from lxml import etree

from fathom.documents.formats.office.docx import ParagraphStyles

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def make_element(name: str, inner: str) -> etree._Element:
    return etree.fromstring(f'<w:{name} xmlns:w="{W}">{inner}</w:{name}>')


def make_paragraph(style: str = "", more: str = "") -> etree._Element:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return make_element("p", f"<w:pPr>{named}{more}</w:pPr>")


def make_style(name: str, title: str, inner: str = "", default: str = "0") -> str:
    return (
        f'<w:style w:type="paragraph" w:styleId="{name}" w:default="{default}">'
        f'<w:name w:val="{title}"/>{inner}</w:style>'
    )


def make_base(on: str) -> str:
    return f'<w:basedOn w:val="{on}"/>'


def test_a_direct_outline_level_precedes_the_style() -> None:
    styles = ParagraphStyles(make_element("styles", make_style("H", "heading 2")))
    assert styles.find_heading_level(make_paragraph("H")) == 2
    assert styles.find_heading_level(make_paragraph("H", '<w:outlineLvl w:val="4"/>')) == 5
    assert styles.find_heading_level(make_paragraph("H", '<w:outlineLvl w:val="9"/>')) is None


@pytest.mark.parametrize(
    ("title", "level"),
    [("heading 3", 3), ("Heading 1", 1), ("Title", 1), ("Judul 2", 2), ("Normal", None)],
)
def test_style_names_make_headings(title: str, level: int | None) -> None:
    assert (
        ParagraphStyles(make_element("styles", make_style("X", title))).find_heading_level(
            make_paragraph("X")
        )
        == level
    )


def test_without_styles_the_id_decides() -> None:
    assert ParagraphStyles(None).find_heading_level(make_paragraph("Heading2")) == 2


def test_lists_come_from_the_style_and_zero_removes_them() -> None:
    inner = '<w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="4"/></w:numPr></w:pPr>'
    styles = ParagraphStyles(
        make_element(
            "styles", make_style("L", "List", inner) + make_style("M", "My", make_base("L"))
        )
    )
    assert styles.find_numbering(make_paragraph("M")) == ("4", 1)
    assert (
        styles.find_numbering(make_paragraph("M", '<w:numPr><w:numId w:val="0"/></w:numPr>'))
        is None
    )
    assert styles.find_numbering(make_paragraph()) is None


def test_a_cycle_of_styles_ends() -> None:
    styles = ParagraphStyles(
        make_element(
            "styles", make_style("A", "a", make_base("B")) + make_style("B", "b", make_base("A"))
        )
    )
    assert styles.find_heading_level(make_paragraph("A")) is None


def test_the_default_style_applies_to_paragraphs_without_one() -> None:
    styles = ParagraphStyles(make_element("styles", make_style("D", "Source Code", default="1")))
    assert styles.is_code(make_paragraph())
