"""Titles of documents within a question, put in quotation marks so that rules take them as names.

The rules for names know capitals only. They cut "Superman IV: The Quest for Peace" in two, and do
not see "back to the future" at all; a document with that title tells that it is one name.
"""

import re
from collections.abc import Iterable

from fathom.question.clauses import LONGEST_QUESTION, find_mentions
from fathom.types import Span

_QUALIFIER = re.compile(r"(?<!\s)\s*\([^()]*\)$")
"""The qualifier behind a title: "Aladdin (2019 film)"."""
_MARKS = re.compile(r"[\"“”«»]")
_FEWEST_WORDS, _FEWEST_SMALL_WORDS = 2, 3
"""The words of a title that counts, with a capital and without any."""
_LONGEST_TITLE = 80


def quote_titles(question: str, titles: Iterable[str]) -> str:
    """Return the question with marks around the titles that it names; longer titles come first.

    A title within a name or a quotation of the question stays as it is.
    """
    if len(question) > LONGEST_QUESTION:
        return question
    names = {_QUALIFIER.sub("", title).strip() for title in titles}
    for name in sorted(names, key=lambda name: (-len(name), name)):
        span = _find_title(question, name)
        if span is not None:
            question = f'{question[: span.start]}"{span.cut(question)}"{question[span.end :]}'
    return question


def _find_title(question: str, name: str) -> Span | None:
    """Return the span of a title in a question; `None` where marks would change nothing."""
    words = len(name.split())
    if _MARKS.search(name) or words < _FEWEST_WORDS or len(name) > _LONGEST_TITLE:
        return None
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question, re.IGNORECASE)
    if match is None or (match[0].islower() and words < _FEWEST_SMALL_WORDS):
        return None
    span = Span(*match.span())
    mentions = find_mentions(question)
    is_inside = any(name.start <= span.start and span.end <= name.end for name in mentions)
    return None if is_inside else span
