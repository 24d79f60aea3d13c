"""Words of a PDF page that no reader sees: off the page, tiny, or in the colour of the paper."""

import ctypes
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple

import pypdfium2.raw as native

_TINIEST = 2.0
"""The height of letters, in points, below which nobody can read them."""
_BRIGHTEST = 240
"""The least value of red, green and blue, of 255, of letters that cannot be seen on white."""
_FAINTEST = 25
"""The largest opacity, of 255, that nobody can see."""
_LEAST_CONTRAST = 24
"""The least difference, of 255, of the darkest and brightest pixel of a word that can be seen."""
_SCALE = 2
"""The number of pixels for a point in the drawing of a page."""
_MOST_PIXELS = 9_000_000
_MOST_OBJECTS = 2_000


Ink = Literal["dark", "white", "none"]
"""The ink of letters: visible on white paper, white, or none at all."""


class _Box(NamedTuple):
    """A rectangle on a page, in points from the lower left."""

    left: float
    bottom: float
    right: float
    top: float


class PageSight:
    """A check of which words on a page a reader sees.

    The page is drawn only if it has a word in white, because white letters on a dark ground, or on
    a picture, can be seen.
    """

    def __init__(self, page: Any, text_page: Any) -> None:  # noqa: ANN401 - of pypdfium2
        self._page, self._text_page = page, text_page
        self._edges = _Box(*page.get_cropbox())
        self._inks: dict[int | None, Ink] = {}

    def sees(self, at: int) -> bool:
        """Return whether a reader sees the word that begins at an offset of the page's text."""
        index = native.FPDFText_GetCharIndexFromTextIndex(self._text_page.raw, at)
        rectangle = native.FS_RECTF()
        if not native.FPDFText_GetLooseCharBox(self._text_page.raw, index, ctypes.byref(rectangle)):
            return True
        box = _Box(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        if (
            not self._lies_on_page(box)
            or max(box.top - box.bottom, box.right - box.left) < _TINIEST
        ):
            return False
        ink = self._find_ink(index)
        if ink == "none":
            return self._has_pictures  # the recognised text of a scan has no ink
        return ink == "dark" or self._has_contrast(box)

    def _lies_on_page(self, box: _Box) -> bool:
        """Return whether any part of a box is on the page."""
        edges = self._edges
        return (
            box.right > edges.left
            and box.left < edges.right
            and box.top > edges.bottom
            and box.bottom < edges.top
        )

    def _find_ink(self, index: int) -> Ink:
        """Return the ink of a letter by its index in the page."""
        item = native.FPDFText_GetTextObject(self._text_page.raw, index)
        key = ctypes.cast(item, ctypes.c_void_p).value
        if key not in self._inks:  # many words belong to the same object
            mode = native.FPDFTextObj_GetTextRenderMode(item) if item else 0
            is_drawn = mode != native.FPDF_TEXTRENDERMODE_INVISIBLE
            self._inks[key] = self._read_ink(index) if is_drawn else "none"
        return self._inks[key]

    def _read_ink(self, index: int) -> Ink:
        """Return the ink of a letter that is drawn, by its colour and opacity."""
        red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
        colours = (ctypes.byref(colour) for colour in (red, green, blue, alpha))
        if not native.FPDFText_GetFillColor(self._text_page.raw, index, *colours):
            return "dark"
        darkest = min(red.value, green.value, blue.value)
        return "white" if darkest >= _BRIGHTEST or alpha.value <= _FAINTEST else "dark"

    @cached_property
    def _has_pictures(self) -> bool:
        """True if the page has a picture."""
        items = islice(self._page.get_objects(max_depth=3), _MOST_OBJECTS)
        return any(item.type == native.FPDF_PAGEOBJ_IMAGE for item in items)

    @cached_property
    def _drawing(self) -> Any:  # noqa: ANN401 - of pypdfium2
        """The page as it looks, in grey."""
        area = max(self._page.get_width() * self._page.get_height(), 1.0)
        scale = min(_SCALE, (_MOST_PIXELS / area) ** 0.5)
        return self._page.render(scale=scale, grayscale=True)

    def _has_contrast(self, box: _Box) -> bool:
        """Return whether anything can be seen in a box of the drawn page."""
        drawing = self._drawing
        locate = drawing.get_posconv(self._page).to_bitmap
        corners = (locate(box.left, box.top), locate(box.right, box.bottom))
        across, down = zip(*corners, strict=True)
        columns = slice(max(min(across), 0), max(across) + 1)
        pixels = memoryview(drawing.buffer).cast("B")
        rows = [
            bytes(pixels[row * drawing.stride :][: drawing.width][columns])
            for row in range(max(min(down), 0), min(max(down) + 1, drawing.height))
        ]
        shades = b"".join(rows)
        return bool(shades) and max(shades) - min(shades) >= _LEAST_CONTRAST
