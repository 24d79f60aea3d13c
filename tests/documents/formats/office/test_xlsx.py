import io
import re
import zipfile
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import pytest
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from fathom.documents.base import ParseRefusal
from fathom.documents.formats.office.sheet import (
    CellStyle,
    SharedTexts,
    make_printer,
    read_strings,
)
from fathom.documents.formats.office.xlsx import parse

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def save_book(book: Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def make_sheet(rows: Sequence[Sequence[Any]], title: str = "Fees") -> Workbook:
    book = Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    return book


def read_lines(data: bytes) -> list[str]:
    return parse(data).text.split("\n")


def test_each_row_names_its_headers() -> None:
    parsed = parse(save_book(make_sheet([["Service", "Fee"], ["Skip", 40], ["Permit", None]])))
    assert [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks] == [
        ("heading", "Fees"),
        ("table_head", "Service | Fee"),
        ("table_row", "Service: Skip | Fee: 40"),
        ("table_row", "Permit"),
    ]
    assert {block.page for block in parsed.blocks} == {1}


def test_values_are_formatted() -> None:
    moment = datetime.fromisoformat("2024-05-01T08:30")
    row = [date(2024, 5, 1), moment, True, 1e20, 0.1 + 0.2, 1234567890123451]
    assert read_lines(save_book(make_sheet([row], title="Sheet1"))) == [
        "2024-05-01 | 2024-05-01 08:30:00 | TRUE | 100000000000000000000 | 0.3 | 1234567890123451"
    ]


def test_percentages_read_as_shown() -> None:
    book = make_sheet([["Share", 0.125]], title="Sheet1")
    book.active["B1"].number_format = "0.0%"
    assert read_lines(save_book(book)) == ["Share | 12.5%"]


@pytest.mark.parametrize(
    ("form", "value", "printed"),
    [
        ('0"%"', 5, "5%"),
        ("0\\%", 7.5, "7.5%"),
        ("0%;[Red]-0%", 0.05, "5%"),
        ('#,##0.0 "of" %', 0.05, "5%"),
        ("00000", 1067, "01067"),
        ("00000", -12, "-00012"),
        ("000\\-00\\-0000", 12345678, "012-34-5678"),
        ('"No. "0000', 12, "No. 0012"),
        ("00", 1.5, "1.5"),
        ("0", 7, "7"),
        ("00.00", 7, "7"),
    ],
)
def test_numbers_have_the_size_and_zeros_of_their_format(
    form: str, value: float, printed: str
) -> None:
    book = make_sheet([["Share", value]], title="Sheet1")
    book.active["B1"].number_format = form
    assert read_lines(save_book(book)) == [f"Share | {printed}"]


@pytest.mark.parametrize(
    ("form", "value", "printed"),
    [
        ('0.0" kg"', 12.5, "12.5 kg"),
        ('0" kg"', 12.4, "12.4 kg"),
        ('#,##0 "USD"', 1250, "1250 USD"),
        ('#,##0 "USD"', -1250, "-1250 USD"),
        ("[$€-407] #,##0.00", 1250.5, "€ 1250.5"),
        ("[$Rp-421]#,##0", 5000, "Rp5000"),
        ("[$-409]#,##0", 5000, "5000"),
        ('0" °C"', -4, "-4 °C"),
        ('#,##0,"k"', 1250400, "1250.4k"),
        ('0.0,,"M"', 2500000, "2.5M"),
        ("#,##0,", 1500, "1.5"),
        ('0.0% "p.a."', 0.05, "5% p.a."),
        ("0\\ \\(\\k\\g\\)", 4, "4 (kg)"),
        ('[>=1000]0.0,"K";0" pieces"', 5500, "5.5K"),
        ('[>=1000]0.0,"K";0" pieces"', 55, "55 pieces"),
    ],
)
def test_numbers_have_the_unit_and_scale_that_their_format_prints(
    form: str, value: float, printed: str
) -> None:
    book = make_sheet([["Item", value]], title="Sheet1")
    book.active["B1"].number_format = form
    assert read_lines(save_book(book)) == [f"Item | {printed}"]


def test_years_with_a_text_around_them_name_columns() -> None:
    book = make_sheet([["Item", 2021, 2022], ["Sales", 5, 7]], title="Sheet1")
    for cell in book.active[1][1:]:
        cell.number_format = '"FY"0'
    assert read_lines(save_book(book))[1] == "Item: Sales | FY2021: 5 | FY2022: 7"


def strike(text: str) -> TextBlock:
    return TextBlock(InlineFont(strike=True), text)


def test_struck_cells_and_runs_are_left_out_and_reported() -> None:
    rows: list[list[Any]] = [
        ["Item", "Fee", "Note"],
        ["Bin", 30, "x"],
        ["Skip", 40, "old"],
        ["Cart", 50, "y"],
    ]
    book = make_sheet(rows, title="Sheet1")
    sheet = book.active
    for place in ("C3", "A4", "B4", "C4"):
        sheet[place].font = Font(strike=True)
    sheet["B2"] = CellRichText("now ", strike("25 "), "30")
    sheet["C2"] = CellRichText(strike("all gone"))
    parsed = parse(save_book(book))
    assert parsed.text.split("\n") == [
        "Item | Fee | Note",
        "Item: Bin | Fee: now 30",
        "Item: Skip | Fee: 40",
    ]
    assert parsed.unread == "hidden or struck-through text left out in 6 places"


def test_a_struck_cell_keeps_the_runs_that_are_not_struck() -> None:
    book = make_sheet([["Fee", CellRichText("40 ", TextBlock(InlineFont(b=True), "50"))]])
    book.active["B1"].font = Font(strike=True)
    assert read_lines(save_book(book))[-1] == "Fee | 50"
    runs = "<r><t>40 </t></r><r><rPr><b/></rPr><t>50 </t></r><r><rPr><strike/></rPr><t>x</t></r>"
    strings = read_strings(io.BytesIO(f'<sst xmlns="{MAIN}"><si>{runs}</si></sst>'.encode()))
    assert strings == SharedTexts(["40 50 "], {0: "50 "}, struck=1)
    styles = [CellStyle(), CellStyle(is_struck=True)]
    print_value = make_printer(strings, CALENDAR_MAC_1904, styles.__getitem__)
    assert [print_value("s", style, "0").text for style in (0, 1)] == ["40 50", "50"]


def test_names_and_values_are_no_header() -> None:
    assert read_lines(
        save_book(make_sheet([["Office", "Works"], ["Town", "Merrow"]], title="Sheet1"))
    ) == [
        "Office | Works",
        "Town | Merrow",
    ]


def test_a_bold_first_row_is_a_header() -> None:
    book = make_sheet([["Role", "Name"], ["Clerk", "Ines"]], title="Sheet1")
    for cell in book.active[1]:
        cell.font = Font(bold=True)
    assert read_lines(save_book(book))[1] == "Role: Clerk | Name: Ines"


def test_a_title_above_and_a_second_table_below_are_read() -> None:
    rows: list[list[object]] = [
        ["Fees 2024"],
        [],
        ["Item", "Fee"],
        ["Bin", 3],
        [],
        ["Day", "Hours"],
        ["Mon", 8],
    ]
    text = parse(save_book(make_sheet(rows, title="Sheet1"))).text
    assert text.split("\n") == [
        "Fees 2024",
        "Item | Fee",
        "Item: Bin | Fee: 3",
        "Day | Hours",
        "Day: Mon | Hours: 8",
    ]


def test_a_formula_without_value_shows_itself() -> None:
    assert read_lines(save_book(make_sheet([["Sum", "=1+2"]], title="Sheet1"))) == ["Sum | =1+2"]


def change_sheet(book: Workbook, *changes: tuple[str, str]) -> bytes:
    """Return a workbook with parts of its first sheet's XML replaced."""
    changed = io.BytesIO()
    data = io.BytesIO(save_book(book))
    with zipfile.ZipFile(data) as archive, zipfile.ZipFile(changed, "w") as copy:
        for name in archive.namelist():
            content = archive.read(name).decode()
            for old, new in changes if name.endswith("sheet1.xml") else ():
                assert old in content
                content = content.replace(old, new)
            copy.writestr(name, content)
    return changed.getvalue()


def test_a_formula_that_cells_share_is_shown_as_each_cell_has_it() -> None:
    data = change_sheet(
        make_sheet([[1, 2, "=A1+B1"], [3, 4, "=x"], [5, 6, "=y"]], title="Sheet1"),
        ("<f>A1+B1</f><v></v>", '<f t="shared" si="0" ref="C1:C3">A1+B1</f><v>3</v>'),
        ("<f>x</f>", '<f t="shared" si="0"/>'),
        ("<f>y</f><v></v>", '<f t="shared" si="0"/><v>11</v>'),
    )
    assert read_lines(data) == ["1 | 2 | 3", "3 | 4 | =A2+B2", "5 | 6 | 11"]


def test_cells_are_placed_by_their_names_and_else_in_order() -> None:
    book = make_sheet([["a", "b", "c"], ["d", "e", "f"]], title="Sheet1")
    data = change_sheet(book, ('<c r="C1"', '<c r="E1"'), ('<c r="B2"', '<c r="G2"'))
    assert read_lines(data) == ["a | b |  |  | c", "d |  | f |  |  |  | e"]
    data = change_sheet(book, ('<c r="A1"', "<c"), ('<c r="B1"', "<c"), ('<row r="2"', "<row"))
    assert read_lines(data) == ["a | b | c", "d | e | f"]


def test_comments_between_cells_are_skipped() -> None:
    book = make_sheet([["a", 5]], title="Sheet1")
    assert read_lines(change_sheet(book, ('<c r="B1"', '<!-- x --><?y z?><c r="B1"'))) == ["a | 5"]


def test_phonetic_hints_are_no_text_and_runs_are_joined() -> None:
    runs = "<r><t>Ryo</t></r><r><t>kan</t></r><rPh sb='0' eb='1'><t>hint</t></rPh>"
    book = make_sheet([["x", "y"]], title="Sheet1")
    data = change_sheet(book, ("<is><t>x</t></is>", f"<is>{runs}</is>"))
    assert read_lines(data) == ["Ryokan | y"]
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    shared = f'<sst xmlns="{main}"><si>{runs}</si><si/><si><t>a_x005F_b</t></si></sst>'
    assert read_strings(io.BytesIO(shared.encode())).texts == ["Ryokan", "", "a_b"]


def test_a_book_that_counts_from_1904_has_its_dates() -> None:
    book = make_sheet([["Opened", date(2024, 5, 1)]], title="Sheet1")
    book.epoch = CALENDAR_MAC_1904
    assert read_lines(save_book(book)) == ["Opened | 2024-05-01"]


def test_hidden_sheets_and_merged_cells_are_read() -> None:
    book = make_sheet([["Fees", None], ["Bin", 3]], title="Sheet1")
    book.active.merge_cells("A1:B1")
    book.create_sheet("Sheet2").append(["old", 2])
    book["Sheet2"].sheet_state = "hidden"
    assert read_lines(save_book(book)) == ["Fees", "Bin | 3", "old | 2"]


def test_each_sheet_is_a_page() -> None:
    book = make_sheet([["a"]], title="First")
    book.create_sheet("Second").append(["b"])
    parsed = parse(save_book(book))
    assert parsed.text == "First\n\na\n\nSecond\n\nb"
    assert [block.page for block in parsed.blocks] == [1, 1, 2, 2]


def test_a_wrong_stored_dimension_hides_nothing() -> None:
    data = save_book(make_sheet([["a", "b"], ["c", "d"]], title="Sheet1"))
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'ref="A1:B2"', b'ref="A1:A1"'))
    assert read_lines(changed.getvalue()) == ["a | b", "c | d"]


