"""Words of a PDF page that no reader sees: off the page, tiny, or in the colour of the paper."""

import ctypes
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple

import pypdfium2.raw as native

_TINIEST = 2.0
"""The height of letters in points that nobody can read."""
_BRIGHTEST = 240
"""The least value of red, green and blue, of 255, of letters that white paper hides."""
_FAINTEST = 25
"""The opacity, of 255, that nobody can see."""
_LEAST_CONTRAST = 24
"""The difference between the darkest and brightest pixel of a word that can be seen, of 255."""
_SCALE = 2
"""The pixels of a point, for looking at the words."""
_MOST_PIXELS = 9_000_000
_MOST_OBJECTS = 2_000


Ink = Literal["dark", "white", "none"]
"""The ink of letters: one to be seen on paper, one of the colour of paper, or none at all."""


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


class PageSight:
    """The sight of one page: it tells whether a reader sees a word.

    A page is drawn only if a word on it has the colour of paper; what is drawn on a dark ground, or
    on a picture, is seen.
    """

    def __init__(self, page: Any, text_page: Any) -> None:  # noqa: ANN401 - of pypdfium2
        self._page, self._text_page = page, text_page
        self._edges = _Box(*page.get_cropbox())
        self._inks: dict[int | None, Ink] = {}

    def sees(self, at: int) -> bool:
        """Return whether a reader sees the word that begins at a place in the page's text."""
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
            return self._has_pictures  # such as the recognised text below a scan
        return ink == "dark" or self._has_contrast(box)

    def _lies_on_page(self, box: _Box) -> bool:
        edges = self._edges
        return (
            box.right > edges.left
            and box.left < edges.right
            and box.top > edges.bottom
            and box.bottom < edges.top
        )

    def _find_ink(self, index: int) -> Ink:
        item = native.FPDFText_GetTextObject(self._text_page.raw, index)
        key = ctypes.cast(item, ctypes.c_void_p).value
        if key not in self._inks:  # many words belong to the same object
            mode = native.FPDFTextObj_GetTextRenderMode(item) if item else 0
            is_drawn = mode != native.FPDF_TEXTRENDERMODE_INVISIBLE
            self._inks[key] = self._read_ink(index) if is_drawn else "none"
        return self._inks[key]

    def _read_ink(self, index: int) -> Ink:
        red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
        colours = (ctypes.byref(colour) for colour in (red, green, blue, alpha))
        if not native.FPDFText_GetFillColor(self._text_page.raw, index, *colours):
            return "dark"
        darkest = min(red.value, green.value, blue.value)
        return "white" if darkest >= _BRIGHTEST or alpha.value <= _FAINTEST else "dark"

    @cached_property
    def _has_pictures(self) -> bool:
        items = islice(self._page.get_objects(max_depth=3), _MOST_OBJECTS)
        return any(item.type == native.FPDF_PAGEOBJ_IMAGE for item in items)

    @cached_property
    def _drawing(self) -> Any:  # noqa: ANN401 - of pypdfium2
        area = max(self._page.get_width() * self._page.get_height(), 1.0)
        scale = min(_SCALE, (_MOST_PIXELS / area) ** 0.5)
        return self._page.render(scale=scale, grayscale=True)

    def _has_contrast(self, box: _Box) -> bool:
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
