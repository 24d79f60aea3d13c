"""Whether two short answers say the same."""

import re

_ARTICLES = re.compile(r"\b(?:a|an|the|sang|si)\b")
_MARKS = re.compile(r"[^\w\s]")


def folded(answer: str) -> str:
    """An answer without capitals, punctuation, articles and extra blanks.

    English as SQuAD compares answers (Rajpurkar et al. 2016), and the same for Indonesian. What
    is nothing but that stays as it is.
    """
    plain = _MARKS.sub("", answer.casefold())
    return " ".join(_ARTICLES.sub(" ", plain).split()) or " ".join(answer.split())


def same(one: str, other: str) -> bool:
    """Whether one answer holds all words of the other, in a row."""
    first, second = f" {folded(one)} ", f" {folded(other)} "
    return first in second or second in first
