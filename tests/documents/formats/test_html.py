import pytest

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.formats.html import parse


def describe_blocks(html: str) -> list[tuple[str, str]]:
    return list_blocks(parse(html.encode()))


def list_blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, block.span.cut(parsed.text)) for block in parsed.blocks]


def test_headings_paragraphs_and_title_are_read() -> None:
    parsed = parse(
        b"<html><head><title>The  page</title><meta name=author content='A. B.'></head><body>"
        b"<h1>Top</h1><p>One <b>bold</b>\n word.</p><h2>Sub</h2>Two<br>lines</body></html>"
    )
    assert parsed.title == "The page"
    assert parsed.metadata == {"author": "A. B."}
    assert list_blocks(parsed) == [
        ("heading", "Top"),
        ("paragraph", "One bold word."),
        ("heading", "Sub"),
        ("paragraph", "Two\nlines"),
    ]
    assert parsed.blocks[3].headings == ("Top", "Sub")


@pytest.mark.parametrize(
    "rest",
    ["<p>more</p>", "<html><body><p>more</p></body></html>", "<!-- x -->more<script>no</script>"],
)
def test_text_after_the_end_of_a_page_is_read(rest: str) -> None:
    page = f"<html><body><p>page</p><i style='color:white'>no</i></body></html>{rest}"
    assert parse(page.encode()).text == "page\n\nmore"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>Fee: <s>10 </s>12 crowns", "Fee: 12 crowns"),
        ("<p>Fee: <del>10</del> <ins>12</ins>", "Fee: 12"),
        ("<p>a <strike>b <b>c <s>d</s></b></strike>e", "a e"),
        ("<p>a <span style='text-decoration: line-through'>b</span>", "a"),
        ("<del><p>One.</p><p>Two.</p></del>Three.", "Three."),
    ],
)
def test_struck_text_is_left_out_and_reported(page: str, text: str) -> None:
    parsed = parse(page.encode())
    assert (parsed.text, parsed.unread) == (
        text,
        "hidden or struck-through text left out in 1 place",
    )


def test_numbered_and_nested_lists_are_read() -> None:
    html = "<ol start=3><li>Three<ul><li>inner</li></ul></li><li><p>Four</p></li></ol>"
    assert describe_blocks(html) == [
        ("list_item", "3. Three"),
        ("list_item", "- inner"),
        ("list_item", "4. Four"),
    ]


def test_lettered_lists_are_read() -> None:
    assert describe_blocks("<ol type=a><li>x<li>y</ol>") == [
        ("list_item", "a. x"),
        ("list_item", "b. y"),
    ]


def test_items_have_the_numbers_that_they_state() -> None:
    html = "<ol><li>x<li value=7>y<li>z</ol><ol type=i start=3><li>x<li>y</ol><ol type=I><li>z</ol>"
    assert [text for _, text in describe_blocks(html)] == [
        *("1. x", "7. y", "8. z"),
        *("iii. x", "iv. y", "I. z"),
    ]


def test_tables_are_read_row_by_row_and_code_as_code() -> None:
    html = "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2<br>3</td></tr></table>"
    assert describe_blocks(html + "<pre>if x:\n    y</pre>") == [
        ("table_head", "A | B"),
        ("table_row", "1 | 2 3"),
        ("code", "if x:\n    y"),
    ]