def test_an_empty_book_is_empty() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(save_book(Workbook()))
    assert refused.value.outcome == "empty"


def test_a_damaged_sheet_is_refused() -> None:
    data = save_book(make_sheet([["a"]]))
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"<broken" if "sheet1" in name else old.read(name))
    with pytest.raises(ParseRefusal, match="damaged workbook") as refused:
        parse(changed.getvalue())
    assert refused.value.outcome == "failed"


def test_codes_in_texts_stand_for_their_signs() -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    text = "one_x000D_\ntwo _xD83D__xDE00_ _x005F_x000D_"
    shared = f'<sst xmlns="{main}"><si><t>{text}</t></si></sst>'
    assert read_strings(io.BytesIO(shared.encode())).texts == ["one\r\ntwo \U0001f600 _x000D_"]


def test_years_and_days_name_columns() -> None:
    years = make_sheet([["Report 2022"], ["Item", 2021, 2022], ["Sales", 5, 2021]], title="Sheet1")
    assert read_lines(save_book(years))[1:] == [
        "Item | 2021 | 2022",
        "Item: Sales | 2021: 5 | 2022: 2021",
    ]
    days = [date(2024, 1, 1), date(2024, 2, 1)]
    months = make_sheet([["Rain", *days], ["Merrow", 70, 81]], title="Sheet1")
    assert read_lines(save_book(months))[1] == "Rain: Merrow | 2024-01-01: 70 | 2024-02-01: 81"


