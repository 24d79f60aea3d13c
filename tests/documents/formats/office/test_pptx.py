import io
import zipfile

import pytest

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.formats.office.pptx import parse

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
D = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
SPACES = f'xmlns:a="{A}" xmlns:p="{P}" xmlns:r="{R}" xmlns:c="{C}" xmlns:d="{D}"'
RELS = "http://schemas.openxmlformats.org/package/2006/relationships"


def make_relations(links: dict[str, tuple[str, str]]) -> str:
    items = "".join(
        f'<Relationship Id="{mark}" Type="{R}/{kind}" Target="{target}"/>'
        for mark, (kind, target) in links.items()
    )
    return f'<Relationships xmlns="{RELS}">{items}</Relationships>'


def make_package(
    slides: list[str],
    order: list[int] | None = None,
    parts: dict[str, str] | None = None,
    links: dict[str, tuple[str, str]] | None = None,
) -> bytes:
    """Return a presentation; `links` are those of the first slide."""
    order = order or list(range(len(slides)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        ids = "".join(f'<p:sldId id="{256 + at}" r:id="r{at}"/>' for at in order)
        show = f"<p:presentation {SPACES}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
        archive.writestr("ppt/presentation.xml", show)
        targets = {f"r{at}": ("slide", f"slides/s{at}.xml") for at in range(len(slides))}
        archive.writestr("ppt/_rels/presentation.xml.rels", make_relations(targets))
        for at, inner in enumerate(slides):
            tree = f"<p:cSld><p:spTree>{inner}</p:spTree></p:cSld>"
            archive.writestr(f"ppt/slides/s{at}.xml", f"<p:sld {SPACES}>{tree}</p:sld>")
        archive.writestr("ppt/slides/_rels/s0.xml.rels", make_relations(links or {}))
        for name, text in (parts or {}).items():
            archive.writestr(name, text)
    return buffer.getvalue()


def make_line(text: str, properties: str = "") -> str:
    return f"<a:p><a:pPr>{properties}</a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>"


def make_shape(*lines: str, role: str = "", at: tuple[int, int] | None = None) -> str:
    holder = f'<p:ph type="{role}"/>' if role else ""
    place = f'<a:xfrm><a:off x="{at[0]}" y="{at[1]}"/></a:xfrm>' if at else ""
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:spPr>{place}</p:spPr>"
        f"<p:txBody>{''.join(lines)}</p:txBody></p:sp>"
    )


def describe_blocks(parsed: ParsedDocument) -> list[tuple[int | None, str, str]]:
    return [(b.page, b.kind, b.span.cut(parsed.text)) for b in parsed.blocks]


def test_slides_are_in_order_with_their_titles_first() -> None:
    shapes = make_shape(make_line("Body one"), role="body") + make_shape(
        make_line("One"), role="title"
    )
    two = make_shape(make_line("Two"), role="ctrTitle") + make_shape(make_line("7"), role="sldNum")
    parsed = parse(make_package([shapes, two], order=[1, 0]))
    assert describe_blocks(parsed) == [
        (1, "heading", "Two"),
        (2, "heading", "One"),
        (2, "paragraph", "Body one"),
    ]
    assert parsed.title == "Two"


def test_free_shapes_are_read_from_top_to_bottom_and_left_to_right() -> None:
    slide = (
        make_shape(make_line("right"), at=(9_000_000, 1_000_100))
        + make_shape(make_line("low"), at=(0, 4_000_000))
        + f"<p:grpSp>{make_shape(make_line('left'), at=(0, 0))}<p:grpSpPr><a:xfrm>"
        + '<a:off x="0" y="1000000"/></a:xfrm></p:grpSpPr></p:grpSp>'
    )
    assert parse(make_package([slide])).text == "left\n\nright\n\nlow"


def test_a_slide_without_title_does_not_belong_to_the_slide_before() -> None:
    parsed = parse(
        make_package([make_shape(make_line("One"), role="title"), make_shape(make_line("alone"))])
    )
    assert parsed.blocks[-1].headings == ("Slide 2",)


def test_list_labels_are_read() -> None:
    number = '<a:buAutoNum type="alphaLcParenR"/>'
    free = make_shape(
        make_line("x", number), make_line("y", number), make_line("z", '<a:buChar char="*"/>')
    )
    body = make_shape(make_line("p"), make_line("q", "<a:buNone/>"), role="body")
    assert parse(make_package([free + body])).text == "a) x\nb) y\n- z\n- p\n\nq"


def test_tables_show_merged_cells_once() -> None:
    def make_cell(text: str, merge: str = "") -> str:
        return f"<a:tc {merge}><a:txBody>{make_line(text)}</a:txBody></a:tc>"

    top = make_cell("Both", "gridSpan='2'") + make_cell("Both", "hMerge='1'") + make_cell("c")
    low = make_cell("x", "vMerge='1'") + make_cell("d") + make_cell("e")
    last = make_cell("f") + make_cell("g", "gridSpan='2'") + make_cell("g", "hMerge='1'")
    rows = f"<a:tr>{top}</a:tr><a:tr>{low}</a:tr><a:tr>{last}</a:tr>"
    parsed = parse(make_package([f"<p:graphicFrame><a:tbl>{rows}</a:tbl></p:graphicFrame>"]))
    assert parsed.text == "Both |  | c\n| d | e\nf | g"


def test_a_cell_of_a_table_is_repeated_in_each_row_that_it_spans() -> None:
    def make_cell(text: str, merge: str = "") -> str:
        return f"<a:tc {merge}><a:txBody>{make_line(text)}</a:txBody></a:tc>"

    rows = [
        make_cell("Area") + make_cell("Item") + make_cell("Fee"),
        make_cell("North", "rowSpan='2'") + make_cell("boat") + make_cell("1", "rowSpan='2'"),
        make_cell("", "vMerge='1'") + make_cell("ship") + make_cell("", "vMerge='1'"),
        make_cell("Both", "rowSpan='2' gridSpan='2'")
        + make_cell("", "hMerge='1'")
        + make_cell("3"),
        make_cell("", "vMerge='1'") + make_cell("", "hMerge='1' vMerge='1'") + make_cell("4"),
    ]
    table = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    parsed = parse(make_package([f"<p:graphicFrame><a:tbl>{table}</a:tbl></p:graphicFrame>"]))
    assert parsed.text.split("\n") == [
        "Area | Item | Fee",
        "North | boat | 1",
        "North | ship | 1",
        "Both |  | 3",
        "Both |  | 4",
    ]


def test_charts_and_diagrams_give_their_words() -> None:
    series = (
        "<c:ser><c:tx><c:v>Visits</c:v></c:tx>"
        '<c:cat><c:pt idx="0"><c:v>2023</c:v></c:pt><c:pt idx="1"><c:v>2024</c:v></c:pt></c:cat>'
        '<c:val><c:pt idx="0"><c:v>4.0</c:v></c:pt><c:pt idx="1"><c:v>5.5</c:v></c:pt></c:val>'
        "</c:ser>"
    )
    title = f"<c:title><c:tx>{make_line('Library')}</c:tx></c:title>"
    chart = f"<c:chartSpace {SPACES}><c:chart>{title}{series}</c:chart></c:chartSpace>"
    points = "".join(f"<d:pt><d:t>{make_line(word)}</d:t></d:pt>" for word in ("Ask", "Borrow"))
    model = f"<d:dataModel {SPACES}>{points}</d:dataModel>"
    frames = (
        '<p:graphicFrame><c:chart r:id="c"/></p:graphicFrame>'
        '<p:graphicFrame><d:relIds r:lo="l" r:dm="d"/></p:graphicFrame>'
    )
    data = make_package(
        [frames],
        parts={
            "ppt/chart.xml": chart,
            "ppt/data.xml": model,
        },
        links={"c": ("chart", "../chart.xml"), "d": ("diagramData", "../data.xml")},
    )
    expected = "Library\n\n2023 | Visits: 4\n2024 | Visits: 5.5\n\n- Ask\n- Borrow"
    assert parse(data).text == expected


def test_notes_follow_the_slide() -> None:
    notes = make_shape(make_line("Say this"), role="body") + make_shape(
        make_line("1"), role="sldNum"
    )
    data = make_package(
        [make_shape(make_line("RoundEvidence"))],
        parts={"ppt/notes.xml": f"<p:notes {SPACES}>{notes}</p:notes>"},
        links={"n": ("notesSlide", "../notes.xml")},
    )
    assert parse(data).text == "RoundEvidence\n\nSay this"


def test_pictures_without_text_need_ocr() -> None:
    with pytest.raises(ParseRefusal) as refused:
        parse(make_package([""], parts={"ppt/media/image1.png": "x"}))
    assert refused.value.outcome == "no_text_layer"


def make_placed(text: str, *, at: tuple[int, int] = (0, 0), run: str = "", shape: str = "") -> str:
    """Return a shape of 1,000 by 1,000 units with one run."""
    place = f'<a:xfrm><a:off x="{at[0]}" y="{at[1]}"/><a:ext cx="1000" cy="1000"/></a:xfrm>'
    body = f"<a:p><a:r>{run}<a:t>{text}</a:t></a:r></a:p>"
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"{shape}/></p:nvSpPr><p:spPr>{place}</p:spPr>'
        f"<p:txBody>{body}</p:txBody></p:sp>"
    )


