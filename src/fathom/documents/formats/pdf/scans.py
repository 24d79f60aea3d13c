"""Detection and drawing of PDF pages that are pictures of text."""

import contextlib
import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium
import pypdfium2.raw as native

from fathom.documents.formats.pdf.lines import PrintedLine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEWEST_LETTERS = 40  # least on a page with its own text; stamps and page numbers have fewer
_PLAIN = 0.7  # least share of printable characters in a readable text
_MEANINGLESS = re.compile("[\ufffd\ue000-\uf8ff]")  # the range is for private use
_MOST_OBJECTS = 2_000
_COVERED = 0.25  # least share of a page under one picture
_DRAWN = 100  # least number of paths on a page whose letters are drawn as outlines
_DOTS_A_POINT = 200 / 72
_MOST_PIXELS = 9_000_000


def is_scan(page: Any, lines: Sequence[PrintedLine]) -> bool:  # noqa: ANN401 - of pypdfium2
    """Return whether a page shows text that its file does not have, or has only as nonsense."""
    text = "".join("".join(line.text.split()) for line in lines)
    if sum(map(str.isalnum, text)) >= _FEWEST_LETTERS and _is_plain(text):
        return False
    area = page.get_width() * page.get_height()
    paths = 0
    with contextlib.suppress(pdfium.PdfiumError):
        for item in islice(page.get_objects(max_depth=3), _MOST_OBJECTS):
            paths += item.type == native.FPDF_PAGEOBJ_PATH
            if item.type == native.FPDF_PAGEOBJ_IMAGE:
                left, bottom, right, top = item.get_bounds()
                if not text or (right - left) * (top - bottom) >= _COVERED * area:
                    return True
    return not text and paths >= _DRAWN


def _is_plain(text: str) -> bool:
    """Return whether a text has mostly meaningful characters; some fonts have no table of them."""
    count = sum(char.isprintable() and not _MEANINGLESS.match(char) for char in text)
    return count >= _PLAIN * len(text)


def draw_pixels(page: Any) -> "NDArray[np.uint8]":  # noqa: ANN401 - of pypdfium2
    """Draw a page, at 200 dots an inch or less.

    Returns:
        (height, width, 3) uint8, blue first.
    """
    import numpy as np

    width, height = max(page.get_width(), 1.0), max(page.get_height(), 1.0)
    scale = min(_DOTS_A_POINT, (_MOST_PIXELS / (width * height)) ** 0.5)
    bitmap = page.render(scale=scale, prefer_bgrx=False)
    pixels: NDArray[np.uint8] = bitmap.to_numpy()
    if pixels.ndim == 2 or pixels.shape[2] == 1:
        return np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
    return np.ascontiguousarray(pixels[:, :, :3])
