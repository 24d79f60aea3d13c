from itertools import count

from fathom.documents.base import Builder
from fathom.documents.formats.pdf.layout import add_pages
from fathom.documents.formats.pdf.lines import PageLines
from fathom.documents.ocr.reading_order import Segment, build_lines


def at(left: float, top: float, text: str, *, width: float = 0, sure: float = 1.0) -> Segment:
    right = left + (width or 12 * len(text))
    return Segment(text=text, sure=sure, left=left, right=right, top=top, bottom=top + 36)


def texts(*segments: Segment) -> list[str]:
    return [line.text for line in build_lines(segments)]


def test_no_segment_no_line() -> None:
    assert build_lines([]) == ()


def test_lines_come_from_the_top_and_their_pieces_from_the_left() -> None:
    found = texts(at(500, 102, "right"), at(100, 200, "below"), at(100, 100, "left"))
    assert found == ["left right", "below"]


def column(left: float, word: str, lines: int = 6, top: float = 200) -> list[Segment]:
    return [
        at(left, top + 50 * n, f"{word} {n} runs over the whole column", width=500)
        for n in range(lines)
    ]


def test_columns_of_prose_are_read_one_after_the_other_below_their_title() -> None:
    title = at(100, 100, "A title that stands across both of the columns", width=1000)
    foot = at(100, 560, "And a line below that stands across them, too", width=1000)
    mixed = [each for pair in zip(column(100, "a"), column(640, "b"), strict=True) for each in pair]
    found = texts(foot, *mixed, title)
    assert found[0].startswith("A title")
    assert [line[0] for line in found[1:-1]] == ["a"] * 6 + ["b"] * 6
    assert found[-1].startswith("And")


def test_short_texts_side_by_side_are_cells_of_rows() -> None:
    rows = [("Item", "Fee"), ("Ferry", "12"), ("Mooring", "40"), ("Storage", "7")]
    tops = count(100, 50)
    segments = [
        at(left, top, text)
        for row, top in zip(rows, tops, strict=False)
        for left, text in zip((100, 600), row, strict=True)
    ]
    lines = build_lines(segments)
    assert [tuple(cell.text for cell in line.cells) for line in lines] == rows
    builder = Builder()
    add_pages(builder, [PageLines(number=1, lines=lines)])
    parsed = builder.build()
    assert parsed.text == "Item | Fee\nFerry | 12\nMooring | 40\nStorage | 7"
    assert {block.recognised for block in parsed.blocks} == {1.0}


def test_a_line_is_as_sure_as_its_letters_on_average() -> None:
    (line,) = build_lines([at(100, 100, "aaaa", sure=0.9), at(160, 100, "bb", sure=0.6)])
    assert line.sure is not None
    assert abs(line.sure - 0.8) < 1e-9


def test_high_frames_are_large_letters_and_small_differences_are_none() -> None:
    body = [at(100, 200 + 50 * n, "A line of the body text") for n in range(5)]
    high = Segment(text="Title", sure=1, left=100, right=300, top=100, bottom=160)
    lower = Segment(
        text="a line with low letters", sure=1, left=100, right=400, top=500, bottom=530
    )
    assert [line.size for line in build_lines([high, *body, lower])] == [17.5, *[10.0] * 6]
