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


def make_relations(*links: tuple[str, str]) -> str:
    items = "".join(
        f'<Relationship Id="r{at}" Type="{KIND}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(links)
    )
    return f'<Relationships xmlns="{RELS}">{items}</Relationships>'


def make_root(name: str, inner: str, namespace: str = W) -> str:
    return f'<w:{name} xmlns:w="{namespace}" xmlns:m="{M}" xmlns:mc="{MC}">{inner}</w:{name}>'


def make_package(body: str, namespace: str = W, **parts: str) -> bytes:
    """Return a DOCX with this body; `parts` are the inner XML of styles, numbering, footnotes
    ...
    """
    buffer = io.BytesIO()
    names = {"header": "hdr", "footer": "ftr"}
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("_rels/.rels", make_relations(("officeDocument", "word/document.xml")))
        inner = f"<w:body>{body}</w:body>"
        archive.writestr("word/document.xml", make_root("document", inner, namespace))
        links = [(kind, f"{kind}.xml") for kind in parts if kind != "media"]
        archive.writestr("word/_rels/document.xml.rels", make_relations(*links))
        for kind, xml in parts.items():
            if kind == "media":
                archive.writestr("word/media/image1.png", b"\x89PNG" + bytes(9_000))
            else:
                archive.writestr(f"word/{kind}.xml", make_root(names.get(kind, kind), xml))
    return buffer.getvalue()


def p(inner: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def r(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def make_list_item(text: str, num: int, level: int = 0) -> str:
    place = f'<w:ilvl w:val="{level}"/><w:numId w:val="{num}"/>'
    return p(r(text), f"<w:numPr>{place}</w:numPr>")


def make_cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(r(text))}</w:tc>"


def make_row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def make_table(*rows: str) -> str:
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def describe_blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]


HEADINGS = (
    '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="My head"/><w:basedOn w:val="Up"/>'
    '</w:style><w:style w:type="paragraph" w:styleId="Up"><w:name w:val="Up"/>'
    '<w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style>'
)


def make_styled(text: str, style: str) -> str:
    return p(r(text), f'<w:pStyle w:val="{style}"/>')


def test_headings_come_from_style_names_and_inherited_outline_levels() -> None:
    body = make_styled("Fees", "H1") + make_styled("Roads", "Mine") + p(r("Ten a day."))
    parsed = parse(make_package(body, styles=HEADINGS))
    assert describe_blocks(parsed) == [
        ("heading", "Fees"),
        ("heading", "Roads"),
        ("paragraph", "Ten a day."),
    ]
    assert parsed.blocks[2].headings == ("Fees", "Roads")
    assert parsed.title == "Fees"


def test_runs_are_joined_without_separator_and_signs_are_kept() -> None:
    tail = "<w:r><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t><w:noBreakHyphen/><w:t>c</w:t></w:r>"
    assert parse(make_package(p(r("Fat") + r("hom") + tail))).text == "Fathom\ta\nb-c"


def test_insertions_are_kept_and_deletions_dropped() -> None:
    gone = '<w:del w:id="1"><w:r><w:delText>25</w:delText></w:r></w:del>'
    body = p(r("It costs ") + gone + f'<w:ins w:id="2">{r("30")}</w:ins>' + r(" crowns."))
    assert parse(make_package(body)).text == "It costs 30 crowns."


def test_hidden_text_and_field_codes_are_dropped_and_field_values_kept() -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>DATE</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{r("3 May")}'
    )
    assert parse(make_package(p(r("On ") + field + hidden))).text == "On 3 May"


def make_run(text: str, properties: str) -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


WHITE = '<w:color w:val="FFFFFF"/>'
SHADE = '<w:shd w:val="clear" w:fill="000080"/>'


@pytest.mark.parametrize(
    "properties",
    ["<w:vanish/>", '<w:sz w:val="2"/>', WHITE, '<w:color w:val="fefefe"/>'],
)
def test_runs_that_no_reader_sees_are_left_out_and_reported(properties: str) -> None:
    parsed = parse(make_package(p(r("Seen ") + make_run("evil", properties) + r("words"))))
    assert parsed.text == "Seen words"
    assert parsed.unread == "hidden or struck-through text left out in 1 place"


