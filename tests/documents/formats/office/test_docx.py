import io
import zipfile

import pytest

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.formats.office.docx import parse

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def rels(*links: tuple[str, str]) -> str:
    items = "".join(
        f'<Relationship Id="r{at}" Type="{KIND}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(links)
    )
    return f'<Relationships xmlns="{RELS}">{items}</Relationships>'


def root(name: str, inner: str, namespace: str = W) -> str:
    return f'<w:{name} xmlns:w="{namespace}" xmlns:m="{M}" xmlns:mc="{MC}">{inner}</w:{name}>'


def packed(body: str, namespace: str = W, **parts: str) -> bytes:
    """A DOCX with this body; `parts` are the inner XML of styles, numbering, footnotes ..."""
    buffer = io.BytesIO()
    names = {"header": "hdr", "footer": "ftr"}
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("_rels/.rels", rels(("officeDocument", "word/document.xml")))
        inner = f"<w:body>{body}</w:body>"
        archive.writestr("word/document.xml", root("document", inner, namespace))
        links = [(kind, f"{kind}.xml") for kind in parts if kind != "media"]
        archive.writestr("word/_rels/document.xml.rels", rels(*links))
        for kind, xml in parts.items():
            if kind == "media":
                archive.writestr("word/media/image1.png", b"\x89PNG" + bytes(9_000))
            else:
                archive.writestr(f"word/{kind}.xml", root(names.get(kind, kind), xml))
    return buffer.getvalue()


def p(inner: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def r(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def listed(text: str, num: int, level: int = 0) -> str:
    place = f'<w:ilvl w:val="{level}"/><w:numId w:val="{num}"/>'
    return p(r(text), f"<w:numPr>{place}</w:numPr>")


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(r(text))}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def shown(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]


HEADINGS = (
    '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="My head"/><w:basedOn w:val="Up"/>'
    '</w:style><w:style w:type="paragraph" w:styleId="Up"><w:name w:val="Up"/>'
    '<w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style>'
)


def styled(text: str, style: str) -> str:
    return p(r(text), f'<w:pStyle w:val="{style}"/>')


def test_headings_come_from_style_names_and_inherited_outline_levels() -> None:
    body = styled("Fees", "H1") + styled("Roads", "Mine") + p(r("Ten a day."))
    parsed = parse(packed(body, styles=HEADINGS))
    assert shown(parsed) == [
        ("heading", "Fees"),
        ("heading", "Roads"),
        ("paragraph", "Ten a day."),
    ]
    assert parsed.blocks[2].headings == ("Fees", "Roads")
    assert parsed.title == "Fees"


def test_runs_are_joined_without_separator_and_signs_are_kept() -> None:
    tail = "<w:r><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t><w:noBreakHyphen/><w:t>c</w:t></w:r>"
    assert parse(packed(p(r("Fat") + r("hom") + tail))).text == "Fathom\ta\nb-c"


def test_insertions_stay_and_deletions_go() -> None:
    gone = '<w:del w:id="1"><w:r><w:delText>25</w:delText></w:r></w:del>'
    body = p(r("It costs ") + gone + f'<w:ins w:id="2">{r("30")}</w:ins>' + r(" crowns."))
    assert parse(packed(body)).text == "It costs 30 crowns."


def test_hidden_text_and_field_codes_are_left_out_and_results_kept() -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>DATE</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{r("3 May")}'
    )
    assert parse(packed(p(r("On ") + field + hidden))).text == "On 3 May"