@pytest.mark.parametrize(
    "hidden",
    [
        make_placed("secret", shape=' hidden="1"'),
        make_placed("secret", at=(-2_000, 0)),
        make_placed("secret", at=(0, -1_000)),
        make_placed("secret", at=(9_144_000, 0)),
        make_placed("secret", at=(0, 99_000_000)),
        make_placed("secret", run='<a:rPr sz="100"/>'),
        make_placed("secret", run="<a:rPr><a:noFill/></a:rPr>"),
        make_placed(
            "secret",
            run='<a:rPr><a:solidFill><a:srgbClr val="000000"><a:alpha val="0"/></a:srgbClr>'
            "</a:solidFill></a:rPr>",
        ),
    ],
)
def test_text_that_no_reader_of_a_slide_sees_is_left_out_and_reported(hidden: str) -> None:
    parsed = parse(make_package([make_placed("The fee is 9 crowns.") + hidden]))
    assert parsed.text == "The fee is 9 crowns."
    assert parsed.unread == "hidden or struck-through text left out in 1 place"


@pytest.mark.parametrize(
    "shown",
    [
        make_placed("and 8", at=(-999, 0)),
        make_placed("and 8", run='<a:rPr sz="600"/>'),
        make_placed(
            "and 8", run='<a:rPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill></a:rPr>'
        ),
        make_placed("and 8", run="<a:rPr><a:ln/><a:noFill/></a:rPr>"),
    ],
)
def test_text_that_a_reader_of_a_slide_may_see_stays(shown: str) -> None:
    parsed = parse(make_package([make_placed("The fee is 9 crowns.") + shown]))
    assert "and 8" in parsed.text
    assert parsed.unread == ""


