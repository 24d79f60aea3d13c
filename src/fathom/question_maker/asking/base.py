"""A question posed by rule, and the test whether a sentence is fit for one."""

import re
from dataclasses import dataclass

from fathom.types import Span

_LEAST, _MOST = 4, 45
"""Words of a sentence that can be asked about."""
_ODD = re.compile(r"[|\\{}<>=_\[\]\u2026]|https?:|\s-\s*$|\n\s*\n|^\W*\d+[.)]")
_ENDS = re.compile(r"[.](?:[\"'\u201d)]*)$")
_BLANKS = re.compile(r"\s+")
_MARKS = re.compile(r"\s+([,.;:?])")
_ASIDE = re.compile(r"\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Posed:
    """A question that a sentence answers.

    Attributes:
        text: The question.
        answer: The span of the answer in the sentence.
        rule: The pattern behind the question: `when`, `how many`, ...
        numeric: Whether the answer is a number or an amount.
        several: Whether the answer is a list.
        subject: The subject of the question, as the sentence names it.
        items: The items of a list.
    """

    text: str
    answer: Span
    rule: str
    numeric: bool = False
    several: bool = False
    subject: str = ""
    items: tuple[str, ...] = ()


def plain(sentence: str) -> bool:
    """Return whether a sentence is whole, of a usual length, and free of markup and code."""
    words = sentence.split()
    return (
        _LEAST <= len(words) <= _MOST
        and not _ODD.search(sentence)
        and sentence[0].isupper()
        and bool(_ENDS.search(sentence))
        # An open bracket or quotation mark means that the sentence was split wrongly.
        and sentence.count("(") == sentence.count(")")
        and sentence.count('"') % 2 == 0
    )


def tidy(question: str) -> str:
    """Return a question in one line, with single blanks, none before marks, and no brackets."""
    text = _BLANKS.sub(" ", _ASIDE.sub("", question)).strip().rstrip(".,;: ?")
    text = _MARKS.sub(r"\1", text).replace(" 's ", "'s ")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""
