"""Years and days that name the columns of a table."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

_PERIOD = re.compile(r"(?:19|20)\d\d(?:-\d\d-\d\d)?")
"""A year or a day that may name a column."""
_AROUND = re.compile(r"^[^\d-]+|\D+$")
"""The text that a number format prints around a year, as in `FY2024`."""


def is_period(text: str) -> bool:
    """Return whether a text is a year or a day, also with a text around it."""
    return _PERIOD.fullmatch(_AROUND.sub("", text)) is not None


def name_columns(periods: Sequence[str], below: Iterable[str]) -> bool:
    """Return whether the numbers in a row are years or days in order that name their columns.

    A row of days may also be the first entry of a table; then the rows below have days in these
    columns too, and the row names nothing.

    Args:
        periods: The numbers of the row, in the order of their columns.
        below: The texts in these columns in the next rows.
    """
    if len(periods) < 2 or not all(map(is_period, periods)):
        return False
    if all(is_period(value) for value in below if value):
        return False
    texts = [_AROUND.sub("", period) for period in periods]
    if all(map(str.isdigit, texts)):
        steps = {int(later) - int(earlier) for earlier, later in pairwise(texts)}
        return len(steps) == 1 and (len(texts) > 2 or steps <= {-1, 1})
    return texts in (sorted(texts), sorted(texts, reverse=True))
