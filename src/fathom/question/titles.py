"""Quotation marks around the titles of documents in a question, so that rules see them as names.

The rules for names look for capitals only. They cut "Superman IV: The Quest for Peace" in two and
miss "back to the future". A document with that title shows that it is one name.
"""

import re
from collections.abc import Iterable

from fathom.question.clauses import LONGEST_QUESTION, find_mentions
from fathom.types import Span

_QUALIFIER = re.compile(r"(?<!\s)\s*\([^()]*\)$")
"""The qualifier in brackets after a title: "Aladdin (2019 film)"."""
_MARKS = re.compile(r"[\"“”«»]")
_FEWEST_WORDS, _FEWEST_SMALL_WORDS = 2, 3
"""The smallest numbers of words of a title that is marked: with a capital, and without any."""
_LONGEST_TITLE = 80
"""The largest number of characters of a title that is marked."""


def quote_titles(question: str, titles: Iterable[str]) -> str:
    """Return a question with quotation marks around the titles that it mentions.

    Longer titles are marked first. A title inside a name or a quotation stays as it is.

    Args:
        question: The question.
        titles: The titles of documents; a qualifier in brackets at their end is ignored.
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
    """Return the span of a title to mark in a question.

    `None` if the question does not mention the title or already has it inside a name or quotation,
    or if the title is too short, too long or has quotation marks.
    """
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