def test_entries_with_days_or_years_are_no_header() -> None:
    days = [date(2024, 1, 1), date(2024, 2, 1)]
    tasks = make_sheet([["Roof", *days], ["Cellar", *days]], title="Sheet1")
    assert read_lines(save_book(tasks))[1] == "Cellar | 2024-01-01 | 2024-02-01"
    lives = make_sheet([["Weill", 1900, 1950], ["Bach", 1685, 1750]], title="Sheet1")
    assert read_lines(save_book(lives))[1] == "Bach | 1685 | 1750"


def test_a_bold_row_of_numbers_is_a_header() -> None:
    book = make_sheet([["Size", 36, 37], ["Stock", 3, 1]], title="Sheet1")
    for cell in book.active[1]:
        cell.font = Font(bold=True)
    assert read_lines(save_book(book))[1] == "Size: Stock | 36: 3 | 37: 1"


def test_merged_heads_name_the_columns_below_them() -> None:
    book = make_sheet(
        [
            ["Area", "2021", None, "2022", None, "Note"],
            [None, "Q1", "Q2", "Q1", "Q2"],
            ["North", 1, 2, 3, 4, "first"],
            [None, 5, 6, 7, 8],
        ],
        title="Sheet1",
    )
    for merge in ("A1:A2", "B1:C1", "D1:E1", "F1:F2", "A3:A4"):
        book.active.merge_cells(merge)
    assert read_lines(save_book(book)) == [
        "Area | 2021 Q1 | 2021 Q2 | 2022 Q1 | 2022 Q2 | Note",
        "Area: North | 2021 Q1: 1 | 2021 Q2: 2 | 2022 Q1: 3 | 2022 Q2: 4 | Note: first",
        "Area: North | 2021 Q1: 5 | 2021 Q2: 6 | 2022 Q1: 7 | 2022 Q2: 8",
    ]


