"""The question that a rule poses, and the check of a sentence for rules."""

import re
from dataclasses import dataclass

from fathom.types import Span

_LEAST_WORDS, _MOST_WORDS = 4, 45
"""The number of words of a sentence for rules."""
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
        rule: The name of the rule, such as `when` or `how many`.
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
    """Return whether a sentence is complete, of a usual length, and without markup and code."""
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
    """Clean up a question: one line, a capital, single blanks, and no text in brackets."""
    text = _BLANKS.sub(" ", _BRACKETS.sub("", question)).strip().rstrip(".,;: ?")
    text = _BLANK_BEFORE_MARK.sub(r"\1", text).replace(" 's ", "'s ")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""