def test_a_cell_of_several_columns_or_rows_stands_in_each_of_its_rows() -> None:
    html = (
        "<table><tr><th>City<th>Item<th>Fee<tr><td rowspan=2>Rome<td>Skip<td>10<tr><td>Permit<td>20"
        "<tr><td colspan=2>Total<td>30<tr><td>Bonn<td colspan=2>none</table>"
        "<table><tr><td>1<td>2<tbody><tr><td rowspan=0>A<td>b<tr><td>c<tbody><tr><td>d</table>"
    )
    assert [text for _, text in describe_blocks(html)] == [
        "City | Item | Fee",
        "Rome | Skip | 10",
        "Rome | Permit | 20",
        "Total |  | 30",
        "Bonn | none",
        *("1 | 2", "A | b", "A | c", "d"),
    ]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (
            "<tr><th rowspan=2>Area<th colspan=2>2021<tr><th>Q1<th>Q2<tr><td>North<td>1<td>2",
            ["Area | 2021", "Area | Q1 | Q2", "North | 1 | 2"],
        ),
        (
            "<tr><th>Item<th>Fee<th>Note<tr><td>Skip<td>10<td rowspan=3>late<tr><td>Bin"
            "<tr><td><td>",
            ["Item | Fee | Note", "Skip | 10 | late", "Bin |  | late"],
        ),
        ("<tr><td rowspan=2>Rome<td>ten<tr><td>20", ["Rome | ten", "| 20"]),
        ("<tr><td rowspan=2>Rome<td>10<tr><td>20", ["Rome | 10", "Rome | 20"]),
        (
            "<thead><tr><td>Town<td>Fee<tbody><tr><td rowspan=2>Rome<td>ten<tr><td>20",
            ["Town | Fee", "Rome | ten", "Rome | 20"],
        ),
        (
            f"<tr><th>A<th>B<tr><td rowspan=2>{'x' * 61}<td>1<tr><td>2",
            ["A | B", f"{'x' * 61} | 1", "| 2"],
        ),
        (
            "<tr><th>A<th>B<tr><td rowspan=2 colspan=2>both<td>1<tr><td>2",
            ["A | B", "both |  | 1", "both |  | 2"],
        ),
    ],
)
def test_a_cell_that_spans_rows_names_each_of_them(table: str, rows: list[str]) -> None:
    assert [text for _, text in describe_blocks(f"<table>{table}</table>")] == rows


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>evil</script>",
        "<style>evil</style>",
        "<template>evil</template>",
        "<!-- evil -->",
        "<div style='display: none'>evil</div>",
        "<div style='VISIBILITY:hidden'>evil</div>",
        "<span style='font-size:0'>evil</span>",
        "<span style='font-size:0px'>evil</span>",
        "<p hidden>evil</p>",
        "<p aria-hidden=true>evil</p>",
        "<noscript>evil</noscript>",
        "<nav>evil</nav>",
        "<svg><text>evil</text></svg>",
        "<table><tr><td hidden>evil</td></tr></table>",
        "<h2><span style='display:none'>evil</span></h2>",
        "<p style='font-size:0.9em'></p>",
    ],
)
def test_invisible_text_is_dropped(hidden: str) -> None:
    assert parse(f"<p>seen</p>{hidden}<p>too</p>".encode()).text == "seen\n\ntoo"


@pytest.mark.parametrize(
    "style",
    [
        *("font-size:1px", "font-size: 1pt", "font-size:.1em", "font-size:2px !important"),
        *("opacity:0.01", "opacity: 1%", "position:absolute;left:-9999px"),
        *("position:fixed; top:-200em", "text-indent:-9999px", "margin-left:-5000px"),
        *("clip-path: inset(50%)", "position:absolute;clip:rect(0,0,0,0)"),
        *("width:1px;height:1px;overflow:hidden", "max-height:0;overflow:hidden"),
        *("color:white", "color:#fff", "COLOR: #FEFEFE", "color:rgb(255, 255, 255)"),
        *("color:transparent", "color:rgba(0,0,0,0)", "color:#123;background:#112233"),
    ],
)
def test_text_that_is_drawn_but_not_seen_is_left_out_and_reported(style: str) -> None:
    page = f"<p>seen</p><p>al<b style='{style}'>evil <i>words</i></b>so</p><p style='{style}'>x</p>"
    parsed = parse(page.encode())
    assert parsed.text == "seen\n\nalso"
    assert parsed.unread == "hidden or struck-through text left out in 2 places"


@pytest.mark.parametrize(
    "page",
    [
        "<p style='font-size:8px;opacity:0.6;color:#333'>seen</p>",
        "<div style='background:#003'><p style='color:white'>seen</p></div>",
        "<table><tr bgcolor=navy><td style='color:#fff'>seen</td></tr></table>",
        "<div class=banner><b style='color:#fff'>seen</b></div>",
        "<style>p { background: navy }</style><p style='color:white'>seen</p>",
        "<link rel=stylesheet href=a.css><p style='color:white'>seen</p>",
        "<p style='position:absolute;left:-5px;text-indent:-2em'>seen</p>",
        "<div style='overflow:hidden;width:100%;height:0.5em'>seen</div>",
        "<p style='color:#fff;background:#000'>seen</p>",
    ],
)
def test_text_that_may_be_seen_is_read(page: str) -> None:
    parsed = parse(page.encode())
    assert (parsed.text, parsed.unread) == ("seen", "")


