"""Scores of answers against gold answers, as in the SQuAD 2.0 script (Rajpurkar et al. 2018)."""

import re
import string
from collections import Counter
from collections.abc import Sequence

ARTICLES = ("a", "an", "the", "sang", "si", "sebuah", "seorang", "seekor", "suatu")
"""The articles that are ignored: those of the script, and Indonesian words of that kind."""
YES_NO = frozenset({"yes", "no", "ya", "tidak"})
"""The gold answers that must be the first word of an answer."""
NEAR = 0.5
"""The lowest F1 of a right answer that does not contain the whole gold answer."""

_ARTICLE = re.compile(rf"\b({'|'.join(ARTICLES)})\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKER = re.compile(r"(?<!\s)\s*\[\d+\]")


def split_tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, without ASCII punctuation and articles."""
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def strip_markers(text: str) -> str:
    """Return an answer's text without the markers of citations, such as `[1]`."""
    return _MARKER.sub("", text).strip()


def score_exact_match(answer: str, gold: Sequence[str]) -> float:
    """Return 1 if the tokens of the answer equal those of a gold answer, else 0."""
    return float(any(split_tokens(answer) == split_tokens(accepted) for accepted in gold))


def score_f1(answer: str, gold: Sequence[str]) -> float:
    """Return the F1 of an answer's words for the nearest gold answer, in [0, 1].

    F1 is the harmonic mean of precision and recall; 0 without gold answers.
    """
    return max(
        (_score_words(split_tokens(answer), split_tokens(accepted)) for accepted in gold),
        default=0.0,
    )


def _score_words(answer: list[str], gold: list[str]) -> float:
    """Return the F1 of two lists of words, in [0, 1]; 1 if both are empty, 0 if only one is."""
    if not answer or not gold:
        return float(answer == gold)
    common = sum((Counter(answer) & Counter(gold)).values())
    return 2 * common / (len(answer) + len(gold))


def holds_answer(text: str, answer: str) -> bool:
    """Return whether a text contains the words of an answer in a row; false without words."""
    words, answer_words = split_tokens(text), split_tokens(answer)
    places = range(len(words) - len(answer_words) + 1)
    return bool(answer_words) and any(
        words[place : place + len(answer_words)] == answer_words for place in places
    )


def is_right(answer: str, gold: Sequence[str], wrong: Sequence[str] = ()) -> bool:
    """Return whether people would likely accept an answer as one of the gold answers.

    An answer is right if it contains a gold answer, or if its F1 with one is at least `NEAR` and
    both have the same numbers. A gold answer of yes or no must be its first word.

    Args:
        answer: The answer.
        gold: The gold answers.
        wrong: Known wrong answers; an answer with a higher F1 for these than for gold is not right.
    """
    if wrong and score_f1(answer, wrong) > score_f1(answer, gold):
        return False
    return any(_matches_gold(answer, accepted) for accepted in gold)


def _matches_gold(answer: str, gold: str) -> bool:
    """Return whether people would likely accept an answer as this gold answer."""
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
    """Return the words with a digit."""
    return {word for word in words if any(char.isdigit() for char in word)}


def score_all_and_only(readings: Sequence[str], gold: Sequence[str], wrong: Sequence[str]) -> float:
    """Return the exact match of RAMDocs (Wang et al. 2025): 1 for all gold and no wrong answers.

    Args:
        readings: The answer, and the readings that conflict with it.
        gold: The answers of which each must be in a reading.
        wrong: The answers of which none may be in a reading, except inside a gold answer there.

    Returns:
        1 or 0; 0 without gold answers.
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
    """Return whether a reading contains a wrong answer that is not inside a gold answer in it."""
    is_inside_gold = any(
        holds_answer(accepted, wrong) and holds_answer(reading, accepted) for accepted in gold
    )
    return holds_answer(reading, wrong) and not is_inside_gold
