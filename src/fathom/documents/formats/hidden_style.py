"""Inline styles of HTML that draw a text so that no reader sees it."""

import re
from collections.abc import Mapping

_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(px|pt|em|rem|%)?")
_PIXELS = {"pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16}
"""The number of pixels of each unit of length, in text of the usual size (16 pixels)."""
_TINIEST = 2.0
"""The largest size of letters, in pixels, that nobody can read."""
_FAINTEST = 0.1
"""The largest opacity that nobody can see."""
_OFF_PAGE = -500.0
"""The position, in pixels, from which on text left of or above the page does not reach into it."""
_EDGES = ("left", "top", "right", "bottom")
_SHIFTS = ("text-indent", "margin-left", "margin-top")
_CLIPS = ("rect(0", "inset(50%", "inset(100%", "circle(0")
_BRIGHTEST = 240
"""The least value of red, green and blue, of 255, in a colour that cannot be seen on white."""
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6})")
_RGB = re.compile(r"rgba?\((\d{1,3})[, ]+(\d{1,3})[, ]+(\d{1,3})(?:[, /]+([\d.]{1,9}))?\)")
Style = Mapping[str, str]


def parse_style(text: str) -> Style:
    """Parse the attribute `style`, and return its values by name, in small letters."""
    pairs = (part.partition(":") for part in text.lower().replace("!important", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def has_background(style: Style) -> bool:
    """Return whether a style paints the background of its text."""
    return any(name.startswith("background") for name in style)


def hides_text(style: Style, *, on_white: bool) -> bool:
    """Return whether no reader sees a text of a style.

    Args:
        style: The values of the element itself, as `parse_style` gives them.
        on_white: Whether the background of the element is surely white.
    """
    return (
        0 <= _measure(style, "font-size", 16.0) <= _TINIEST
        or _measure_opacity(style) <= _FAINTEST
        or _lies_off_page(style)
        or _is_clipped(style)
        or _has_colour_of_page(style, on_white=on_white)
    )


def _measure(style: Style, name: str, usual: float) -> float:
    """Return a length of a style in pixels, or a bare number as it is; `usual` without one."""
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
    """Return red, green, blue (0 to 255) and opacity (0 to 1); `None` for an unknown form."""
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
