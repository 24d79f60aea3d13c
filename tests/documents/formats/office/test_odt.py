import io
import zipfile

import pytest

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.formats.office.odt import parse, parse_flat
from fathom.documents.parse import parse_bytes

NAMES = "office text table draw style xlink meta dc presentation fo"
SPACES = " ".join(f'xmlns:{name}="urn:{name}"' for name in NAMES.split())


def make_package(body: str, styles: str = "", kind: str = "text", **parts: str) -> bytes:
    buffer = io.BytesIO()
    content = (
        f"<office:document-content {SPACES}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("content.xml", content)
        for name, text in parts.items():
            archive.writestr(name.replace("_", "/") + ".xml", text)
    return buffer.getvalue()


def describe_blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]


def p(inner: str) -> str:
    return f"<text:p>{inner}</text:p>"


def test_headings_paragraphs_and_white_space_are_read() -> None:
    body = (
        '<text:h text:outline-level="2">Opening  hours</text:h>'
        + p('Mon<text:s text:c="2"/>8<text:tab/>to\n <text:span>12</text:span><text:line-break/>x')
    )  # fmt: skip
    assert describe_blocks(parse(make_package(body))) == [
        ("heading", "Opening hours"),
        ("paragraph", "Mon  8\tto 12\nx"),
    ]


def test_the_title_style_is_a_heading() -> None:
    kind = 'style:family="paragraph" style:parent-style-name="Title"'
    style = f'<style:style style:name="P1" {kind}/>'
    parsed = parse(make_package('<text:p text:style-name="P1">Fees</text:p>', style))
    assert describe_blocks(parsed) == [("heading", "Fees")]


def test_a_title_style_without_a_definition_is_a_heading() -> None:
    parsed = parse(make_package('<text:p text:style-name="Title">Fees</text:p>'))
    assert describe_blocks(parsed) == [("heading", "Fees")]


LIST = (
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1"'
    ' style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2"'
    ' style:num-format="a" style:num-suffix=")" text:display-levels="2"/></text:list-style>'
)


def make_item(inner: str) -> str:
    return f"<text:list-item>{inner}</text:list-item>"


def make_list(*items: str, attributes: str = 'text:style-name="L"') -> str:
    return f"<text:list {attributes}>{''.join(items)}</text:list>"


def test_list_labels_nest_and_continue() -> None:
    inner = make_list(make_item(p("wide")), make_item(p("deep")), attributes="")
    body = make_list(
        make_item(p("Dig") + inner), make_item(p("Fill") + p("and press"))
    ) + make_list(
        make_item(p("Rest")), attributes='text:style-name="L" text:continue-numbering="true"'
    )
    assert parse(make_package(body, LIST)).text == (
        "1. Dig\n1.a) wide\n1.b) deep\n2. Fill\n\nand press\n\n3. Rest"
    )


def test_an_item_that_only_contains_a_list_is_not_counted() -> None:
    inner = make_list(make_item(p("wide")), attributes="")
    body = make_list(make_item(p("Dig")), make_item(inner), make_item(p("Fill")))
    assert parse(make_package(body, LIST)).text == "1. Dig\n1.a) wide\n2. Fill"


def test_a_list_without_style_has_bullets() -> None:
    assert parse(make_package(make_list(make_item(p("One")), attributes=""))).text == "- One"


def test_tables_notes_boxes_and_deletions_are_read() -> None:
    cells = "".join(f"<table:table-cell>{p(text)}</table:table-cell>" for text in ("Skip", "40"))
    note = (
        "<text:note><text:note-citation>1</text:note-citation>"
        f"<text:note-body>{p('Since 2019.')}</text:note-body></text:note>"
    )
    box = f"<draw:frame><draw:text-box>{p('Boxed')}</draw:text-box></draw:frame>"
    body = (
        f"<text:tracked-changes><text:deletion>{p('gone')}</text:deletion></text:tracked-changes>"
        f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
        f"{p('Free' + note + box)}"
    )
    assert describe_blocks(parse(make_package(body))) == [
        ("table_row", "Skip | 40"),
        ("paragraph", "Free[1]"),
        ("footnote", "[1] Since 2019."),
        ("paragraph", "Boxed"),
    ]


