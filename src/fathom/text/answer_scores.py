"""Scores of answers against gold answers, by the SQuAD 2.0 script (Rajpurkar et al. 2018)."""

import re
import string
from collections import Counter
from collections.abc import Sequence

ARTICLES = ("a", "an", "the", "sang", "si", "sebuah", "seorang", "seekor", "suatu")
"""The articles of the script, and the Indonesian words in their place."""
YES_NO = frozenset({"yes", "no", "ya", "tidak"})
NEAR = 0.5
"""The least F1 of an answer that is right although it does not hold the gold answer in full."""

_ARTICLE = re.compile(rf"\b({'|'.join(ARTICLES)})\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKER = re.compile(r"(?<!\s)\s*\[\d+\]")


def split_tokens(text: str) -> list[str]:
    """Return the words that count: in lower case, without ASCII punctuation and articles."""
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def strip_markers(text: str) -> str:
    """Return an answer's text without the markers of its citations."""
    return _MARKER.sub("", text).strip()


def score_exact_match(answer: str, gold: Sequence[str]) -> float:
    """Return 1 if the answer is one of the gold answers, else 0."""
    return float(any(split_tokens(answer) == split_tokens(accepted) for accepted in gold))


def score_f1(answer: str, gold: Sequence[str]) -> float:
    """Return the harmonic mean of word precision and recall, for the nearest gold answer."""
    return max(
        (_score_words(split_tokens(answer), split_tokens(accepted)) for accepted in gold),
        default=0.0,
    )


def _score_words(answer: list[str], gold: list[str]) -> float:
    """Return the F1 of two lists of words."""
    if not answer or not gold:
        return float(answer == gold)
    common = sum((Counter(answer) & Counter(gold)).values())
    return 2 * common / (len(answer) + len(gold))


def holds_answer(text: str, answer: str) -> bool:
    """Return whether the words of the answer stand in the text, in a row."""
    words, answer_words = split_tokens(text), split_tokens(answer)
    places = range(len(words) - len(answer_words) + 1)
    return bool(answer_words) and any(
        words[place : place + len(answer_words)] == answer_words for place in places
    )


def is_right(answer: str, gold: Sequence[str], wrong: Sequence[str] = ()) -> bool:
    """Return whether people would accept an answer as one of the gold answers.

    They do if it holds a gold answer, or shares half of its words with one (F1 at least `NEAR`) and
    has the same numbers. Yes and no must be its first word. An answer that is nearer to a known
    wrong answer is not accepted.
    """
    if wrong and score_f1(answer, wrong) > score_f1(answer, gold):
        return False
    return any(_matches_gold(answer, accepted) for accepted in gold)


def _matches_gold(answer: str, gold: str) -> bool:
    """Return whether people would accept an answer as this gold answer."""
    words, gold_words = split_tokens(answer), split_tokens(gold)
    if len(gold_words) == 1 and gold_words[0] in YES_NO:
        return words[:1] == gold_words
    if holds_answer(answer, gold):
        return True
    return (
        bool(gold_words)
        and _score_words(words, gold_words) >= NEAR
        and _select_numbers(words) == _select_numbers(gold_words)
    )


def _select_numbers(words: list[str]) -> set[str]:
    """Return the words that hold a digit."""
    return {word for word in words if any(char.isdigit() for char in word)}


def score_all_and_only(readings: Sequence[str], gold: Sequence[str], wrong: Sequence[str]) -> float:
    """Return RAMDocs' exact match (Wang et al. 2025): 1 if all gold answers and no wrong are given.

    Args:
        readings: The answer, and the readings that it conflicts with.
        gold: Answers that must each stand in one of the readings.
        wrong: Answers that may not stand in any reading, unless as a part of a gold answer there.
    """
    missing = [
        answer for answer in gold if not any(holds_answer(reading, answer) for reading in readings)
    ]
    if missing or not gold:
        return 0.0
    return float(
        not any(
            _gives_wrong_answer(reading, answer, gold) for reading in readings for answer in wrong
        )
    )


def _gives_wrong_answer(reading: str, wrong: str, gold: Sequence[str]) -> bool:
    """Return whether the wrong answer stands in a reading, other than inside of a gold answer."""
    is_inside_gold = any(
        holds_answer(accepted, wrong) and holds_answer(reading, accepted) for accepted in gold
    )
    return holds_answer(reading, wrong) and not is_inside_gold
