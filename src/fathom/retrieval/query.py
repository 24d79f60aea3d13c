"""The checks of questions and the parsing of filters that people type."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

from fathom.documents.scalars import parse_scalar
from fathom.errors import UsageError
from fathom.types import Filter

MAX_CHARS = 100_000
"""The largest number of characters of a question or a query."""
MAX_MARKS = 30
"""The largest number of combining marks in a row (the stream-safe text format of UAX #15).

The time to normalise a text grows with the square of this number."""
_CONDITION = re.compile(
    r"\s*(?P<key>[\w-]+)\s*(?P<op>!=|<=|>=|==?|<|>|\^=)\s*(?P<value>.*)", re.DOTALL
)
_VALUE = re.compile(r"""\s*(?:"[^"]*"|'[^']*')\s*(?=,|\Z)|[^,]*""")
_OPS = {"^=": "prefix", "==": "="}
"""The names in `Filter` of the operators that people write in another way."""


def check_question(text: str) -> None:
    """Check that a text can be asked or searched for.

    Raises:
        UsageError: If it is no text, empty, longer than `MAX_CHARS`, not UTF-8, or has more than
            `MAX_MARKS` combining marks in a row.
    """
    if not isinstance(text, str):
        raise UsageError(f"the question is of type {type(text).__name__}; give a text")
    # A shell may pass bytes that are not UTF-8; in the text they are lone surrogates.
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("the question is not UTF-8 text; type it again or convert it") from None
    if not text.strip():
        raise UsageError("the question is empty")
    if len(text) > MAX_CHARS:
        raise UsageError(
            f"the question has {len(text)} characters, at most {MAX_CHARS} are read; "
            "ingest long text as a document and ask about it"
        )
    if not text.isascii() and _count_marks(text) > MAX_MARKS:
        raise UsageError(
            f"the question has more than {MAX_MARKS} combining marks in a row; take them out"
        )


def _count_marks(text: str) -> int:
    """Return the length of the longest run of combining marks in a text."""
    runs = groupby(text, key=lambda char: unicodedata.combining(char) > 0)
    return max((sum(1 for _ in run) for is_mark, run in runs if is_mark), default=0)


def parse_filters(conditions: Sequence[str | Filter]) -> tuple[Filter, ...]:
    """Parse conditions such as `key=value`, `key>=3` and `path^=/home/reports` into filters.

    `==` is `=`. `year=2020,2021` accepts any of several values. A value that looks like a number, a
    date or true/false is one; in quotes it is always a text, which may contain commas.

    Args:
        conditions: The conditions; filters among them are returned unchanged.

    Raises:
        UsageError: If a condition has another form, or an empty value that is not in quotes.
    """
    return tuple(
        condition if isinstance(condition, Filter) else _parse_filter(condition)
        for condition in conditions
    )


def _parse_filter(text: str) -> Filter:
    """Parse one condition into a filter."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"filter {text!r}: not UTF-8 text; type it again or convert it") from None
    match = _CONDITION.fullmatch(text)
    if match is None or not match["value"]:
        raise UsageError(f"filter {text!r}: write it as key=value, with = != < <= > >= or ^=")
    op = _OPS.get(match["op"], match["op"])
    parts = _split_values(match["value"])
    if not all(map(str.strip, parts)):
        raise UsageError(
            f"filter {text!r}: a value is empty; take out its comma, or write '' for no text"
        )
    values = [parse_scalar(part) for part in parts]
    # Several values mean any of them, which makes sense with "=" only.
    if len(values) > 1:
        if op != "=":
            raise UsageError(f"filter {text!r}: several values go with = only")
        return Filter(match["key"], "in", tuple(values))
    return Filter(match["key"], op, values[0])  # type: ignore[arg-type]  # _CONDITION has no other


def _split_values(text: str) -> list[str]:
    """Return the values between the commas of a text; commas within quotes separate nothing."""
    values: list[str] = []
    at = 0
    while at <= len(text):
        # The pattern also matches the empty text, so there is always a match; the type checker
        # cannot know this.
        match = _VALUE.match(text, at)
        assert match is not None
        values.append(match[0])
        at = match.end() + 1
    return values