def test_sheets_are_pages_and_rows_name_their_headers() -> None:
    def make_cell(text: str, kind: str = "string", more: str = "") -> str:
        return f'<table:table-cell office:value-type="{kind}" {more}>{p(text)}</table:table-cell>'

    rows = (
        f"<table:table-row>{make_cell('Day')}{make_cell('Fee')}</table:table-row>"
        "<table:table-row>"
        + make_cell("1.5.24", "date", 'office:date-value="2024-05-01"')
        + make_cell("40", "float")
        + '</table:table-row><table:table-row table:number-rows-repeated="1048000">'
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
    )
    sheet = f'<table:table table:name="Fees">{rows}</table:table>'
    parsed = parse(make_package(sheet, kind="spreadsheet"))
    assert parsed.text == "Fees\n\nDay | Fee\nDay: 2024-05-01 | Fee: 40"
    assert parsed.blocks[-1].page == 1


def test_slides_are_pages() -> None:
    def make_frame(text: str, role: str) -> str:
        inner = f"<draw:text-box>{p(text)}</draw:text-box>"
        return f'<draw:frame presentation:class="{role}">{inner}</draw:frame>'

    page = f"<draw:page>{make_frame('Body', 'outline')}{make_frame('Head', 'title')}</draw:page>"
    parsed = parse(make_package(page, kind="presentation"))
    assert describe_blocks(parsed) == [("heading", "Head"), ("paragraph", "Body")]
    assert parsed.blocks[0].page == 1


def test_metadata_is_read() -> None:
    meta = (
        f"<office:document-meta {SPACES}><office:meta><dc:title>Fees</dc:title>"
        "<meta:initial-creator>Ada</meta:initial-creator></office:meta></office:document-meta>"
    )
    parsed = parse(make_package(p("x"), meta=meta))
    assert (parsed.title, parsed.metadata) == ("Fees", {"author": "Ada"})


def test_a_protected_file_is_refused() -> None:
    manifest = '<m:manifest xmlns:m="urn:m"><m:encryption-data/></m:manifest>'
    with pytest.raises(ParseRefusal) as refused:
        parse(make_package(p("x"), **{"META-INF_manifest": manifest}))
    assert refused.value.outcome == "encrypted"


def test_a_sheet_that_expands_without_end_is_refused() -> None:
    cell = f'<table:table-cell table:number-columns-repeated="999">{p("x")}</table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="1000">{cell}</table:table-row>'
    sheet = f"<table:table>{row}{row}</table:table>"
    with pytest.raises(ParseRefusal, match="unfolds"):
        parse(make_package(sheet, kind="spreadsheet"))


@pytest.mark.parametrize(
    "properties", ['text:display="none"', 'fo:font-size="1pt"', 'fo:font-size="0.02em"']
)
def test_text_of_a_style_that_nobody_sees_is_left_out_and_reported(properties: str) -> None:
    style = f'<style:style style:name="T1"><style:text-properties {properties}/></style:style>'
    body = p('The fee is <text:span text:style-name="T1">not </text:span>9 crowns.')
    parsed = parse(make_package(body + '<text:p text:style-name="T1">secret</text:p>', style))
    assert parsed.text == "The fee is 9 crowns."
    assert parsed.unread == "hidden or struck-through text left out in 2 places"


def test_struck_text_is_left_out() -> None:
    line = 'style:text-line-through-style="{}"'
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties {line.format(kind)}/>'
        "</style:style>"
        for name, kind in (("T1", "solid"), ("T2", "none"))
    )
    body = p(
        'Fee: <text:span text:style-name="T1">10 </text:span>'
        '<text:span text:style-name="T2">12</text:span> crowns'
    )
    body += (
        '<text:p text:style-name="T1">Old <text:span text:style-name="T1">rule</text:span></text:p>'
    )
    assert parse(make_package(body, styles)).text == "Fee: 12 crowns"


def test_text_of_a_small_style_stays() -> None:
    style = (
        '<style:style style:name="T1"><style:text-properties fo:font-size="6pt"/></style:style>'
        '<style:style style:name="T2"><style:text-properties fo:font-size="80%"/></style:style>'
    )
    body = p('The <text:span text:style-name="T1">fee</text:span> is 9 crowns.')
    parsed = parse(make_package(body, style))
    assert (parsed.text, parsed.unread) == ("The fee is 9 crowns.", "")