def test_raised_figures_are_no_digits_of_the_number_before_them() -> None:
    runs = '<a:p><a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r></a:p>'
    parsed = parse(make_package([make_shape(runs)]))
    assert parsed.text == "10^6"


def test_soft_hyphens_part_no_word() -> None:
    runs = "<a:p><a:r><a:t>Wald\u00ad</a:t></a:r><a:r><a:t>weg</a:t></a:r></a:p>"
    assert parse(make_package([make_shape(runs)])).text == "Waldweg"


def test_struck_text_is_left_out() -> None:
    line = (
        '<a:p><a:r><a:t>Fee: </a:t></a:r><a:r><a:rPr strike="sngStrike"/><a:t>10 </a:t></a:r>'
        '<a:r><a:rPr strike="noStrike"/><a:t>12 crowns</a:t></a:r></a:p>'
    )
    slide = make_shape(line, role="title") + make_shape(line)
    assert parse(make_package([slide])).text == "Fee: 12 crowns\n\nFee: 12 crowns"


def test_struck_text_of_notes_is_left_out() -> None:
    line = (
        '<a:p><a:r><a:t>Say </a:t></a:r><a:r><a:rPr strike="sngStrike"/><a:t>ten </a:t></a:r>'
        "<a:r><a:t>twelve</a:t></a:r></a:p>"
    )
    notes = make_shape(line, role="body", at=(99_000_000, 0))
    data = make_package(
        [make_shape(make_line("Fees"))],
        parts={"ppt/notes.xml": f"<p:notes {SPACES}>{notes}</p:notes>"},
        links={"n": ("notesSlide", "../notes.xml")},
    )
    parsed = parse(data)
    assert parsed.text == "Fees\n\nSay twelve"
    assert parsed.unread == "hidden or struck-through text left out in 1 place"
