"""Numbers, dates and truth values as people write them in the head of a file or in a filter."""

import re
from datetime import date

from fathom.text import english
from fathom.types import Scalar

_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d{0,14})", re.ASCII)
_REAL = re.compile(r"[-+]?(?:0|[1-9]\d{0,14})\.\d{1,15}(?:[eE][-+]?\d{1,2})?", re.ASCII)
_DATE = re.compile(r"(?P<y>\d{4})([-/])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?P<time>[T ]\d.*)?", re.ASCII)
_SPOKEN = re.compile(
    r"(?:(?P<d>\d{1,2})\.? (?P<m>[A-Z][a-z]+)\.?,?|(?P<m2>[A-Z][a-z]+)\.? (?P<d2>\d{1,2}),) "
    r"(?P<y>\d{4})",
    re.ASCII,
)
_MONTHS = {name: number for number, names in enumerate(english.MONTHS, start=1) for name in names}
_QUOTES = "\"'"


def parse_scalar(text: str) -> Scalar:
    """Return the value that a text looks like: a truth value, a number or a date, else the text.

    Dates become ISO 8601 texts (`2021-05-01`), which compare in the order of time. Quoted text
    stays text, and so do numbers with leading zeros, which are codes.
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES:
        return text[1:-1]
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else parse_date(text) or text


def parse_date(text: str) -> str:
    """Return the date that a text gives as ISO 8601, with the time as written; `""` without one.

    The accepted forms are `2021-5-1`, `2021/05/01`, `1 May 2021` and `May 1, 2021`. Forms that
    different countries read differently, such as `1/5/2021`, give `""`.
    """
    match = _DATE.fullmatch(text)
    if match:
        month, day, time = int(match["m"]), int(match["d"]), match["time"] or ""
    else:
        match = _SPOKEN.fullmatch(text)
        name = (match["m"] or match["m2"]).lower() if match else ""
        if match is None or name not in _MONTHS:
            return ""
        month, day, time = _MONTHS[name], int(match["d"] or match["d2"]), ""
    try:
        return f"{date(int(match['y']), month, day).isoformat()}{time.replace(' ', 'T', 1)}"
    except ValueError:
        return ""