def test_a_list_that_continues_another_one_counts_on() -> None:
    first, second = "".join(map(make_item, (p("a"), p("b")))), make_item(p("c"))
    lists = [
        f'<text:list xml:id="one" text:style-name="L">{first}</text:list>',
        f'<text:list text:style-name="L">{make_item(p("other"))}</text:list>',
        f'<text:list text:continue-list="one" text:style-name="L">{second}</text:list>',
    ]
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1"'
        ' style:num-format="1" style:num-suffix="."/></text:list-style>'
    )
    blocks = describe_blocks(parse(make_package(p("x").join(lists), styles)))
    items = [text for kind, text in blocks if kind == "list_item"]
    assert items == ["1. a", "2. b", "1. other", "3. c"]


def make_row(*cells: str) -> str:
    inner = "".join(f"<table:table-cell>{cell}</table:table-cell>" for cell in cells)
    return f"<table:table-row>{inner}</table:table-row>"


def test_the_head_of_a_table_is_marked_and_comments_are_left_out() -> None:
    comment = "<office:annotation><text:p>check this</text:p></office:annotation>"
    head = f"<table:table-header-rows>{make_row(p('Port'), p('Kind'))}</table:table-header-rows>"
    table = f"<table:table>{head}{make_row(comment + p('Aldby'), p('sea' + comment))}</table:table>"
    blocks = describe_blocks(parse(make_package(table)))
    assert blocks == [("table_head", "Port | Kind"), ("table_row", "Aldby | sea")]


def test_text_of_shapes_stands_behind_their_paragraph() -> None:
    shape = f"<draw:custom-shape>{p('In the shape')}</draw:custom-shape>"
    blocks = describe_blocks(parse(make_package(p(f"Before{shape} and after"))))
    assert blocks == [("paragraph", "Before and after"), ("paragraph", "In the shape")]


def test_a_merged_cell_of_a_sheet_counts_in_all_its_rows_and_columns() -> None:
    def make_cell(text: str, more: str = "") -> str:
        return f'<table:table-cell office:value-type="string" {more}>{p(text)}</table:table-cell>'

    def make_number(text: str) -> str:
        return f'<table:table-cell office:value-type="float">{p(text)}</table:table-cell>'

    def make_line(*cells: str) -> str:
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    covered = "<table:covered-table-cell/>"
    rows = make_line(
        make_cell("Port"), make_cell("Fee", 'table:number-columns-spanned="2"'), covered
    )
    rows += make_line(make_cell(""), make_cell("boat"), make_cell("ship"))
    rows += make_line(
        make_cell("Rome", 'table:number-rows-spanned="2"'), make_number("1"), make_number("2")
    )
    rows += make_line(covered, make_number("3"), make_number("4"))
    sheet = f'<table:table table:name="Fees">{rows}</table:table>'
    assert parse(make_package(sheet, kind="spreadsheet")).text == (
        "Fees\n\nPort | Fee boat | Fee ship\n"
        "Port: Rome | Fee boat: 1 | Fee ship: 2\nPort: Rome | Fee boat: 3 | Fee ship: 4"
    )


OUTLINE = (
    '<text:outline-style><text:outline-level-style text:level="1" style:num-format="I"'
    ' style:num-suffix="."/><text:outline-level-style text:level="2" style:num-format="1"'
    ' style:num-prefix="Art. "/><text:outline-level-style text:level="3" style:num-format="1"'
    ' text:display-levels="3"/><text:outline-level-style text:level="4" style:num-format=""/>'
    "</text:outline-style>"
)


