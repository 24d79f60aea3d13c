import pytest
from lxml import etree

from fathom.documents.formats.office.docx import DocxInline, read_inline


def read_paragraph(inner: str) -> DocxInline:
    return read_inline(etree.fromstring(f"<p>{inner}</p>"), lambda _: ("7", etree.Element("x")))


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("<r><t>a</t></r><r><t>b</t></r>", "ab"),
        ("<hyperlink><r><t>link</t></r></hyperlink>", "link"),
        ("<del><r><delText>x</delText></r></del><ins><r><t>y</t></r></ins>", "y"),
        ("<moveFrom><r><t>x</t></r></moveFrom><moveTo><r><t>x</t></r></moveTo>", "x"),
        (
            "<ruby><rt><r><t>kana</t></r></rt><rubyBase><r><t>kanji</t></r></rubyBase></ruby>",
            "kanji",
        ),
        ('<r><sym char="F0B7"/><sym char="2192"/><sym char="zz"/></r>', "→"),
        ("<pPr><tabs><tab/></tabs></pPr><r><tab/><t>x</t></r>", "\tx"),
        ('<r><rPr><vanish val="0"/></rPr><t>seen</t></r>', "seen"),
    ],
)
def test_text_is_read(inner: str, text: str) -> None:
    assert read_paragraph(inner).text == text


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("<f><num><t>1</t></num><den><t>n+1</t></den></f>", "1/(n+1)"),
        ("<sSub><e><t>a</t></e><sub><t>i</t></sub></sSub>", "a_i"),
        ("<rad><deg/><e><t>x</t></e></rad>", "√x"),
        ("<rad><deg/><e><t>x+1</t></e></rad>", "√(x+1)"),
        ("<rad><deg><t>3</t></deg><e><t>x</t></e></rad>", "√[3]x"),
        ("<sSup><e><t>e</t></e><sup><t>2x</t></sup></sSup>", "e^(2x)"),
        ("<d><e><t>x</t></e></d>", "(x)"),
        ('<d><dPr><begChr val="["/><endChr val="]"/></dPr><e><t>x</t></e></d>', "[x]"),
        ('<nary><naryPr><chr val="∑"/></naryPr><sub><t>0</t></sub><e><t>k</t></e></nary>', "∑_0 k"),
        ("<nary><sub/><sup/><e><t>k</t></e></nary>", "∫k"),
    ],
)
def test_equations_are_read(inner: str, text: str) -> None:
    assert read_paragraph(f"<oMath>{inner}</oMath>").text == text


def test_notes_and_boxes_are_returned_separately() -> None:
    inline = read_paragraph("<r><t>Free</t><footnoteReference/></r><pict><txbxContent/></pict>")
    assert inline.text == "Free[7]"
    assert [mark for mark, _ in inline.notes] == ["7"]
    assert [box.tag for box in inline.boxes] == ["txbxContent"]
