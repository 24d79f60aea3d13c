"""The lines of a PDF page with their places, word breaks mended."""

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pypdfium2.raw as native

from fathom.types import Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BREAK = "\ufffe"  # what PDFium puts for a hyphen at a line's end, instead of the line break
_WORD = re.compile(r"\S+")
_WIDE = 1.8  # times the width of a letter; between words it is about half of one
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_MENDED = re.compile(rf"(?P<before>\w+)[{_BREAK}\u00ad]\s?(?P<after>\w+)")


class PdfCell(NamedTuple):
    """Words of a line with a wide gap on either side; places in points."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A printed line; all numbers in points, `baseline` grows upwards. All zero when unknown.

    Attributes:
        size: Of the letters, as the file says: some files scale later and say 1 everywhere.
        cells: The words between wide gaps; empty where there is no such gap.
        sure: How surely it was recognised; `None` where the file holds the text.
    """

    text: str
    left: float = 0.0
    right: float = 0.0
    baseline: float = 0.0
    size: float = 0.0
    cells: tuple[PdfCell, ...] = ()
    sure: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLines:
    """A page's lines in reading order.

    Attributes:
        number: From 1.
        titles: Bookmarks that point here, as (level from 1, title).
        is_scan: Whether it is a picture of text, of which the lines hold little or nothing.
    """

    number: int
    lines: tuple[Line, ...]
    titles: tuple[tuple[int, str], ...] = ()
    is_scan: bool = False


class Recogniser(Protocol):
    """Reads text off pictures of pages."""

    def begin(self, pages: int) -> None:
        """So many pictures of one file come now.

        Raises:
            Refused: If they are more than may be read of a file.
        """
        ...

    def read(self, picture: "NDArray[np.uint8]") -> tuple[Line, ...]:
        """The lines of a picture (height, width, 3; blue first) in reading order.

        Their places are in units in which most lines are as high as one of ten points.
        """
        ...


def sureness(lines: Sequence[Line]) -> float | None:
    """How surely lines were recognised, by the letter; `None` where none was."""
    read = [(line.sure, len(line.text)) for line in lines if line.sure is not None]
    letters = sum(count for _, count in read)
    return sum(sure * count for sure, count in read) / letters if letters else None


def recognised_facts(pages: Sequence[PageLines]) -> dict[str, Scalar]:
    """Of how many pages the text was recognised, and how surely; empty where of none."""
    read = [line for page in pages for line in page.lines if line.sure is not None]
    sure = sureness(read)
    if sure is None:
        return {}
    count = sum(any(line.sure is not None for line in page.lines) for page in pages)
    return {"recognised_pages": count, "recognised": round(sure, 3)}


def read_lines(text_page: Any) -> tuple[Line, ...]:  # noqa: ANN401 - pypdfium2 has no types
    """The lines of a PDFium text page that hold more than white space."""
    text = text_page.get_text_range()
    lines = []
    start = 0
    for end in [*_LINE_ENDS.finditer(text), None]:
        stop = end.start() if end else len(text)
        shown = text[start:stop]
        if shown.strip():
            first = start + len(shown) - len(shown.lstrip())
            last = start + len(shown.rstrip()) - 1
            lines.append(_line(text_page, shown, first, last))
        start = end.end() if end else stop
    return tuple(lines)


def plain_lines(text: str) -> tuple[Line, ...]:
    """Lines without places; an empty line stays one, since it parts paragraphs."""
    lines = tuple(Line(text=_mended(undoubled(line))) for line in _LINE_ENDS.split(text))
    return lines if text.strip() else ()


def undoubled(line: str) -> str:
    """`line` with each character once, if every one of them is drawn twice (`HHii`)."""
    words = line.split()
    if sum(map(len, words)) < 8 or any(word[::2] != word[1::2] for word in words):
        return line
    return " ".join(word[::2] for word in words)


def _line(text_page: Any, shown: str, first: int, last: int) -> Line:  # noqa: ANN401
    left, baseline = _origin(text_page, first)
    text = undoubled(shown.strip())
    right = max(_edges(text_page, last)[1], left)
    return Line(
        text=_mended(text),
        left=left,
        right=right,
        baseline=baseline,
        size=_size(text_page, first),
        cells=_cells(text_page, text, first, (left, right)) if text == shown.strip() else (),
    )


def _cells(
    text_page: Any,  # noqa: ANN401
    text: str,
    first: int,
    edges: tuple[float, float],
) -> tuple[PdfCell, ...]:
    """The parts of a line between wide gaps.

    Args:
        text_page: Where it stands.
        text: Of the line.
        first: The place of its first letter in the page's text.
        edges: Where it begins and ends.
    """
    words = [(found.start(), found.end()) for found in _WORD.finditer(text)]
    places = [
        (_edges(text_page, first + start)[0], _edges(text_page, first + end - 1)[1])
        for start, end in words
    ]
    gaps = [after[0] - before[1] for before, after in pairwise(places)]
    letters = sum(end - start for start, end in words)
    width = (edges[1] - edges[0] - sum(gap for gap in gaps if gap > 0)) / max(letters, 1)
    cuts = [at for at, gap in enumerate(gaps, start=1) if gap >= _WIDE * width > 0]
    if not cuts:
        return ()
    bounds = pairwise([0, *cuts, len(words)])
    return tuple(
        PdfCell(_mended(text[words[a][0] : words[b - 1][1]]), places[a][0], places[b - 1][1])
        for a, b in bounds
    )


def _origin(text_page: Any, at: int) -> tuple[float, float]:  # noqa: ANN401
    x, y = ctypes.c_double(), ctypes.c_double()
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page.raw, at)
    native.FPDFText_GetCharOrigin(text_page.raw, index, ctypes.byref(x), ctypes.byref(y))
    return x.value, y.value


def _size(text_page: Any, at: int) -> float:  # noqa: ANN401
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page.raw, at)
    return round(float(native.FPDFText_GetFontSize(text_page.raw, index)), 1)


def _edges(text_page: Any, at: int) -> tuple[float, float]:  # noqa: ANN401
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page.raw, at)
    sides = (ctypes.byref(side) for side in (left, right, bottom, top))
    native.FPDFText_GetCharBox(text_page.raw, index, *sides)
    return left.value, right.value


def _mended(line: str) -> str:
    """Words broken at a line's end in one piece; doubled words (`anak-anak`) keep the hyphen."""

    def join(found: re.Match[str]) -> str:
        before, after = found["before"], found["after"]
        keeps = before.lower() == after.lower() or not after[0].islower()
        return f"{before}-{after}" if keeps else before + after

    return _MENDED.sub(join, line).replace(_BREAK, "-").replace("\u00ad", "")