def test_headings_have_the_numbers_of_the_outline() -> None:
    def make_heading(text: str, level: int, more: str = "") -> str:
        return f'<text:h text:outline-level="{level}" {more}>{text}</text:h>'

    parts = [
        make_heading("Preface", 1, 'text:is-list-header="true"'),
        make_heading("Fees", 1),
        make_heading("Boats", 2),
        make_heading("", 2),
        make_heading("Ships", 2),
        make_heading("Sails", 3),
        make_heading("Cloth", 4),
        make_heading("Rules", 1),
        make_heading("Mooring", 3),
        make_heading("Late", 1, 'text:restart-numbering="true" text:start-value="7"'),
    ]
    parsed = parse(make_package("".join(parts), OUTLINE))
    assert parsed.text.split("\n\n") == [
        *("Preface", "I. Fees", "Art. 1 Boats", "Art. 3 Ships", "I.3.1 Sails", "Cloth"),
        *("II. Rules", "II.1.1 Mooring", "VII. Late"),
    ]
    assert [block.kind for block in parsed.blocks] == ["heading"] * 9


def test_a_heading_in_a_list_has_the_number_of_the_list() -> None:
    body = make_list(make_item('<text:h text:outline-level="1">Fees</text:h>'))
    assert parse(make_package(body, LIST + OUTLINE)).text == "1. Fees"


def test_a_list_level_without_a_number_prints_none() -> None:
    style = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1"'
        ' style:num-format=""/></text:list-style>'
    )
    assert parse(make_package(make_list(make_item(p("Dig"))), style)).text == "Dig"


def test_soft_hyphens_part_no_word() -> None:
    assert parse(make_package(p("Wald\u00ad<text:span>weg</text:span>"))).text == "Waldweg"


def test_a_merged_cell_of_a_table_of_a_text_is_repeated_in_its_rows() -> None:
    def make_line(*cells: str) -> str:
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    def make_cell(text: str, more: str = "") -> str:
        return f"<table:table-cell {more}>{p(text)}</table:table-cell>"

    covered = "<table:covered-table-cell/>"
    head = make_line(make_cell("Item"), make_cell("Port"), make_cell("Fee"))
    rows = make_line(
        make_cell("boat"), make_cell("Rome", 'table:number-rows-spanned="2"'), make_cell("1")
    )
    rows += make_line(make_cell("ship"), covered, make_cell("2"))
    rows += make_line(make_cell(""), make_cell(""), make_cell("3"))
    parsed = parse(make_package(f"<table:table>{head}{rows}</table:table>"))
    assert parsed.text == "Item | Port | Fee\nboat | Rome | 1\nship | Rome | 2\n|  | 3"


def make_chart() -> str:
    """Return the part of a chart as LibreOffice writes it."""

    def make_title(text: str) -> str:
        return f"<chart:title>{p(text)}</chart:title>"

    def make_line(*texts: str) -> str:
        cells = "".join(f"<table:table-cell>{p(text)}</table:table-cell>" for text in texts)
        return f"<table:table-row>{cells}</table:table-row>"

    axes = "".join(
        f'<chart:axis chart:dimension="{name}">{make_title(text)}</chart:axis>'
        for name, text in (("x", "Month"), ("y", "Visits in thousands"))
    )
    table = (
        '<table:table table:name="local-table"><table:table-header-rows>'
        f"{make_line('', 'Main', 'Branch')}</table:table-header-rows><table:table-rows>"
        f"{make_line('May', '3', '1.5')}{make_line('June', '4', 'NaN')}{make_line('July')}"
        "</table:table-rows></table:table>"
    )
    return (
        f'<office:document-content {SPACES} xmlns:chart="urn:chart"><office:body><office:chart>'
        f"<chart:chart>{make_title('Visits')}<chart:plot-area>{axes}</chart:plot-area>{table}"
        "</chart:chart></office:chart></office:body></office:document-content>"
    )


CHART = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'


def test_a_chart_is_read_once_behind_its_paragraph() -> None:
    body = p(f"As drawn:{CHART}") + p("Next") + CHART
    data = make_package(body, **{"Object 1_content": make_chart()})
    assert parse(data).text == (
        "As drawn:\n\nVisits\n\nMonth\n\nVisits in thousands\n\n"
        "May | Main: 3 | Branch: 1.5\nJune | Main: 4\n\nNext"
    )


def test_the_titles_of_charts_stand_behind_the_rows_of_their_sheet() -> None:
    cell = f"<table:table-cell>{p('May')}{CHART}</table:table-cell>"
    sheet = f'<table:table table:name="Visits">{make_row(p("a"))}<table:table-row>{cell}'
    data = make_package(
        f"{sheet}</table:table-row></table:table>",
        kind="spreadsheet",
        **{"Object 1_content": make_chart()},
    )
    expected = "Visits\n\na\nMay\n\nVisits\n\nMonth\n\nVisits in thousands"
    assert parse(data).text == expected


