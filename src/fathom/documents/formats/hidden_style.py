"""Inline styles of HTML that draw a text so that no reader sees it."""

import re
from collections.abc import Mapping

_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(px|pt|em|rem|%)?")
_PIXELS = {"pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16}
"""Pixels of a unit of length in text of the usual size."""
_TINIEST = 2.0
"""The size of letters in pixels that nobody can read."""
_FAINTEST = 0.1
"""The opacity that nobody can see."""
_OFF_PAGE = -500.0
"""The pixels beyond the left or upper edge from which on no text reaches into the page."""
_EDGES = ("left", "top", "right", "bottom")
_SHIFTS = ("text-indent", "margin-left", "margin-top")
_CLIPS = ("rect(0", "inset(50%", "inset(100%", "circle(0")
_BRIGHTEST = 240
"""The least value of red, green and blue, of 255, of a colour that white paper hides."""
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6})")
_RGB = re.compile(r"rgba?\((\d{1,3})[, ]+(\d{1,3})[, ]+(\d{1,3})(?:[, /]+([\d.]{1,9}))?\)")
Style = Mapping[str, str]


def parse_style(text: str) -> Style:
    """Parse the attribute `style` into its values by their names."""
    pairs = (part.partition(":") for part in text.lower().replace("!important", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def has_background(style: Style) -> bool:
    """Return whether a style paints what lies behind its text."""
    return any(name.startswith("background") for name in style)


def hides_text(style: Style, *, on_white: bool) -> bool:
    """Return whether nobody sees a text of this style.

    Args:
        style: The values of the element itself.
        on_white: Whether the page behind the element is surely white.
    """
    return (
        0 <= _measure(style, "font-size", 16.0) <= _TINIEST
        or _measure_opacity(style) <= _FAINTEST
        or _lies_off_page(style)
        or _is_clipped(style)
        or _has_colour_of_page(style, on_white=on_white)
    )


def _measure(style: Style, name: str, usual: float) -> float:
    """Return a length in pixels, or a bare number as it is."""
    match = _LENGTH.match(style.get(name, ""))
    return float(match[1]) * _PIXELS.get(match[2] or "px", 1.0) if match else usual


def _measure_opacity(style: Style) -> float:
    opacity = _measure(style, "opacity", 1.0)
    return opacity / (100 * _PIXELS["%"]) if "%" in style.get("opacity", "") else opacity


def _lies_off_page(style: Style) -> bool:
    is_placed = style.get("position") in {"absolute", "fixed"}
    names = (*_SHIFTS, *(_EDGES if is_placed else ()))
    return any(_measure(style, name, 0.0) <= _OFF_PAGE for name in names)


def _is_clipped(style: Style) -> bool:
    clips = (style.get("clip", ""), style.get("clip-path", ""))
    is_cut = style.get("overflow", "").startswith(("hidden", "clip"))
    sides = (_measure(style, name, 99.0) for name in ("width", "height", "max-height"))
    return any(clip.startswith(_CLIPS) for clip in clips) or (is_cut and min(sides) <= 1.0)


def _has_colour_of_page(style: Style, *, on_white: bool) -> bool:
    colour = style.get("color", "")
    if colour == "transparent":
        return True
    text_colour = _parse_colour(colour)
    if text_colour is None:
        return False
    if text_colour[3] <= _FAINTEST:
        return True
    if has_background(style):
        behind = style.get("background-color") or style.get("background", "")
        return _parse_colour(behind) == text_colour
    return on_white and min(text_colour[:3]) >= _BRIGHTEST


def _parse_colour(text: str) -> tuple[float, float, float, float] | None:
    """Return red, green, blue (of 255) and opacity (of 1); `None` if it is another colour."""
    if text == "white":
        return (255, 255, 255, 1)
    if match := _HEX.fullmatch(text):
        digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
        red, green, blue = (int(digits[at : at + 2], 16) for at in (0, 2, 4))
        return (red, green, blue, 1)
    if match := _RGB.fullmatch(text):
        opacity = match[4] or "1"
        is_number = opacity.count(".") <= 1 and opacity != "."
        return (int(match[1]), int(match[2]), int(match[3]), float(opacity) if is_number else 1)
    return None
