"""Questions and conditions as people type them."""

import re
from collections.abc import Sequence

from fathom.documents.scalars import typed
from fathom.errors import UsageError
from fathom.types import Filter

MAX_CHARS = 100_000
_FORM = re.compile(r"\s*(?P<key>[\w-]+)\s*(?P<op>!=|<=|>=|=|<|>|\^=)\s*(?P<value>.*)", re.DOTALL)
_OPS = {"^=": "prefix"}


def check_question(text: str) -> None:
    """Accept a question or query.

    Raises:
        UsageError: If it is empty, too long or no text at all.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("the question is not UTF-8 text; type or convert it anew") from None
    if not text.strip():
        raise UsageError("the question is empty")
    if len(text) > MAX_CHARS:
        raise UsageError(
            f"the question has {len(text)} characters, at most {MAX_CHARS} are read; "
            "ingest long text as a document and ask about it"
        )


def parse_filters(conditions: Sequence[str | Filter]) -> tuple[Filter, ...]:
    """Read `key=value`, `key>=3`, `path^=/home/reports`, `year=2020,2021` (any of these).

    A value is a number, a date or true/false where it looks like one; quote it to keep it text.

    Raises:
        UsageError: If a condition has another form.
    """
    return tuple(each if isinstance(each, Filter) else _parse(each) for each in conditions)


def _parse(text: str) -> Filter:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"filter {text!r}: not UTF-8 text; type or convert it anew") from None
    match = _FORM.fullmatch(text)
    if match is None or not match["value"]:
        raise UsageError(f"filter {text!r}: write it as key=value, with = != < <= > >= or ^=")
    op = _OPS.get(match["op"], match["op"])
    values = [typed(part) for part in match["value"].split(",")]
    if len(values) > 1:
        if op != "=":
            raise UsageError(f"filter {text!r}: several values go with = only")
        return Filter(match["key"], "in", tuple(values))
    return Filter(match["key"], op, values[0])  # type: ignore[arg-type]  # one of _FORM's