def test_small_print_is_read() -> None:
    assert parse(b"<p style='font-size:0.9em'>small</p>").text == "small"


@pytest.mark.parametrize("page", ["<b>" * 3_000 + "x", "<i></i>" * 250_000, "<option>" * 500_000])
def test_pages_built_to_exhaust_the_parser_are_refused(page: str) -> None:
    with pytest.raises(ParseRefusal, match="tags") as refusal:
        parse(page.encode())
    assert refusal.value.outcome == "failed"


def test_deep_nesting_below_the_limit_is_read() -> None:
    assert "word" in parse(("<div>" * 200 + "word" + "</div>" * 200).encode()).text


@pytest.mark.parametrize("page", ["<html></html>", "<!-- only a comment -->", "<p> </p>"])
def test_page_without_text_is_empty(page: str) -> None:
    with pytest.raises(ParseRefusal) as refusal:
        parse(page.encode())
    assert refusal.value.outcome == "empty"


def test_terms_are_read_with_their_definitions() -> None:
    terms = "<dt>void<dd>Nothing.<dt>int</dt><dt>long</dt><dd><p>A number.</p><dt>odd"
    assert describe_blocks(f"<p>Types:</p><dl>{terms}</dl>x") == [
        ("paragraph", "Types:"),
        ("list_item", "void: Nothing."),
        ("list_item", "int, long: A number."),
        ("list_item", "odd"),
        ("paragraph", "x"),
    ]


def test_cells_without_a_row_are_a_row() -> None:
    html = "<table><td>Port<td>Fee<tr><td>Aldby<td>12<tbody><th>Merrow</th> <td>14</table>"
    assert [text for _, text in describe_blocks(html)] == [
        "Port | Fee",
        "Aldby | 12",
        "Merrow | 14",
    ]


def test_rows_of_a_table_head_name_the_columns() -> None:
    html = "<table><thead><tr><td>Port<td>Kind</thead><tbody><tr><td>Aldby<td>sea</table>"
    assert describe_blocks(html) == [("table_head", "Port | Kind"), ("table_row", "Aldby | sea")]


def test_readings_beside_letters_are_left_out() -> None:
    assert describe_blocks(
        "<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>の港</p>"
    ) == [("paragraph", "東京の港")]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("10<sup>6</sup>/ml or <b>10</b><sup><i>&minus;6</i></sup>", "10^6/ml or 10^\u22126"),
        ("1010<sub>2</sub>, m<sup>2</sup>, CO<sub>2</sub>, 1<sup>st</sup>", "1010_2, m2, CO2, 1st"),
        ("5<sup>1</sup>/<sub>2</sub> cups", "5 1/2 cups"),
        ("40<a href='#n'><sup>1</sup></a>; 50<sup><a href='#n'>2</a></sup>", "40[1]; 50[2]"),
        ("Merrow<sup>1</sup>; <a href='/x#y'>10<sup>9</sup></a>", "Merrow^1; 10^9"),
        ("<h2>2<sup>10</sup></h2>", "2^10"),
        ("<table><tr><td>4<td><sup>1</sup>/<sub>2</sub></table>", "4 | 1/2"),
        ("40<br><sup>1</sup> a note", "40\n1 a note"),
    ],
)
def test_raised_and_lowered_figures_are_no_digits_of_the_number_before_them(
    html: str, text: str
) -> None:
    assert parse(f"<div>{html}</div>".encode()).text == text


def test_soft_hyphens_part_no_words() -> None:
    html = "<p>Donau&shy;schiff</p><table><tr><td>Wald&shy;weg</table><pre>a&shy;b</pre>"
    assert parse(html.encode()).text == "Donauschiff\n\nWaldweg\n\nab"
