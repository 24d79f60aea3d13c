"""Numbers as they are written, in English and Indonesian, with what they measure.

"1,234.5", "1.234,5", "1.5 million", "1,5 juta", "dua belas" and "64 km" are read. Groups of three
digits are thousands whichever mark stands between them; "0.125" is no group, as no number begins
with 0.
"""

import re
from typing import NamedTuple

from fathom.text import english, indonesian

_WORDS = {**english.NUMBERS, **indonesian.NUMBERS}
_SCALES = {**english.SCALES, **indonesian.SCALES}
_SIGNS = {
    "length": {"km": 1e3, "m": 1.0, "cm": 0.01, "mm": 0.001, "mi": 1609.344, "ft": 0.3048},
    "mass": {"kg": 1.0, "g": 0.001, "mg": 1e-6, "lbs?": 0.45359237},
    "time": {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0},
    "bytes": {"bytes?": 1.0, "ki?b": 1024.0, "mi?b": 1024.0**2, "gi?b": 1024.0**3},
    "area": {
        "km2": 1e6,
        "km\u00b2": 1e6,
        "m2": 1.0,
        "m\u00b2": 1.0,
        "ha": 1e4,
        "sq mi": 2_589_988.110336,
    },
    "share": {"%": 1.0},
}
_UNITS = [
    (re.compile(rf"[\s-]?{pattern}(?!\w)"), kind, factor)
    for own in (_SIGNS, english.UNITS, indonesian.UNITS)
    for kind, patterns in own.items()
    for pattern, factor in patterns.items()
]
# "kilometer persegi" before "kilometer"
_UNITS.sort(key=lambda unit: -len(unit[0].pattern))
NUMBER_WORDS = frozenset({*_WORDS, *_SCALES})
"""Words that are numbers or parts of them, in lower case."""

_DIGITS = (
    r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?(?!\d)|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?!\d)"
    r"|\d+(?:[.,]\d+)?"
)
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?P<digits>{_DIGITS})(?:\s*(?P<scale>{_SCALE})\b)?"
    rf"|\b(?P<words>(?:{_WORD})(?:[\s-](?:{_WORD}|{_SCALE})\b)*)\b"
)
_TO = re.compile(r"\s*(?:[\u2013\u2014-]|to|until|sampai(?: dengan)?|hingga)\s*")


class Quantity(NamedTuple):
    """A number with what it measures.

    Attributes:
        value: In the base unit of `kind`.
        kind: `length` in metres, `area` and `volume` in square and cubic metres, `mass` in
            kilograms, `time` in seconds, `bytes`, `share` in percent; empty where no unit follows
            that is known.
    """

    value: float
    kind: str


def quantities(text: str) -> list[Quantity]:
    """All numbers in a text, in order, brought to the base units of what they measure."""
    lower = text.lower()
    read: list[Quantity] = []
    unit, start = ("", 1.0), len(lower)
    for found in reversed(list(_NUMBER.finditer(lower))):
        if not _TO.fullmatch(lower, found.end(), start):  # else it shares the unit of the next one
            unit = _unit(lower, found.end())
        read.append(Quantity(round(_value(found) * unit[1], 9), unit[0]))
        start = found.start()
    return read[::-1]


def numbers(text: str) -> list[float]:
    """All numbers in a text, those in digits before those in words, whatever they measure."""
    found = list(_NUMBER.finditer(text.lower()))
    return [_value(each) for each in sorted(found, key=lambda each: each["digits"] is None)]


def _unit(text: str, at: int) -> tuple[str, float]:
    """What is measured by the unit that stands at a place, and how large it is."""
    found = ((kind, factor) for pattern, kind, factor in _UNITS if pattern.match(text, at))
    return next(found, ("", 1.0))


def _value(found: re.Match[str]) -> float:
    if found["words"]:
        return _spoken(re.split(r"[\s-]", found["words"]))
    digits = found["digits"]
    if re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?", digits):
        digits = digits.replace(".", "")
    elif re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    scale = _SCALES.get(found["scale"] or "", 1.0)
    return round(float(digits.replace(",", ".")) * scale, 9)


def _spoken(words: list[str]) -> float:
    """The number that words say, as "two hundred thousand five" or "dua puluh tiga"."""
    total = part = 0.0
    for word in words:
        if word == "belas":
            part += 10
        elif word in _WORDS:
            part += _WORDS[word]
        elif _SCALES[word] >= 1e3:
            total, part = total + max(part, 1) * _SCALES[word], 0.0
        else:
            ones = part % 10 or 1
            part += ones * (_SCALES[word] - 1) if part else _SCALES[word]
    return total + part