@pytest.mark.parametrize("link", ["./Object 2", "../../etc", "/etc", ""])
def test_an_object_that_is_no_chart_hides_no_text(link: str) -> None:
    data = make_package(p(f'Text<draw:frame><draw:object xlink:href="{link}"/></draw:frame>'))
    assert parse(data).text == "Text"


def make_style(name: str, family: str, properties: str, more: str = "") -> str:
    return (
        f'<style:style style:name="{name}" style:family="{family}" {more}>{properties}'
        "</style:style>"
    )


LINE = '<style:text-properties style:text-line-through-style="solid"/>'
NO_LINE = '<style:text-properties style:text-line-through-style="none"/>'


def test_struck_cells_of_a_sheet_are_left_out_and_reported() -> None:
    styles = (
        make_style("gone", "table-cell", LINE)
        + make_style("ce1", "table-cell", "", 'style:parent-style-name="gone"')
        + make_style("back", "table-cell", NO_LINE, 'style:parent-style-name="gone"')
        + make_style("T1", "text", NO_LINE)
    )

    def make_cell(inner: str, style: str = "", more: str = "") -> str:
        name = f'table:style-name="{style}"' if style else ""
        return f"<table:table-cell {name} {more}>{inner}</table:table-cell>"

    rows = [
        make_cell(p("Bin"), "back") + make_cell(p("30"), "back") + make_cell(p("new"), "back"),
        make_cell(p("Skip"))
        + make_cell(p("1.5.24"), "ce1", 'office:value-type="date" office:date-value="2024-05-01"')
        + make_cell(p("old, ") + p('now <text:span text:style-name="T1">50</text:span>!'), "gone"),
        make_cell(p("Cart")) + make_cell(p("9"), "back") + make_cell(p("gone too")),
    ]
    columns = (
        '<table:table-column table:number-columns-repeated="2"/>'
        '<table:table-column table:default-cell-style-name="gone"/>'
    )
    lines = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    sheet = f'<table:table table:name="Fees">{columns}{lines}</table:table>'
    parsed = parse(make_package(sheet, styles, kind="spreadsheet"))
    assert parsed.text.split("\n")[2:] == ["Bin | 30 | new", "Skip |  | 50", "Cart | 9"]
    assert parsed.unread == "hidden or struck-through text left out in 3 places"


def test_a_style_strikes_if_the_one_it_is_based_on_does() -> None:
    styles = make_style("Gone", "text", LINE) + make_style(
        "T1", "text", "", 'style:parent-style-name="Gone"'
    )
    body = p('Fee: <text:span text:style-name="T1">10 </text:span>12')
    assert parse(make_package(body, styles)).text == "Fee: 12"


@pytest.mark.parametrize(
    ("position", "text"),
    [
        ("super 58%", "10^6 litres"),
        ("33% 58%", "10^6 litres"),
        ("sub 58%", "10_6 litres"),
        ("-33% 58%", "10_6 litres"),
        ("0% 100%", "106 litres"),
    ],
)
def test_raised_and_lowered_digits_are_kept_apart_from_the_number_before(
    position: str, text: str
) -> None:
    kind = 'style:family="text"'
    style = (
        f'<style:style style:name="Raised" {kind}><style:text-properties'
        f' style:text-position="{position}"/></style:style>'
        f'<style:style style:name="T1" {kind} style:parent-style-name="Raised"/>'
    )
    body = p('10<text:span text:style-name="T1">6</text:span> litres')
    assert parse(make_package(body, style)).text == text


def test_a_superscript_of_two_spans_has_one_sign() -> None:
    style = (
        '<style:style style:name="T1" style:family="text">'
        '<style:text-properties style:text-position="super 58%"/></style:style>'
    )
    raised = '<text:span text:style-name="T1">{}</text:span>'
    body = p(f"<text:span>10</text:span>{raised.format(1)}{raised.format(2)} m2")
    assert parse(make_package(body, style)).text == "10^12 m2"


