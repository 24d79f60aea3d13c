"""English words for months, numbers and units."""

MONTHS = (
    ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",),
    ("june", "jun"), ("july", "jul"), ("august", "aug"), ("september", "sept", "sep"),
    ("october", "oct"), ("november", "nov"), ("december", "dec"),
)  # fmt: skip
"""Of each month in order, the full name first."""

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
UNITS = {
    "length": {
        "kilometres?": 1e3, "kilometers?": 1e3, "metres?": 1.0, "meters?": 1.0,
        "centimetres?": 0.01, "centimeters?": 0.01, "millimetres?": 0.001, "millimeters?": 0.001,
        "miles?": 1609.344, "yards?": 0.9144, "feet": 0.3048, "foot": 0.3048, "inch(?:es)?": 0.0254,
    },
    "mass": {
        "kilograms?": 1.0, "grams?": 0.001, "tonnes?": 1e3, "tons?": 1e3, "pounds?": 0.45359237,
    },
    "time": {
        "seconds?": 1.0, "minutes?": 60.0, "hours?": 3600.0, "days?": 86_400.0,
        "weeks?": 604_800.0, "months?": 2_629_800.0, "years?": 31_557_600.0,
    },
    "share": {"percent": 1.0, "per cent": 1.0},
}  # fmt: skip
"""By what is measured, as patterns with how many of its base unit one is: metre, kilogram, second,
percent."""
