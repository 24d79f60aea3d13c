"""What a question made of a sentence is, and when a sentence can be asked about at all."""

import re
from dataclasses import dataclass

from fathom.types import Span

_LEAST, _MOST = 4, 45  # words of a sentence
_ODD = re.compile(r"[|\\{}<>=_\[\]\u2026]|https?:|\s-\s*$|\n\s*\n|^\W*\d+[.)]")
_ENDS = re.compile(r"[.](?:[\"'\u201d)]*)$")
_BLANKS = re.compile(r"\s+")
_MARKS = re.compile(r"\s+([,.;:?])")
_ASIDE = re.compile(r"\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Posed:
    """A question with its answer.

    Attributes:
        text: The question.
        answer: Where the answer stands in the sentence.
        rule: Which pattern it was made by: `when`, `how many`, ...
        numeric: Whether a number or an amount is asked for.
        several: Whether a list is asked for.
        subject: What the question is about, as the sentence names it.
        items: Of a list: its members.
    """

    text: str
    answer: Span
    rule: str
    numeric: bool = False
    several: bool = False
    subject: str = ""
    items: tuple[str, ...] = ()


def plain(sentence: str) -> bool:
    """Whether a sentence is whole, of a usual length, and holds no markup, code or table."""
    words = sentence.split()
    return (
        _LEAST <= len(words) <= _MOST
        and not _ODD.search(sentence)
        and sentence[0].isupper()
        and bool(_ENDS.search(sentence))
        and sentence.count("(") == sentence.count(")")
        and sentence.count('"') % 2 == 0
    )


def tidy(question: str) -> str:
    """A question in one line: one blank between words, none before marks, no asides."""
    text = _BLANKS.sub(" ", _ASIDE.sub("", question)).strip().rstrip(".,;: ?")
    text = _MARKS.sub(r"\1", text).replace(" 's ", "'s ")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""