@pytest.mark.parametrize("href", ["./Object 1", "Object 1"])
def test_embedded_formulas_are_read_in_their_place(href: str) -> None:
    embedded = f'<draw:frame><draw:object xlink:href="{href}"/><draw:image/></draw:frame>'
    formula = "<math><msup><mi>x</mi><mn>2</mn></msup></math>"
    part = {"Object 1_content": formula}
    parsed = parse(make_package(p(f"The area is {embedded} m2."), **part))
    assert parsed.text == "The area is x^2 m2."


def test_a_formula_without_a_part_of_its_own_is_read() -> None:
    embedded = "<draw:frame><draw:object><math><mi>y</mi></math></draw:object></draw:frame>"
    assert parse(make_package(p(f"Let {embedded} be 1."))).text == "Let y be 1."


@pytest.mark.parametrize("href", ["../other", "/etc", "Missing"])
def test_formulas_elsewhere_are_not_read(href: str) -> None:
    embedded = f'<draw:frame><draw:object xlink:href="{href}"/></draw:frame>'
    assert parse(make_package(p(f"The area is {embedded} m2."))).text == "The area is  m2."


OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"


def make_flat(body: str, kind: str = "text", around: str = "") -> bytes:
    spaces = SPACES.replace("urn:office", OFFICE)
    meta = "<office:meta><dc:title>Fees</dc:title></office:meta>"
    settings = "<office:settings><config>true</config></office:settings>"
    return (
        f'<?xml version="1.0"?><office:document {spaces}>{meta}{settings}{around}<office:body>'
        f"<office:{kind}>{body}</office:{kind}></office:body></office:document>"
    ).encode()


def test_flat_files_are_read_as_those_in_packages() -> None:
    cells = "".join(f"<table:table-cell>{p(text)}</table:table-cell>" for text in ("Yacht", "45"))
    table = f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
    style = (
        '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    )
    body = f'<text:p text:style-name="P1">Tariff</text:p><!-- no text -->{table}'
    (parsed,) = parse_bytes(make_flat(body, around=style), "fees.fodt")
    assert isinstance(parsed, ParsedDocument)
    assert describe_blocks(parsed) == [("heading", "Tariff"), ("table_row", "Yacht | 45")]
    assert parsed.title == "Fees"


def test_charts_and_formulas_of_flat_files_are_read_once() -> None:
    row = "<table:table-row>{}</table:table-row>"
    cell = "<table:table-cell>{}</table:table-cell>"
    rows = "".join(row.format("".join(map(cell.format, map(p, pair)))) for pair in ("xS", "a4"))
    chart = (
        f"<office:document><office:body><office:chart><chart><title>{p('Depth')}</title>"
        f"<table:table>{rows}</table:table></chart></office:chart></office:body></office:document>"
    )
    frame = "<draw:frame><draw:object>{}</draw:object></draw:frame>"
    formula = frame.format("<math><msup><mi>x</mi><mn>2</mn></msup></math>")
    parsed = parse_flat(make_flat(p(f"It is {formula}.") + p(frame.format(chart))))
    assert parsed.text == "It is x^2.\n\nDepth\n\na | S: 4"


def test_page_numbers_of_slides_and_their_notes_are_no_text() -> None:
    box = '<draw:frame presentation:class="{}"><draw:text-box>{}</draw:text-box></draw:frame>'
    slide = "<draw:page>{}</draw:page>"
    number = box.format("page-number", p("&lt;number&gt;"))
    notes = f"<presentation:notes>{box.format('notes', p('Greet.'))}{number}</presentation:notes>"
    first = box.format("title", p("Plan")) + box.format("footer", p("Secret")) + notes
    second = box.format("subtitle", p("40 ships"))
    body = slide.format(second) + slide.format(first) + slide.format(second)
    parsed = parse(make_package(body, kind="presentation"))
    assert [(block.kind, block.span.cut(parsed.text), block.page) for block in parsed.blocks] == [
        ("paragraph", "40 ships", 1),
        ("heading", "Plan", 2),
        ("paragraph", "Greet.", 2),
        ("heading", "Slide 3", 3),
        ("paragraph", "40 ships", 3),
    ]
