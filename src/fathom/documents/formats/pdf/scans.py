"""Pages of a PDF that are pictures of text."""

import contextlib
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium
import pypdfium2.raw as native

from fathom.documents.formats.pdf.lines import Line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEWEST_LETTERS = 40  # of a page with text of its own; stamps and page numbers have fewer
_PLAIN = 0.7  # of the signs of a text that can be read are letters, digits or punctuation
_MOST_OBJECTS = 2_000
_COVERED = 0.25  # of a page by one picture
_DRAWN = 100  # paths of a page whose letters are drawn as outlines
_DOTS_A_POINT = 200 / 72
_MOST_PIXELS = 9_000_000


def is_scan(page: Any, lines: Sequence[Line]) -> bool:  # noqa: ANN401 - of pypdfium2
    """Whether a page shows text that its file does not hold, or holds as nonsense only."""
    text = "".join("".join(line.text.split()) for line in lines)
    if sum(map(str.isalnum, text)) >= _FEWEST_LETTERS and _is_plain(text):
        return False
    area = page.get_width() * page.get_height()
    paths = 0
    with contextlib.suppress(pdfium.PdfiumError):
        for each in islice(page.get_objects(max_depth=3), _MOST_OBJECTS):
            paths += each.type == native.FPDF_PAGEOBJ_PATH
            if each.type == native.FPDF_PAGEOBJ_IMAGE:
                left, bottom, right, top = each.get_bounds()
                if not text or (right - left) * (top - bottom) >= _COVERED * area:
                    return True
    return not text and paths >= _DRAWN


def _is_plain(text: str) -> bool:
    """Whether a text is made of signs with a meaning: fonts without a table give none."""
    meant = sum(sign.isprintable() and sign != "\ufffd" and not _is_private(sign) for sign in text)
    return meant >= _PLAIN * len(text)


def _is_private(sign: str) -> bool:
    return "\ue000" <= sign <= "\uf8ff"


def picture_of(page: Any) -> "NDArray[np.uint8]":  # noqa: ANN401 - of pypdfium2
    """A page as it looks (height, width, 3; blue first), at 200 dots an inch or fewer."""
    import numpy as np

    wide, high = max(page.get_width(), 1.0), max(page.get_height(), 1.0)
    scale = min(_DOTS_A_POINT, (_MOST_PIXELS / (wide * high)) ** 0.5)
    bitmap = page.render(scale=scale, prefer_bgrx=False)
    pixels: NDArray[np.uint8] = bitmap.to_numpy()
    if pixels.ndim == 2 or pixels.shape[2] == 1:
        return np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
    return np.ascontiguousarray(pixels[:, :, :3])
