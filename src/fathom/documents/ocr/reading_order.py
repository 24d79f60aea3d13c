"""Lines of a page from recognised segments of text, in the order in which a person reads them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from fathom.documents.formats.pdf.lines import PdfCell, PrintedLine

_BODY_POINTS = 10.0  # assumed size of most lines of a page
_LINE_POINTS = 14.0  # height of the frame of such a line
_LARGER = 1.3  # times the body: below it, frames differ only by letters that stick out
_SAME_ROW = 0.5  # times the height: largest distance of the middles of segments in a line
_CELL_GAP = 0.7  # times the height: a wider gap separates the cells of a row
_GUTTER = 0.4  # times the height: least gap between two columns of prose
_PROSE_CHARS = 20  # least length of the median line of a column
_PROSE_FULL = 0.6  # least share of a column's width under its median line
_FEWEST_LINES = 3  # of a column
_MOST_ACROSS = 0.3  # most of the segments that may cross a gutter, as titles and figures do


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Words that were recognised together, in a frame.

    The places are in pixels from the top left of the upright page.

    Attributes:
        text: The words; not empty.
        sure: The sureness of the recognition in [0, 1].
        left: The left edge of the frame.
        top: The upper edge.
        right: The right edge.
        bottom: The lower edge.
    """

    text: str
    sure: float
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """The height of the frame."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The vertical middle of the frame."""
        return (self.top + self.bottom) / 2


def build_lines(segments: Sequence[Segment]) -> tuple[PrintedLine, ...]:
    """Return the lines of a page, column by column; segments with a gap between become cells.

    Args:
        segments: The segments of the page, in any order.
    """
    if not segments:
        return ()
    body = median(segment.height for segment in segments for _ in segment.text)
    ordered = (row for region in _split_regions(segments, body) for row in _group_rows(region))
    return tuple(_build_line(row, body) for row in ordered)


def _split_regions(segments: Sequence[Segment], body: float) -> Iterator[Sequence[Segment]]:
    """Yield the regions of a page in reading order; each of them is read row by row.

    Args:
        segments: The segments of the page, or of a part of it.
        body: The height of most lines of the page, in pixels.
    """
    gutter = _find_gutter(segments, body)
    if gutter is None:
        yield segments
        return
    across = sorted(
        (segment for segment in segments if segment.left < gutter < segment.right),
        key=lambda segment: segment.middle,
    )
    rest = [segment for segment in segments if segment not in across]
    above: list[Segment] = []
    for title in [*across, None]:
        end = title.middle if title else float("inf")
        band = [segment for segment in rest if segment.middle < end]
        rest = [segment for segment in rest if segment.middle >= end]
        left = [segment for segment in band if segment.right <= gutter]
        sides = left, [segment for segment in band if segment.left >= gutter]
        if all(sides):
            yield above
            above = []
            for side in sides:
                yield from _split_regions(side, body)
        else:
            above += band
        above += [title] if title else []
    yield above


def _find_gutter(segments: Sequence[Segment], body: float) -> float | None:
    """Return the place between two columns of prose; `None` if the region has only one."""
    best: tuple[int, float] | None = None
    best_gutter = None
    for left_end in sorted({segment.right for segment in segments}):
        right = [segment for segment in segments if segment.left >= left_end]
        if len(right) < _FEWEST_LINES:
            break
        right_start = min(segment.left for segment in right)
        gutter = (left_end + right_start) / 2
        left = [segment for segment in segments if segment.right <= gutter]
        across = len(segments) - len(left) - len(right)
        wide = right_start - left_end
        if wide < _GUTTER * body or across > _MOST_ACROSS * len(segments):
            continue
        rank = across, -wide
        if (best is None or rank < best) and _is_prose(left) and _is_prose(right):
            best, best_gutter = rank, gutter
    return best_gutter


def _is_prose(column: Sequence[Segment]) -> bool:
    """Return whether a column is running text: long lines, most of them as wide as the column."""
    if len(_group_rows(column)) < _FEWEST_LINES:
        return False
    width = max(segment.right for segment in column) - min(segment.left for segment in column)
    full = median(segment.right - segment.left for segment in column) >= _PROSE_FULL * width
    return full and median(len(segment.text) for segment in column) >= _PROSE_CHARS


def _group_rows(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Group segments of about one height to rows, from the top; each row from left to right."""
    rows: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda item: item.middle):
        above = rows[-1][-1] if rows else None
        near = above and segment.middle - above.middle < _SAME_ROW * min(
            above.height, segment.height
        )
        if near:
            rows[-1].append(segment)
        else:
            rows.append([segment])
    return [sorted(row, key=lambda item: item.left) for row in rows]


def _build_line(row: Sequence[Segment], body: float) -> PrintedLine:
    """Build the line of a row; its places are scaled so that most lines are of usual height."""
    scale = _LINE_POINTS / body
    cells = [[row[0]]]
    for segment in row[1:]:
        if segment.left - cells[-1][-1].right > _CELL_GAP * body:
            cells.append([segment])
        else:
            cells[-1].append(segment)
    line_cells = tuple(
        PdfCell(" ".join(item.text for item in cell), cell[0].left * scale, cell[-1].right * scale)
        for cell in cells
    )
    letters = sum(len(item.text) for item in row)
    return PrintedLine(
        text=" ".join(cell.text for cell in line_cells),
        left=line_cells[0].left,
        right=line_cells[-1].right,
        baseline=-median(item.middle for item in row) * scale,
        size=_round_size(max(item.height for item in row) / body),
        cells=line_cells if len(line_cells) > 1 else (),
        sure=sum(item.sure * len(item.text) for item in row) / letters,
    )


def _round_size(times: float) -> float:
    """Return the size of letters in points from their height as a multiple of most lines'.

    The size is rounded, because the frames of equal lines differ a little in height.
    """
    return _BODY_POINTS if times < _LARGER else _BODY_POINTS * round(times * 4) / 4
