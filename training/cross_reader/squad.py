"""The figures of extractive reading: SQuAD's EM and F1, AUROC, balanced accuracy, nDCG."""

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Normalize as SQuAD does: lower case, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def compute_exact(answer: str, golds: Iterable[str]) -> float:
    """Return 1 if `answer` equals one of `golds`, else 0; "" stands for no answer."""
    return float(any(normalize_answer(answer) == normalize_answer(gold) for gold in golds))


def compute_f1(answer: str, golds: Iterable[str]) -> float:
    """Return the best overlap of words with one of `golds`, 0 to 1."""
    return max(
        _compute_f1(normalize_answer(answer).split(), normalize_answer(gold).split())
        for gold in golds
    )


def _compute_f1(words: list[str], gold: list[str]) -> float:
    if not words or not gold:
        return float(words == gold)
    common = sum((Counter(words) & Counter(gold)).values())
    return 2 * common / (len(words) + len(gold))


def compute_auroc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Return the probability that a right one scores above a wrong one; ties count half."""
    order = sorted({*right, *wrong})
    below_right, below_wrong = Counter(right), Counter(wrong)
    count_seen, area = 0.0, 0.0
    for value in order:
        area += below_right[value] * (count_seen + below_wrong[value] / 2)
        count_seen += below_wrong[value]
    return area / (len(right) * len(wrong))


def compute_balanced_accuracy(predictions: Sequence[bool], true: Sequence[bool]) -> float:
    """Return the mean of the shares predicted right among the true and among the false."""
    pairs = list(zip(predictions, true, strict=True))
    shares = []
    for label in (True, False):
        hits = [guess == label for guess, truth in pairs if truth == label]
        shares.append(sum(hits) / len(hits))
    return sum(shares) / 2


def compute_ndcg(
    ranking: Sequence[str], relevant: frozenset[str] | set[str], depth: int = 10
) -> float:
    """Return NDCG of a ranking with binary relevance."""
    gain = sum(
        1 / math.log2(place + 2) for place, item in enumerate(ranking[:depth]) if item in relevant
    )
    best = sum(1 / math.log2(place + 2) for place in range(min(depth, len(relevant))))
    return gain / best