def test_a_text_box_is_read_once_although_it_is_stored_twice() -> None:
    box = f"<w:txbxContent>{p(r('In the box'))}</w:txbxContent>"
    both = (
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    parsed = parse(packed(p(r("Before") + f"<w:r>{both}</w:r>") + p(r("After"))))
    assert parsed.text == "Before\n\nIn the box\n\nAfter"


NUMBERS = (
    '<w:abstractNum w:abstractNumId="7">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>'
    "</w:abstractNum>"
    '<w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/>'
    '<w:lvlText w:val="x"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>'
)


def test_list_labels_are_rebuilt() -> None:
    items = [("Dig", 1, 0), ("Wide", 1, 1), ("Deep", 1, 1), ("Fill", 1, 0), ("Rest", 2, 0)]
    body = "".join(listed(*item) for item in items)
    parsed = parse(packed(body, numbering=NUMBERS))
    assert parsed.text == "1. Dig\n1.a) Wide\n1.b) Deep\n2. Fill\n- Rest"
    assert {block.kind for block in parsed.blocks} == {"list_item"}


def test_tables_read_row_by_row_and_merged_cells_once() -> None:
    body = table(
        row(cell("Item"), cell("Fee"), cell("Days")),
        row(cell("Skip", '<w:vMerge w:val="restart"/>'), cell("40"), cell("2")),
        row(cell("Skip", "<w:vMerge/>"), cell("55", '<w:gridSpan w:val="2"/>')),
        row(cell("Old"), cell("1"), properties="<w:del/>"),
    )
    assert shown(parse(packed(body))) == [
        ("table_head", "Item | Fee | Days"),
        ("table_row", "Skip | 40 | 2"),
        ("table_row", "| 55"),
    ]


def test_a_nested_table_follows_its_row_and_a_frame_is_no_table() -> None:
    inner = table(row(cell("a"), cell("b")))
    outer = table(row(cell("Left"), f"<w:tc>{p(r('Right'))}{inner}</w:tc>"))
    frame = table(row(f"<w:tc>{p(r('One'))}{p(r('Two'))}</w:tc>"))
    assert shown(parse(packed(outer + frame))) == [
        ("table_row", "Left | Right"),
        ("table_row", "a | b"),
        ("paragraph", "One"),
        ("paragraph", "Two"),
    ]


def test_notes_stand_after_the_paragraph_that_refers_to_them() -> None:
    notes = (
        f'<w:footnote w:id="0" w:type="separator">{p(r("-"))}</w:footnote>'
        f'<w:footnote w:id="5">{p(r("Since 2019."))}</w:footnote>'
    )
    body = p(r("Free") + '<w:r><w:footnoteReference w:id="5"/></w:r>') + p(r("Next"))
    assert shown(parse(packed(body, footnotes=notes))) == [
        ("paragraph", "Free[1]"),
        ("footnote", "[1] Since 2019."),
        ("paragraph", "Next"),
    ]


def test_headers_and_footers_come_once_and_page_numbers_not_at_all() -> None:
    line = p(r("Town of Merrow"))
    parsed = parse(packed(p(r("Text")), header=line, footer=line + p(r("3"))))
    assert parsed.text == "Town of Merrow\n\nText"


def test_code_lines_form_one_listing() -> None:
    body = styled("for x in y:", "Code") + styled("    stop", "Code")
    parsed = parse(packed(body, styles=HEADINGS))
    assert shown(parsed) == [("code", "for x in y:\n    stop")]


def letters(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def test_equations_are_read_in_one_line() -> None:
    one = f"<m:f><m:num>{letters('a+b')}</m:num><m:den>{letters('2')}</m:den></m:f>"
    two = f"<m:sSup><m:e>{letters('x')}</m:e><m:sup>{letters('2')}</m:sup></m:sSup>"
    assert parse(packed(p(f"<m:oMath>{one}{two}</m:oMath>"))).text == "(a+b)/2x^2"


def test_the_strict_variant_reads_the_same() -> None:
    assert parse(packed(p(r("Strict")), namespace=STRICT)).text == "Strict"


def test_mild_damage_is_mended() -> None:
    assert parse(packed(p(r("Fish &unknown; chips")))).text.startswith("Fish")


def test_pictures_without_text_need_ocr() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(packed(p(""), media="yes"))
    assert refused.value.outcome == "no_text_layer"
    assert refused.value.reason == "holds pictures of which none can be recognised, and no text"


def test_a_picture_with_a_caption_needs_ocr() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(packed(p(r("The form, as signed:")), media="yes"))
    assert refused.value.outcome == "no_text_layer"
    assert parse(packed(p(r("The form, as signed. " * 4)), media="yes")).text


def test_nothing_at_all_is_empty() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(packed(p("")))
    assert refused.value.outcome == "empty"


def test_an_entity_bomb_is_refused() -> None:
    buffer = io.BytesIO()
    bomb = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", bomb + root("document", p(r("&b; text"))))
    with pytest.raises(ParseRefusal, match="entity bomb") as refused:
        parse(buffer.getvalue())
    assert refused.value.outcome == "failed"


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04broken"])
def test_what_is_no_package_is_refused(data: bytes) -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(data)
    assert refused.value.outcome == "failed"
