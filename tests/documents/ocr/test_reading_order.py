from itertools import count

from fathom.documents.base import Builder
from fathom.documents.formats.pdf.layout import add_pages
from fathom.documents.formats.pdf.lines import PageLines
from fathom.documents.ocr.reading_order import Segment, build_lines


def make_segment(
    left: float, top: float, text: str, *, width: float = 0, sure: float = 1.0
) -> Segment:
    right = left + (width or 12 * len(text))
    return Segment(text=text, sure=sure, left=left, right=right, top=top, bottom=top + 36)


def read_texts(*segments: Segment) -> list[str]:
    return [line.text for line in build_lines(segments)]


def test_no_segment_gives_no_line() -> None:
    assert build_lines([]) == ()


def test_lines_are_ordered_from_the_top_and_their_pieces_from_the_left() -> None:
    ordered = read_texts(
        make_segment(500, 102, "right"),
        make_segment(100, 200, "below"),
        make_segment(100, 100, "left"),
    )
    assert ordered == ["left right", "below"]


def make_column(left: float, word: str, lines: int = 6, top: float = 200) -> list[Segment]:
    return [
        make_segment(left, top + 50 * n, f"{word} {n} runs over the whole column", width=500)
        for n in range(lines)
    ]


def test_columns_of_prose_are_read_one_after_the_other_below_their_title() -> None:
    title = make_segment(100, 100, "A title that stands across both of the columns", width=1000)
    foot = make_segment(100, 560, "And a line below that stands across them, too", width=1000)
    mixed = [
        segment
        for pair in zip(make_column(100, "a"), make_column(640, "b"), strict=True)
        for segment in pair
    ]
    ordered = read_texts(foot, *mixed, title)
    assert ordered[0].startswith("A title")
    assert [line[0] for line in ordered[1:-1]] == ["a"] * 6 + ["b"] * 6
    assert ordered[-1].startswith("And")


def test_short_texts_side_by_side_are_cells_of_rows() -> None:
    rows = [("Item", "Fee"), ("Ferry", "12"), ("Mooring", "40"), ("Storage", "7")]
    tops = count(100, 50)
    segments = [
        make_segment(left, top, text)
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


def test_the_confidence_of_a_line_is_the_mean_over_its_letters() -> None:
    (line,) = build_lines(
        [make_segment(100, 100, "aaaa", sure=0.9), make_segment(160, 100, "bb", sure=0.6)]
    )
    assert line.sure is not None
    assert abs(line.sure - 0.8) < 1e-9


def test_high_frames_are_large_letters_and_small_differences_are_ignored() -> None:
    body = [make_segment(100, 200 + 50 * n, "A line of the body text") for n in range(5)]
    high = Segment(text="Title", sure=1, left=100, right=300, top=100, bottom=160)
    lower = Segment(
        text="a line with low letters", sure=1, left=100, right=400, top=500, bottom=530
    )
    assert [line.size for line in build_lines([high, *body, lower])] == [17.5, *[10.0] * 6]
