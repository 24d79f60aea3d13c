import pytest

from fathom.documents.formats.html import parse

BOX = '<input type="checkbox">'
TICKED = '<input type="checkbox" checked="" disabled>'


def read_text(page: str) -> str:
    return parse(page.encode()).text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (f"<ul><li>{TICKED} Paid</li><li>{BOX} Signed</li></ul>", "- ☒ Paid\n- ☐ Signed"),
        (f"<ul><li><label>{TICKED}Paid</label></li></ul>", "- ☒ Paid"),
        (f"<ul><li><p>{BOX} Paid</p></li></ul>", "- ☐ Paid"),
        (f"<table><tr><td>{TICKED}</td><td>Paid</td></tr></table>", "☒ | Paid"),
        (f"<div>{BOX}<p>Menu</p></div>", "Menu"),  # a switch of the page's style
        (f"<ul><li><a>Chapter</a>{BOX}</li></ul>", "- Chapter"),
        ('<ul><li><input type="radio" checked> Tab</li></ul>', "- Tab"),
    ],
)
def test_boxes_of_items_and_cells_show_whether_they_are_ticked(page: str, text: str) -> None:
    assert read_text(page) == text


@pytest.mark.parametrize("kind", ['epub:type="noteref"', 'role="doc-noteref"'])
def test_numbers_of_notes_are_no_digits_of_a_number(kind: str) -> None:
    mark = f'<a href="#n1" {kind}>2</a>'
    assert read_text(f"<p>It costs 40{mark}.</p>") == "It costs 40[2]."
    assert read_text(f"<p>It costs 40<sup>{mark}</sup>.</p>") == "It costs 40[2]."
    assert read_text(f"<p>It costs{mark.replace('2', ' more')}.</p>") == "It costs more."


def test_links_back_from_notes_are_dropped() -> None:
    back = '<a href="ch1.xhtml#r1">\u21a9\ufe0e</a>'
    other = '<a href="#r2">\u21a9<sup>2</sup></a>'
    assert read_text(f"<p>Without tax. {back} {other} See.</p>") == "Without tax. See."
    arrow = '<a href="/back">\u21a9</a>'
    assert read_text(f"<p>Press {arrow} now.</p>") == "Press \u21a9 now."


def test_classes_and_styles_raise_lower_and_strike_spans() -> None:
    sheet = (
        "<style>.c1{font-size:7pt;vertical-align:super}.c2{text-decoration:line-through}</style>"
    )
    page = (
        f'{sheet}<p>10<span class="c0 c1">6</span> litres,'
        ' 5<span style="vertical-align: sub">2</span>'
        ' at <span class="c2">25</span> 30<span class="c3">7</span> crowns</p>'
    )
    parsed = parse(page.encode())
    assert parsed.text == "10^6 litres, 5_2 at 307 crowns"
    assert parsed.unread == "hidden or struck-through text left out in 1 place"


def test_all_authors_of_a_page_are_read() -> None:
    names = (
        '<meta name="author" content="Ada"><meta name="author" content="Bo"><meta name="author">'
    )
    link = '<meta property="article:author" content="https://example.org/ada">'
    assert parse(f"{names}{link}<p>Text</p>".encode()).metadata == {"author": "Ada; Bo"}
