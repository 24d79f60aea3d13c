"""Answers against gold answers, by the rules of the SQuAD 2.0 script (Rajpurkar et al. 2018)."""

import re
import string
from collections import Counter
from collections.abc import Sequence

ARTICLES = ("a", "an", "the", "sang", "si", "sebuah", "seorang", "seekor", "suatu")
"""Those of the script, and what Indonesian uses in their place."""
YES_NO = frozenset({"yes", "no", "ya", "tidak"})
NEAR = 0.5
"""From this F1 on an answer that is not the gold one in full is right, if its numbers are."""

_ARTICLE = re.compile(rf"\b({'|'.join(ARTICLES)})\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKER = re.compile(r"\s*\[\d+\]")


def tokens(text: str) -> list[str]:
    """The words that count: lower case, without ASCII punctuation and articles."""
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def unmarked(text: str) -> str:
    """An answer's text without the markers of its citations."""
    return _MARKER.sub("", text).strip()


def exact_match(said: str, gold: Sequence[str]) -> float:
    """1 if the answer is one of the gold ones, else 0."""
    return float(any(tokens(said) == tokens(each) for each in gold))


def f1(said: str, gold: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of the words, for the gold answer nearest to it."""
    return max((_f1(tokens(said), tokens(each)) for each in gold), default=0.0)


def _f1(said: list[str], gold: list[str]) -> float:
    if not said or not gold:
        return float(said == gold)
    common = sum((Counter(said) & Counter(gold)).values())
    return 2 * common / (len(said) + len(gold))


def holds(text: str, answer: str) -> bool:
    """Whether the words of the answer stand in the text, one after the other."""
    words, wanted = tokens(text), tokens(answer)
    places = range(len(words) - len(wanted) + 1)
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in places)


def is_right(said: str, gold: Sequence[str], wrong: Sequence[str] = ()) -> bool:
    """Whether people would let an answer pass as one of the gold ones.

    It does if it holds a gold answer, or shares half of its words with one (F1 at least `NEAR`)
    and has the same numbers; yes and no must be its first word. An answer that is nearer to a
    known wrong one does not.
    """
    if wrong and f1(said, wrong) > f1(said, gold):
        return False
    return any(_is_right(said, each) for each in gold)


def _is_right(said: str, gold: str) -> bool:
    words, wanted = tokens(said), tokens(gold)
    if len(wanted) == 1 and wanted[0] in YES_NO:
        return words[:1] == wanted
    if holds(said, gold):
        return True
    return bool(wanted) and _f1(words, wanted) >= NEAR and _numbers(words) == _numbers(wanted)


def _numbers(words: list[str]) -> set[str]:
    return {word for word in words if any(char.isdigit() for char in word)}


def all_and_only(readings: Sequence[str], gold: Sequence[str], wrong: Sequence[str]) -> float:
    """RAMDocs' exact match (Wang et al. 2025): every gold answer is given, and no wrong one.

    Args:
        readings: All that was answered: the answer and the readings it conflicts with.
        gold: Each must stand in one of the readings.
        wrong: None may, unless it is a part of a gold answer that stands there.
    """
    missing = [each for each in gold if not any(holds(said, each) for said in readings)]
    if missing or not gold:
        return 0.0
    return float(not any(_gives(said, each, gold) for said in readings for each in wrong))


def _gives(said: str, wrong: str, gold: Sequence[str]) -> bool:
    """Whether the wrong answer stands there, other than inside of a gold one."""
    inside = any(holds(each, wrong) and holds(said, each) for each in gold)
    return holds(said, wrong) and not inside