@pytest.mark.parametrize(
    "body",
    [
        p(make_run("Seen", '<w:sz w:val="12"/>')),
        p(make_run("Seen", WHITE + SHADE)),
        p(make_run("Seen", f'{WHITE}<w:highlight w:val="blue"/>')),
        p(make_run("Seen", WHITE), SHADE),
        make_table(f"<w:tr><w:tc>{p(make_run('Seen', WHITE))}</w:tc></w:tr>"),
        p(f"<w:r><w:txbxContent>{p(make_run('Seen', WHITE))}</w:txbxContent></w:r>"),
        p(make_run("Seen", '<w:vanish w:val="0"/><w:color w:val="auto"/>')),
    ],
)
def test_runs_that_may_be_seen_are_read(body: str) -> None:
    parsed = parse(make_package(body))
    assert (parsed.text, parsed.unread) == ("Seen", "")


def test_a_text_box_is_read_once_although_it_is_stored_twice() -> None:
    box = f"<w:txbxContent>{p(r('In the box'))}</w:txbxContent>"
    both = (
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    parsed = parse(make_package(p(r("Before") + f"<w:r>{both}</w:r>") + p(r("After"))))
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
    body = "".join(make_list_item(*item) for item in items)
    parsed = parse(make_package(body, numbering=NUMBERS))
    assert parsed.text == "1. Dig\n1.a) Wide\n1.b) Deep\n2. Fill\n- Rest"
    assert {block.kind for block in parsed.blocks} == {"list_item"}


def test_tables_read_row_by_row_and_merged_cells_in_each_of_their_rows() -> None:
    body = make_table(
        make_row(make_cell("Item"), make_cell("Fee"), make_cell("Days")),
        make_row(make_cell("Skip", '<w:vMerge w:val="restart"/>'), make_cell("40"), make_cell("2")),
        make_row(make_cell("Skip", "<w:vMerge/>"), make_cell("55", '<w:gridSpan w:val="2"/>')),
        make_row(make_cell("Both", '<w:gridSpan w:val="2"/>'), make_cell("3")),
        make_row(make_cell("60"), make_cell("4"), properties='<w:gridBefore w:val="1"/>'),
        make_row(make_cell("Old"), make_cell("1"), properties="<w:del/>"),
    )
    assert describe_blocks(parse(make_package(body))) == [
        ("table_head", "Item | Fee | Days"),
        ("table_row", "Skip | 40 | 2"),
        ("table_row", "Skip | 55"),
        ("table_row", "Both |  | 3"),
        ("table_row", "| 60 | 4"),
    ]


def test_a_cell_merged_downwards_is_repeated_in_its_column() -> None:
    start, below = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    two = '<w:gridSpan w:val="2"/>'
    body = make_table(
        make_row(make_cell("Area", start), make_cell("Sales", two), properties="<w:tblHeader/>"),
        make_row(
            make_cell("", below), make_cell("May"), make_cell("Note"), properties="<w:tblHeader/>"
        ),
        make_row(make_cell("North", start), make_cell("1"), make_cell("late", start)),
        make_row(make_cell("", below), make_cell("2"), make_cell("", below)),
        make_row(make_cell("South", start), make_cell("3"), make_cell("4")),
        make_row(make_cell("", below), make_cell("", below), make_cell("")),
        make_row(make_cell("", below), make_cell(""), make_cell("5")),
        make_row(make_cell("x" * 61, start + two), make_cell("6")),
        make_row(make_cell("", below + two), make_cell("7")),
    )
    assert describe_blocks(parse(make_package(body))) == [
        ("table_head", "Area | Sales"),
        ("table_head", "Area | May | Note"),
        ("table_row", "North | 1 | late"),
        ("table_row", "North | 2 | late"),
        ("table_row", "South | 3 | 4"),
        ("table_row", "South |  | 5"),
        ("table_row", f"{'x' * 61} |  | 6"),
        ("table_row", "|  | 7"),
    ]


def test_a_first_row_without_mark_is_repeated_only_if_it_surely_names_no_columns() -> None:
    start, below = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = (
        make_row(make_cell("Rome", start), make_cell("{}")),
        make_row(make_cell("", below), make_cell("20")),
    )
    table = make_table(*rows)
    assert parse(make_package(table.format("ten"))).text == "Rome | ten\n| 20"
    assert parse(make_package(table.format("10"))).text == "Rome | 10\nRome | 20"


def test_a_nested_table_follows_its_row_and_a_frame_is_no_table() -> None:
    inner = make_table(make_row(make_cell("a"), make_cell("b")))
    outer = make_table(make_row(make_cell("Left"), f"<w:tc>{p(r('Right'))}{inner}</w:tc>"))
    frame = make_table(make_row(f"<w:tc>{p(r('One'))}{p(r('Two'))}</w:tc>"))
    assert describe_blocks(parse(make_package(outer + frame))) == [
        ("table_row", "Left | Right"),
        ("table_row", "a | b"),
        ("paragraph", "One"),
        ("paragraph", "Two"),
    ]


def test_notes_follow_the_paragraph_that_refers_to_them() -> None:
    notes = (
        f'<w:footnote w:id="0" w:type="separator">{p(r("-"))}</w:footnote>'
        f'<w:footnote w:id="5">{p(r("Since 2019."))}</w:footnote>'
    )
    body = p(r("Free") + '<w:r><w:footnoteReference w:id="5"/></w:r>') + p(r("Next"))
    assert describe_blocks(parse(make_package(body, footnotes=notes))) == [
        ("paragraph", "Free[1]"),
        ("footnote", "[1] Since 2019."),
        ("paragraph", "Next"),
    ]


def test_headers_and_footers_come_once_and_page_numbers_never() -> None:
    line = p(r("Town of Merrow"))
    parsed = parse(make_package(p(r("Text")), header=line, footer=line + p(r("3"))))
    assert parsed.text == "Town of Merrow\n\nText"


def test_comments_are_not_read() -> None:
    mark = '<w:r><w:commentReference w:id="0"/></w:r>'
    body = p(f'<w:commentRangeStart w:id="0"/>{r("Fee: 40")}<w:commentRangeEnd w:id="0"/>{mark}')
    comment = f'<w:comment w:id="0" w:author="Ada">{p(r("should be 50?"))}</w:comment>'
    assert parse(make_package(body, comments=comment)).text == "Fee: 40"


def test_lines_of_code_form_one_listing() -> None:
    body = make_styled("for x in y:", "Code") + make_styled("    stop", "Code")
    parsed = parse(make_package(body, styles=HEADINGS))
    assert describe_blocks(parsed) == [("code", "for x in y:\n    stop")]


def make_letters(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def test_equations_are_read_in_one_line() -> None:
    fraction = f"<m:f><m:num>{make_letters('a+b')}</m:num><m:den>{make_letters('2')}</m:den></m:f>"
    two = f"<m:sSup><m:e>{make_letters('x')}</m:e><m:sup>{make_letters('2')}</m:sup></m:sSup>"
    assert parse(make_package(p(f"<m:oMath>{fraction}{two}</m:oMath>"))).text == "(a+b)/2x^2"


def test_the_strict_variant_is_read_alike() -> None:
    assert parse(make_package(p(r("Strict")), namespace=STRICT)).text == "Strict"


def test_slight_damage_is_repaired() -> None:
    assert parse(make_package(p(r("Fish &unknown; chips")))).text.startswith("Fish")


def test_pictures_without_text_need_ocr() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(make_package(p(""), media="yes"))
    assert refused.value.outcome == "no_text_layer"
    assert refused.value.reason == "holds pictures of which none can be recognised, and no text"


def test_a_picture_with_a_caption_needs_ocr() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(make_package(p(r("The form, as signed:")), media="yes"))
    assert refused.value.outcome == "no_text_layer"
    assert parse(make_package(p(r("The form, as signed. " * 4)), media="yes")).text


def test_an_empty_file_is_empty() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(make_package(p("")))
    assert refused.value.outcome == "empty"


def test_an_entity_bomb_is_refused() -> None:
    buffer = io.BytesIO()
    bomb = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", bomb + make_root("document", p(r("&b; text"))))
    with pytest.raises(ParseRefusal, match="entity bomb") as refused:
        parse(buffer.getvalue())
    assert refused.value.outcome == "failed"


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04broken"])
def test_a_file_that_is_no_package_is_refused(data: bytes) -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(data)
    assert refused.value.outcome == "failed"


def test_raised_figures_are_no_digits_of_the_number_before_them() -> None:
    raised = '<w:vertAlign w:val="superscript"/>'
    body = p(r("10") + make_run("1", raised) + make_run("2", raised) + r(" a 5 m"))
    body += p(make_run("2", raised) + r(" Wald\u00adweg"))
    assert parse(make_package(body)).text == "10^12 a 5 m\n\n2 Waldweg"


def test_struck_runs_are_left_out_and_reported() -> None:
    strike, double = "<w:strike/>", "<w:dstrike/>"
    body = p(r("Fee: ") + make_run("1", strike) + make_run("0 ", double) + r("12 crowns"))
    body += p(make_run("Old.", strike)) + p(make_run("Old too.", strike))
    body += p(make_run("New.", '<w:strike w:val="0"/>') + make_run(" ", strike))
    parsed = parse(make_package(body))
    assert parsed.text == "Fee: 12 crowns\n\nNew."
    assert parsed.unread == "hidden or struck-through text left out in 4 places"


def test_struck_runs_of_notes_headers_and_footers_are_left_out() -> None:
    line = p(make_run("25 ", "<w:strike/>") + r("30 crowns"))
    body = p(r("Fee") + '<w:r><w:footnoteReference w:id="5"/></w:r>')
    body += p(r("Fine") + '<w:r><w:endnoteReference w:id="6"/></w:r>')
    parsed = parse(
        make_package(
            body,
            header=line,
            footnotes=f'<w:footnote w:id="5">{line}</w:footnote>',
            endnotes=f'<w:endnote w:id="6">{line}</w:endnote>',
        )
    )
    assert parsed.text == "30 crowns\n\nFee[1]\n\n[1] 30 crowns\n\nFine[i]\n\n[i] 30 crowns"
    assert parsed.unread == "hidden or struck-through text left out in 3 places"


STRIKING = (
    '<w:style w:type="character" w:styleId="Gone"><w:rPr><w:strike/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Back"><w:basedOn w:val="Gone"/><w:rPr>'
    '<w:strike w:val="0"/></w:rPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Up"><w:basedOn w:val="Gone"/></w:style>'
)


def test_runs_that_their_style_strikes_are_left_out() -> None:
    def make_styled_run(text: str, style: str, more: str = "") -> str:
        return make_run(text, f'<w:rStyle w:val="{style}"/>{more}')

    body = p(r("Fee: ") + make_styled_run("10", "Gone") + make_styled_run("12", "Back"))
    body += p(make_styled_run("Still so.", "Gone", '<w:strike w:val="0"/>'))
    body += make_styled("Old.", "Up")
    body += make_table(make_row(make_cell("a"), make_cell("b")))
    parsed = parse(make_package(body, styles=STRIKING))
    assert parsed.text == "Fee: 12\n\nStill so.\n\na | b"
    assert parsed.unread == "hidden or struck-through text left out in 2 places"


def make_figure(name: str, link: str) -> str:
    """Return a run with the element that stands for a chart or a diagram."""
    element = f'<c:{name} xmlns:c="urn:c" xmlns:r="{KIND}" r:{link}="r0"/>'
    return f"<w:r><w:drawing><graphicData>{element}</graphicData></w:drawing></w:r>"


CHART = (
    "<chart><title><tx><rich><p><r><t>Loans of the year</t></r></p></rich></tx></title><plotArea>"
    '<ser><tx><strRef><pt idx="0"><v>Books</v></pt></strRef></tx><cat><pt idx="0"><v>May</v></pt>'
    '</cat><val><pt idx="0"><v>41</v></pt></val></ser></plotArea></chart>'
)
CHART_TEXT = "Loans of the year\n\nMay | Books: 41"


def test_a_chart_is_read_behind_its_paragraph() -> None:
    body = p(r("As drawn:") + make_figure("chart", "id")) + p(r("Next"))
    assert parse(make_package(body, chart=CHART)).text == f"As drawn:\n\n{CHART_TEXT}\n\nNext"


def test_a_chart_in_a_cell_is_read_behind_the_table() -> None:
    cell = f"<w:tc>{p(make_figure('chart', 'id'))}</w:tc>"
    body = make_table(make_row(make_cell("Spring"), cell))
    assert parse(make_package(body, chart=CHART)).text == f"Spring |\n\n{CHART_TEXT}"


def test_a_chart_is_read_once_beside_its_picture_for_older_readers() -> None:
    figure = make_figure("chart", "id")
    choice = f"<mc:Choice>{figure}</mc:Choice><mc:Fallback>{figure}</mc:Fallback>"
    body = p(f"<mc:AlternateContent>{choice}</mc:AlternateContent>")
    assert parse(make_package(body, chart=CHART)).text == CHART_TEXT


def test_a_diagram_is_read_as_a_list() -> None:
    data = "<pt><t><p><r><t>Ask</t></r></p></t></pt><pt><t><p><r><t>Lend</t></r></p></t></pt>"
    package = make_package(p(make_figure("relIds", "dm")), diagramData=data)
    assert parse(package).text == "- Ask\n- Lend"


def test_a_chart_whose_part_is_missing_hides_no_text() -> None:
    assert parse(make_package(p(r("Text") + make_figure("chart", "id")))).text == "Text"