def test_a_head_over_two_columns_names_both() -> None:
    book = make_sheet(
        [["Name", None, "City"], ["Ann", "Lee", "Ulm"], ["Bob", "Ray", "Bonn"]], title="Sheet1"
    )
    book.active.merge_cells("A1:B1")
    assert read_lines(save_book(book))[1] == "Name: Ann | Name: Lee | City: Ulm"


def test_a_merge_of_the_whole_sheet_changes_no_other_cell() -> None:
    data = change_sheet(
        make_sheet([["a", "b"], ["c", "d"]], title="Sheet1"),
        ("</sheetData>", '</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'),
    )
    assert read_lines(data) == ["a | b", "c | d"]


def test_the_titles_of_charts_stand_behind_the_rows_of_their_sheet() -> None:
    book = make_sheet([["Month", "Visits"], ["May", 3], ["June", 4]], title="Sheet1")
    chart = BarChart()
    chart.title = "Visits of the library"
    chart.x_axis.title, chart.y_axis.title = "Month", "Visits in thousands"
    chart.add_data(Reference(book.active, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    book.create_sheet("Board").add_chart(chart, "D2")
    parsed = parse(save_book(book))
    assert parsed.text.split("\n\n")[1:] == [
        "Board",
        "Visits of the library",
        "Month",
        "Visits in thousands",
    ]
    assert parsed.blocks[-1].page == 2


def draw(book: Workbook, *anchors: str) -> bytes:
    """Add things to the drawing of a workbook that has one chart."""
    drawn = io.BytesIO()
    added = "".join(anchors).replace("<", "<xdr:").replace("<xdr:/", "</xdr:")
    added = re.sub(r"(</?)xdr:a:", r"\1a:", added)
    with zipfile.ZipFile(io.BytesIO(save_book(book))) as archive, zipfile.ZipFile(drawn, "w") as z:
        for name in archive.namelist():
            part = archive.read(name).decode()
            if name.endswith("drawing1.xml"):
                main = "http://schemas.openxmlformats.org/drawingml/2006/"
                inner = re.sub(r"^.*?<wsDr[^>]*>|</wsDr>$", "", part, flags=re.DOTALL)
                part = (
                    f'<xdr:wsDr xmlns:xdr="{main}spreadsheetDrawing" xmlns:a="{main}main" '
                    f'xmlns="{main}spreadsheetDrawing">{added}{inner}</xdr:wsDr>'
                )
            z.writestr(name, part)
    return drawn.getvalue()


def box(row: int, *paragraphs: str, inside: str = "{}", **attributes: str) -> str:
    """Return a text box at a row of a sheet."""
    texts = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in paragraphs)
    hidden = attributes.pop("hidden", "0")
    stated = "".join(f' {name}="{value}"' for name, value in attributes.items())
    shape = (
        f'<sp{stated}><nvSpPr><cNvPr id="9" name="Box" hidden="{hidden}"/></nvSpPr>'
        f"<txBody>{texts}</txBody></sp>"
    )
    place = f"<from><col>0</col><row>{row}</row></from>"
    return f"<twoCellAnchor>{place}{inside.format(shape)}</twoCellAnchor>"


def make_charted(sheet: str = "Sheet1") -> Workbook:
    """Return a workbook with a chart on its only sheet."""
    book = make_sheet([["Month", "Visits"], ["May", 3]], title=sheet)
    chart = BarChart()
    chart.title = "Visits of the library"
    chart.add_data(Reference(book.active, min_col=2, min_row=1, max_row=2), titles_from_data=True)
    book.active.add_chart(chart, "D2")
    return book


def test_text_boxes_are_read_from_top_to_bottom_before_the_charts() -> None:
    data = draw(
        make_charted(),
        box(20, "Closed on 24 December.", inside="<grpSp>{}</grpSp>"),
        box(5, "Figures are provisional.", "Ask Ada."),
        box(1, "a cell", textlink="Sheet1!$A$1"),
        box(2, "nobody sees this", hidden="1"),
    )
    parsed = parse(data)
    assert parsed.text.split("\n\n")[1:] == [
        "Figures are provisional.",
        "Ask Ada.",
        "Closed on 24 December.",
        "Visits of the library",
    ]
    assert "hidden or struck-through text left out in 1 place" in parsed.unread


def test_a_sheet_of_text_boxes_alone_is_read() -> None:
    book = Workbook()
    book.active.title = "Rules"
    chart = BarChart()
    chart.add_data(Reference(book.active, min_col=2, min_row=1, max_row=2))
    book.active.add_chart(chart, "D2")
    parsed = parse(draw(book, box(3, "Twelve items may be borrowed.")))
    assert parsed.text.split("\n\n") == ["Rules", "Twelve items may be borrowed."]


def test_a_sheet_that_is_a_chart_has_its_name_its_titles_and_its_place() -> None:
    book = make_sheet([["Month", "Visits"], ["May", 3]], title="Sheet1")
    for name, title in (("Trend", "Visits of the library"), ("Chart1", "Visits in May")):
        chart = BarChart()
        chart.title = title
        data = Reference(book.active, min_col=2, min_row=1, max_row=2)
        chart.add_data(data, titles_from_data=True)
        book.create_chartsheet(name, 0).add_chart(chart)
    parsed = parse(save_book(book))
    texts = [(block.span.cut(parsed.text), block.page) for block in parsed.blocks]
    assert texts == [
        ("Visits in May", 1),
        ("Trend", 2),
        ("Visits of the library", 2),
        ("Month | Visits", 3),
        ("Month: May | Visits: 3", 3),
    ]


@pytest.mark.parametrize(
    ("form", "value", "printed"),
    [
        ('@" kg"', "12", "12 kg"),
        ('"No. "@', "7b", "No. 7b"),
        ('0;-0;0;"about "@" kg"', "12", "about 12 kg"),
        ('0" kg";@" left"', "none", "none left"),
        ("_(@_)", "none", "none"),
        ('0" kg"', "none", "none"),
        ('0;-0;0;"x"', "none", "none"),
        ("0;-0;0;", "none", "none"),
        (";;", "none", "none"),
        (";;;@", "none", "none"),
    ],
)
def test_a_text_has_the_words_that_its_format_prints(form: str, value: str, printed: str) -> None:
    book = make_sheet([["Weight", value]], title="Sheet1")
    book.active["B1"].number_format = form
    assert read_lines(save_book(book)) == [f"Weight | {printed}"]


@pytest.mark.parametrize(
    ("form", "value"),
    [(";;;", 5), (";;;", "secret"), (";;;", True), (";;", 5), (";", -5), (";;;@", 5)],
)
def test_a_value_that_its_format_hides_is_left_out_and_counted(form: str, value: object) -> None:
    book = make_sheet([["Weight", value]], title="Sheet1")
    book.active["B1"].number_format = form
    parsed = parse(save_book(book))
    assert parsed.text == "Weight"
    assert "hidden or struck-through text left out in 1 place" in parsed.unread


def test_comments_are_not_read() -> None:
    book = make_sheet([["Fee", 40]], title="Sheet1")
    book.active["B1"].comment = Comment("should be 50?", "Ada")
    assert read_lines(save_book(book)) == ["Fee | 40"]


def test_strict_workbooks_are_read() -> None:
    book = make_sheet([["Service", "Fee"], ["Skip", 40]])
    strict = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(save_book(book))) as archive, zipfile.ZipFile(strict, "w") as z:
        for name in archive.namelist():
            part = archive.read(name).decode()
            for old in ("officeDocument", "spreadsheetml", "drawingml"):
                part = part.replace(
                    f"http://schemas.openxmlformats.org/{old}/2006/",
                    f"http://purl.oclc.org/ooxml/{old}/",
                )
            z.writestr(name, part)
    assert read_lines(strict.getvalue())[-1] == "Service: Skip | Fee: 40"


def test_raised_digits_are_kept_apart_from_the_number_before() -> None:
    raised = TextBlock(InlineFont(vertAlign="superscript"), "6")
    lowered = TextBlock(InlineFont(vertAlign="subscript"), "2")
    book = make_sheet([["Tank", CellRichText("10", raised, " litres of H", lowered, "O")]])
    assert read_lines(save_book(book))[-1] == "Tank | 10^6 litres of H2O"
