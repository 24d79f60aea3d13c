"""Written numbers, in English and Indonesian, with their units.

"1,234.5", "1.234,5", "1.5 million", "1,5 juta", "dua belas" and "64 km" are read. A point or comma
before three digits separates thousands, except after a 0: "1.250" is 1250, "0.125" is an eighth.
Indian groups ("12,34,567") are one number. Short scales count where they mean nothing else: "12k"
and "5 jt" everywhere, "M", "B" and "T" only behind an amount of money, because "5 m" is a length.
"""

import re
from math import prod
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
        "km2": 1e6, "km\u00b2": 1e6, "m2": 1.0, "m\u00b2": 1.0, "ha": 1e4,
        "sq mi": 2_589_988.110336,
    },
    "share": {"%": 1.0},
}  # fmt: skip
_UNITS = [
    (re.compile(rf"[\s-]?{pattern}(?!\w)"), kind, factor)
    for units in (_SIGNS, english.UNITS, indonesian.UNITS)
    for kind, patterns in units.items()
    for pattern, factor in patterns.items()
]
# Long patterns come first: "kilometer persegi" before "kilometer".
_UNITS.sort(key=lambda unit: -len(unit[0].pattern))
NUMBER_WORDS = frozenset({*_WORDS, *_SCALES})
"""Words that are numbers or parts of numbers, in lower case."""

INDIAN_GROUPS = r"[1-9]\d?(?:,\d{2}){1,6},\d{3}(?:\.\d+)?(?!\d|,\d)"
"""The pattern of digits in Indian groups: three at the end, two in each group before them."""
_DIGITS = (
    rf"{INDIAN_GROUPS}|"
    r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?(?!\d)|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?!\d)"
    r"|\d+(?:[.,]\d+)?"
)
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_MONEY = (
    r"(?:(?<=[$\u20ac\u00a3\u00a5])|(?<=[$\u20ac\u00a3\u00a5] )"
    r"|(?<=\b(?:usd|eur|gbp|jpy|sgd|aud|cad|chf|cny|myr) ))"
)
_RUPIAH = r"(?:(?<=\brp)|(?<=\brp )|(?<=\brp\.)|(?<=\brp\. )|(?<=\bidr ))"
_SHORT_SCALES = {"k": 1e3, "bn": 1e9, "rb": 1e3, "jt": 1e6}
_MONEY_SCALES = {"m": 1e6, "mn": 1e6, "b": 1e9, "t": 1e12}
_RUPIAH_SCALES = {"m": 1e9, "t": 1e12}
"""Short scales behind an amount of rupiah, in which "M" is "miliar"."""
_NUMBER = re.compile(
    rf"(?P<money>{_MONEY})?(?P<rupiah>{_RUPIAH})?(?P<digits>{_DIGITS})"
    rf"(?:\s*(?P<scale>(?:{_SCALE})(?:\s+(?:{_SCALE}))*)\b"
    r"|(?P<short>k|bn|\s?(?:rb|jt))\b"
    r"|(?(money)\s?(?P<of_money>mn|[mbt])\b|(?!))"
    r"|(?(rupiah)\s?(?P<of_rupiah>[mt])\b|(?!)))?"
    rf"|\b(?P<words>(?:{_WORD})(?:[\s-](?:{_WORD}|{_SCALE})\b)*)\b"
)
_RANGE_MARK = re.compile(r"\s*(?:[\u2013\u2014-]|to|until|sampai(?: dengan)?|hingga)\s*")


class Quantity(NamedTuple):
    """A number with its measure.

    Attributes:
        value: The number in the base unit of `kind`.
        kind: `length` in metres, `area` in square metres, `volume` in cubic metres, `mass` in
            kilograms, `time` in seconds, `bytes`, or `share` in per cent; empty if no known unit
            follows the number.
    """

    value: float
    kind: str


def parse_quantities(text: str) -> list[Quantity]:
    """Return all numbers in a text, in order, in the base units of their measures."""
    lower = text.lower()
    parsed: list[Quantity] = []
    unit, start = ("", 1.0), len(lower)
    # Backwards, because the first number of a range has the unit after the range.
    for match in reversed(list(_NUMBER.finditer(lower))):
        # The first number of a range, as in "5 to 8 km", shares the unit of the next one.
        if not _RANGE_MARK.fullmatch(lower, match.end(), start):
            unit = _parse_unit(lower, match.end())
        parsed.append(Quantity(round(_parse_value(match) * unit[1], 9), unit[0]))
        start = match.start()
    return parsed[::-1]


def parse_numbers(text: str) -> list[float]:
    """Return all numbers in a text without units: first those in digits, then those in words."""
    matches = list(_NUMBER.finditer(text.lower()))
    return [
        _parse_value(match) for match in sorted(matches, key=lambda match: match["digits"] is None)
    ]


def read_scale(text: str, currency: str = "") -> float:
    """Return the factor of the scale that a text begins with, such as "million"; 1 without one.

    Args:
        text: The text behind a number.
        currency: The currency before the number; empty without one.
    """
    before = f"{currency} ".lower()
    match = _NUMBER.match(f"{before}1{text.lower()}", len(before))
    return _read_scale(match) if match else 1.0


def _read_scale(match: re.Match[str]) -> float:
    """Return the product of the scales behind a number in digits; 1 without any."""
    if match["scale"]:
        return prod(_SCALES[word] for word in match["scale"].split())
    short = (match["short"] or "").strip()
    return (
        _SHORT_SCALES.get(short)
        or _MONEY_SCALES.get(match["of_money"])
        or _RUPIAH_SCALES.get(match["of_rupiah"], 1.0)
    )


def _parse_unit(text: str, at: int) -> tuple[str, float]:
    """Return the measure of the unit at a place, and its size; "" and 1 if no unit is there."""
    matches = ((kind, factor) for pattern, kind, factor in _UNITS if pattern.match(text, at))
    return next(matches, ("", 1.0))


def _parse_value(match: re.Match[str]) -> float:
    """Return the value of a number in digits or words."""
    if match["words"]:
        return _parse_words(re.split(r"[\s-]", match["words"]))
    digits = match["digits"]
    if re.fullmatch(INDIAN_GROUPS, digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?", digits):
        digits = digits.replace(".", "")
    elif re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    return round(float(digits.replace(",", ".")) * _read_scale(match), 9)


def _parse_words(words: list[str]) -> float:
    """Return the value of number words such as "two hundred thousand five", "dua puluh tiga"."""
    total = group = 0.0
    for word in words:
        if word == "belas":
            group += 10
        elif word in _WORDS:
            group += _WORDS[word]
        # A scale of a thousand or more ends a group; hundreds and tens multiply within it.
        elif _SCALES[word] >= 1e3:
            total, group = total + max(group, 1) * _SCALES[word], 0.0
        else:
            # "hundred" multiplies the number before it, "puluh" (tens) only the ones before it.
            part = group % _SCALES[word] or 1
            group += part * (_SCALES[word] - 1) if group else _SCALES[word]
    return total + group
