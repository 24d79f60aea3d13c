"""Recognised pieces of text in the order in which a person reads them, as lines of a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from fathom.documents.formats.pdf.lines import Line, PdfCell

_BODY_POINTS = 10.0  # what most lines of a page are taken to be set in
_LINE_POINTS = 14.0  # how high the frame of such a line is
_LARGER = 1.3  # times the body: below it frames differ by which letters hang over only
_SAME_ROW = 0.5  # times the height: so far may the middles of pieces of one line lie apart
_CELL_GAP = 0.7  # times the height: what is wider parts the cells of a row
_GUTTER = 0.4  # times the height: the least between two columns of prose
_PROSE_CHARS = 20  # of half of the lines of a column, at least
_PROSE_FULL = 0.6  # of a column's width its lines take, in the middle
_FEWEST_LINES = 3  # of a column
_MOST_ACROSS = 0.3  # of the pieces may stand across a gutter, as titles and figures do


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Words that were recognised in one; places in pixels from the top left, the page upright.

    Attributes:
        sure: How surely, in [0, 1].
    """

    text: str
    sure: float
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """Of its frame."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Half-way down its frame."""
        return (self.top + self.bottom) / 2


def lines_of(segments: Sequence[Segment]) -> tuple[Line, ...]:
    """The lines of a page: column by column, of what stands side by side in them the cells."""
    if not segments:
        return ()
    body = median(segment.height for segment in segments for _ in segment.text)
    ordered = (row for region in _regions(segments, body) for row in _rows(region))
    return tuple(_line(row, body) for row in ordered)


def _regions(segments: Sequence[Segment], body: float) -> Iterator[Sequence[Segment]]:
    """Parts of a page, each of which is read row by row."""
    gutter = _gutter(segments, body)
    if gutter is None:
        yield segments
        return
    across = sorted(
        (each for each in segments if each.left < gutter < each.right), key=lambda one: one.middle
    )
    rest = [each for each in segments if each not in across]
    above: list[Segment] = []
    for title in [*across, None]:
        end = title.middle if title else float("inf")
        band = [each for each in rest if each.middle < end]
        rest = [each for each in rest if each.middle >= end]
        sides = [e for e in band if e.right <= gutter], [e for e in band if e.left >= gutter]
        if all(sides):
            yield above
            above = []
            for side in sides:
                yield from _regions(side, body)
        else:
            above += band
        above += [title] if title else []
    yield above


def _gutter(segments: Sequence[Segment], body: float) -> float | None:
    """Where two columns of prose meet; `None` where the page, or this part of it, has one."""
    best: tuple[int, float] | None = None
    where = None
    for left_end in sorted({each.right for each in segments}):
        right = [each for each in segments if each.left >= left_end]
        if len(right) < _FEWEST_LINES:
            break
        right_start = min(each.left for each in right)
        gutter = (left_end + right_start) / 2
        left = [each for each in segments if each.right <= gutter]
        across = len(segments) - len(left) - len(right)
        wide = right_start - left_end
        if wide < _GUTTER * body or across > _MOST_ACROSS * len(segments):
            continue
        rank = across, -wide
        if (best is None or rank < best) and _is_prose(left) and _is_prose(right):
            best, where = rank, gutter
    return where


def _is_prose(column: Sequence[Segment]) -> bool:
    """Whether pieces are lines of running text: long, and most of them as wide as the column."""
    if len(_rows(column)) < _FEWEST_LINES:
        return False
    width = max(each.right for each in column) - min(each.left for each in column)
    full = median(each.right - each.left for each in column) >= _PROSE_FULL * width
    return full and median(len(each.text) for each in column) >= _PROSE_CHARS


def _rows(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Pieces that stand at one height, from the top; each row from left to right."""
    rows: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda each: each.middle):
        above = rows[-1][-1] if rows else None
        near = above and segment.middle - above.middle < _SAME_ROW * min(
            above.height, segment.height
        )
        if near:
            rows[-1].append(segment)
        else:
            rows.append([segment])
    return [sorted(row, key=lambda each: each.left) for row in rows]


def _line(row: Sequence[Segment], body: float) -> Line:
    scale = _LINE_POINTS / body
    cells = [[row[0]]]
    for segment in row[1:]:
        if segment.left - cells[-1][-1].right > _CELL_GAP * body:
            cells.append([segment])
        else:
            cells[-1].append(segment)
    parts = tuple(
        PdfCell(" ".join(each.text for each in cell), cell[0].left * scale, cell[-1].right * scale)
        for cell in cells
    )
    letters = sum(len(each.text) for each in row)
    return Line(
        text=" ".join(part.text for part in parts),
        left=parts[0].left,
        right=parts[-1].right,
        baseline=-median(each.middle for each in row) * scale,
        size=_size(max(each.height for each in row) / body),
        cells=parts if len(parts) > 1 else (),
        sure=sum(each.sure * len(each.text) for each in row) / letters,
    )


def _size(times: float) -> float:
    """Points, in steps: of two lines that are set alike one has a frame that is a little higher."""
    return _BODY_POINTS if times < _LARGER else _BODY_POINTS * round(times * 4) / 4
