from lxml import etree

from fathom.documents.formats.office.odt import read_inline, read_paragraph_styles


def read_paragraph(inner: str) -> str:
    return read_inline(etree.fromstring(f"<p>{inner}</p>"), lambda _: None).text


def test_white_space_collapses_and_signs_are_kept() -> None:
    assert read_paragraph('  a\n  b<s c="3"/>c<tab/>d<line-break/>e ') == "a b   c\td\ne"


def test_spaces_between_spans_stay() -> None:
    assert read_paragraph("<span>one</span> <span>two</span>") == "one two"


def test_comments_and_notes_without_body_are_dropped() -> None:
    assert read_paragraph("a<annotation><p>psst</p></annotation>b<note/>c") == "abc"


def test_style_inheritance_ends_even_in_a_cycle() -> None:
    xml = (
        '<x><style name="P" family="paragraph" parent-style-name="Q"/>'
        '<style name="Q" family="paragraph" parent-style-name="P"/>'
        '<style name="T" family="text" parent-style-name="Q"/></x>'
    )
    assert read_paragraph_styles([etree.fromstring(xml)]) == {"P": ("P", "Q"), "Q": ("Q", "P")}
