"""The lines of a PDF page with their places; hyphenated words are joined again."""

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pypdfium2.raw as native

from fathom.documents.formats.superscripts import find_figures
from fathom.types import Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BREAK = "\ufffe"  # PDFium's sign for a hyphen at a line's end, in place of the line break
_WORD = re.compile(r"\S+")
_WIDE = 1.8  # times the width of a letter; a gap between words is about half a letter
_SMALLER = 0.9  # times the height of the letter before
_SHIFTED = 0.1  # times that height
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_MENDED = re.compile(rf"(?<!\w)(?P<before>\w+)[{_BREAK}\u00ad]\s?(?P<after>\w+)")


class PdfCell(NamedTuple):
    """The words of a line between wide gaps, with their left and right end in points."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedLine:
    """A printed line; its places are in points, and 0 if they are unknown.

    Attributes:
        text: The text of the line.
        left: The left end.
        right: The right end.
        baseline: The height of the baseline, which grows upwards.
        size: The size of the letters that the file states; some files state 1 everywhere and scale
            the letters otherwise.
        cells: The words between wide gaps; empty for a line without such a gap.
        sure: The sureness of the recognition in [0, 1]; `None` if the file contains the text.
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
    """The lines of a page in reading order.

    Attributes:
        number: The number of the page, from 1.
        titles: The bookmarks that point to the page, as (level from 1, title).
        is_scan: Whether the page shows a picture of text, of which the lines have hardly anything.
        hidden: The number of texts on the page that no reader sees; the lines do not have them.
    """

    number: int
    lines: tuple[PrintedLine, ...]
    titles: tuple[tuple[int, str], ...] = ()
    is_scan: bool = False
    hidden: int = 0


class Recogniser(Protocol):
    """A reader of text on pictures of pages."""

    def begin(self, pages: int) -> None:
        """Begin a file with a number of pictures.

        Raises:
            ParseRefusal: If the file has too many.
        """
        ...

    def read(self, picture: "NDArray[np.uint8]") -> tuple[PrintedLine, ...]:
        """Return the lines of a picture in reading order.

        Args:
            picture: (height, width, 3) uint8, blue first.

        Returns:
            The lines, with places in units in which most lines have letters of ten points.
        """
        ...


def average_sureness(lines: Sequence[PrintedLine]) -> float | None:
    """Return the mean sureness of recognised lines, weighted by letters; `None` without any."""
    read = [(line.sure, len(line.text)) for line in lines if line.sure is not None]
    letters = sum(count for _, count in read)
    return sum(sure * count for sure, count in read) / letters if letters else None


def summarize_recognition(pages: Sequence[PageLines]) -> dict[str, Scalar]:
    """Return the number of recognised pages and their mean sureness as metadata; empty for none."""
    read = [line for page in pages for line in page.lines if line.sure is not None]
    sure = average_sureness(read)
    if sure is None:
        return {}
    count = sum(any(line.sure is not None for line in page.lines) for page in pages)
    return {"recognised_pages": count, "recognised": round(sure, 3)}


def read_lines(
    text_page: Any,  # noqa: ANN401 - pypdfium2 has no types
    sees: Callable[[int], bool] = lambda _: True,
) -> tuple[tuple[PrintedLine, ...], int]:
    """Return the lines of a PDFium text page that hold more than white space.

    Args:
        text_page: The page.
        sees: The function that returns whether a reader sees the word that begins at an offset of
            the page's text.

    Returns:
        The lines, and the number of runs of words that no reader sees, which are left out.
    """
    text = text_page.get_text_range()
    lines: list[PrintedLine] = []
    hidden = 0
    start = 0
    for end in [*_LINE_ENDS.finditer(text), None]:
        stop = end.start() if end else len(text)
        for is_seen, first, last in _split_by_sight(text, start, stop, sees):
            hidden += not is_seen
            if is_seen:
                lines.append(_read_line(text_page, text[first : last + 1], first, last))
        start = end.end() if end else stop
    return tuple(lines), hidden


def _split_by_sight(
    text: str, start: int, stop: int, sees: Callable[[int], bool]
) -> Iterator[tuple[bool, int, int]]:
    """Yield runs of words that are all seen or all hidden.

    Yields:
        For each run whether it is seen, and the offsets of its first and its last letter.
    """
    words = _WORD.finditer(text, start, stop)
    for is_seen, run in groupby(words, key=lambda word: sees(word.start())):
        places = [word.span() for word in run]
        yield is_seen, places[0][0], places[-1][1] - 1


def split_lines(text: str) -> tuple[PrintedLine, ...]:
    """Return the lines of a text, without places; empty lines are kept as ends of paragraphs."""
    lines = tuple(
        PrintedLine(text=_mend_words(remove_doubling(line))) for line in _LINE_ENDS.split(text)
    )
    return lines if text.strip() else ()


def remove_doubling(line: str) -> str:
    """Return a line with each character once if every character is drawn twice (`HHii`)."""
    words = line.split()
    # Short words may have double letters by chance; eight letters rarely do.
    if sum(map(len, words)) < 8 or any(word[::2] != word[1::2] for word in words):
        return line
    return " ".join(word[::2] for word in words)


