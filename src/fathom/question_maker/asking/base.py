"""A question posed by rule, and the test whether a sentence is fit for one."""

import re
from dataclasses import dataclass

from fathom.types import Span

_LEAST_WORDS, _MOST_WORDS = 4, 45
"""Words of a sentence that can be asked about."""
_MARKUP = re.compile(r"[|\\{}<>=_\[\]\u2026]|https?:|\s-\s*$|\n\s*\n|^\W*\d+[.)]")
_ENDS = re.compile(r"[.](?:[\"'\u201d)]*)$")
_BLANKS = re.compile(r"\s+")
_BLANK_BEFORE_MARK = re.compile(r"(?<!\s)\s+([,.;:?])")
_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class PosedQuestion:
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


def is_plain(sentence: str) -> bool:
    """Return whether a sentence is whole, of a usual length, and free of markup and code."""
    words = sentence.split()
    return (
        _LEAST_WORDS <= len(words) <= _MOST_WORDS
        and not _MARKUP.search(sentence)
        and sentence[0].isupper()
        and bool(_ENDS.search(sentence))
        # An open bracket or quotation mark means that the sentence was split wrongly.
        and sentence.count("(") == sentence.count(")")
        and sentence.count('"') % 2 == 0
    )


def tidy_question(question: str) -> str:
    """Return a question in one line, with single blanks, none before marks, and no brackets."""
    text = _BLANKS.sub(" ", _BRACKETS.sub("", question)).strip().rstrip(".,;: ?")
    text = _BLANK_BEFORE_MARK.sub(r"\1", text).replace(" 's ", "'s ")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""