def _read_line(text_page: Any, printed: str, first: int, last: int) -> PrintedLine:  # noqa: ANN401
    """Return a line with its places, from the offsets of its first and last letter."""
    left, baseline = _get_origin(text_page, first)
    text = remove_doubling(printed.strip())
    right = max(_get_edges(text_page, last)[1], left)
    is_plain = text == printed.strip()
    signs = _find_scripts(text_page, text, first) if is_plain else {}
    return PrintedLine(
        text=_mend_words(_insert_signs(text, signs)),
        left=left,
        right=right,
        baseline=baseline,
        size=_get_size(text_page, first),
        cells=_split_cells(text_page, text, first, (left, right), signs) if is_plain else (),
    )


def _find_scripts(text_page: Any, text: str, first: int) -> dict[int, str]:  # noqa: ANN401
    """Return the signs that keep superscripts and subscripts apart from the number before them.

    Args:
        text_page: The page of the line.
        text: The text of the line.
        first: The offset of the line's first letter in the page's text.

    Returns:
        The sign by the offset in the line of the letter that it precedes.
    """
    signs: dict[int, str] = {}
    for at in find_figures(text):
        shift = _measure_shift(text_page, first + at)
        if shift:
            signs[at] = "^" if shift > 0 else "_"
    return signs


def _measure_shift(text_page: Any, at: int) -> float:  # noqa: ANN401
    """Return how far a letter is raised above the one before; 0 unless it is smaller, too."""
    height, before = _get_height(text_page, at), _get_height(text_page, at - 1)
    if not 0 < height < _SMALLER * before:
        return 0.0
    (x, y), (x_before, y_before) = _get_origin(text_page, at), _get_origin(text_page, at - 1)
    return y - y_before if x > x_before and abs(y - y_before) > _SHIFTED * before else 0.0


def _insert_signs(text: str, signs: Mapping[int, str], start: int = 0) -> str:
    """Return a piece of a line with the signs before its superscripts and subscripts.

    Args:
        text: The piece.
        signs: The signs by the offset in the line.
        start: The offset of the piece in the line.
    """
    for at in sorted(signs, reverse=True):
        if start <= at < start + len(text):
            text = text[: at - start] + signs[at] + text[at - start :]
    return text


def _split_cells(
    text_page: Any,  # noqa: ANN401
    text: str,
    first: int,
    edges: tuple[float, float],
    signs: Mapping[int, str],
) -> tuple[PdfCell, ...]:
    """Return the words of a line between wide gaps.

    Args:
        text_page: The page of the line.
        text: The text of the line.
        first: The offset of the line's first letter in the page's text.
        edges: The left and right end of the line.
        signs: The signs before superscripts and subscripts by their offset in the line.

    Returns:
        The cells; none for a line without wide gaps.
    """
    words = [(match.start(), match.end()) for match in _WORD.finditer(text)]
    places = [
        (_get_edges(text_page, first + start)[0], _get_edges(text_page, first + end - 1)[1])
        for start, end in words
    ]
    gaps = [after[0] - before[1] for before, after in pairwise(places)]
    letters = sum(end - start for start, end in words)
    width = (edges[1] - edges[0] - sum(gap for gap in gaps if gap > 0)) / max(letters, 1)
    cuts = [at for at, gap in enumerate(gaps, start=1) if gap >= _WIDE * width > 0]
    if not cuts:
        return ()
    cells: list[PdfCell] = []
    for a, b in pairwise([0, *cuts, len(words)]):
        piece = _insert_signs(text[words[a][0] : words[b - 1][1]], signs, words[a][0])
        cells.append(PdfCell(_mend_words(piece), places[a][0], places[b - 1][1]))
    return tuple(cells)


def _get_origin(text_page: Any, at: int) -> tuple[float, float]:  # noqa: ANN401
    """Return the left end and the baseline of a letter, in points."""
    x, y = ctypes.c_double(), ctypes.c_double()
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page.raw, at)
    native.FPDFText_GetCharOrigin(text_page.raw, index, ctypes.byref(x), ctypes.byref(y))
    return x.value, y.value


def _get_size(text_page: Any, at: int) -> float:  # noqa: ANN401
    """Return the stated size of a letter, in points."""
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page.raw, at)
    return round(float(native.FPDFText_GetFontSize(text_page.raw, index)), 1)


def _get_height(text_page: Any, at: int) -> float:  # noqa: ANN401
    """Return the height of the font of a letter, in points; some files scale the stated size."""
    box = native.FS_RECTF()
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page.raw, at)
    native.FPDFText_GetLooseCharBox(text_page.raw, index, ctypes.byref(box))
    return float(box.top - box.bottom)


def _get_edges(text_page: Any, at: int) -> tuple[float, float]:  # noqa: ANN401
    """Return the left and the right end of a letter, in points."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page.raw, at)
    sides = (ctypes.byref(side) for side in (left, right, bottom, top))
    native.FPDFText_GetCharBox(text_page.raw, index, *sides)
    return left.value, right.value


def _mend_words(line: str) -> str:
    """Join words that were hyphenated at the end of a line; `anak-anak` keeps its hyphen."""

    def join(match: re.Match[str]) -> str:
        head, tail = match["before"], match["after"]
        keeps = head.lower() == tail.lower() or not tail[0].islower()
        return f"{head}-{tail}" if keeps else head + tail

    return _MENDED.sub(join, line).replace(_BREAK, "-").replace("\u00ad", "")
