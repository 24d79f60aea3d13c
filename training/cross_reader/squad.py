"""The figures of extractive reading: SQuAD's EM and F1, AUROC, balanced accuracy, nDCG."""

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """As SQuAD compares answers: lower case, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(answer: str, golds: Iterable[str]) -> float:
    """1 if `answer` equals one of `golds`, else 0; "" stands for no answer."""
    return float(any(normalised(answer) == normalised(gold) for gold in golds))


def f1(answer: str, golds: Iterable[str]) -> float:
    """Best overlap of words with one of `golds`, 0 to 1."""
    return max(_f1(normalised(answer).split(), normalised(gold).split()) for gold in golds)


def _f1(words: list[str], gold: list[str]) -> float:
    if not words or not gold:
        return float(words == gold)
    common = sum((Counter(words) & Counter(gold)).values())
    return 2 * common / (len(words) + len(gold))


def auroc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Probability that a right one scores above a wrong one; ties count half."""
    order = sorted({*right, *wrong})
    below_right, below_wrong = Counter(right), Counter(wrong)
    seen, area = 0.0, 0.0
    for value in order:
        area += below_right[value] * (seen + below_wrong[value] / 2)
        seen += below_wrong[value]
    return area / (len(right) * len(wrong))


def balanced_accuracy(said: Sequence[bool], true: Sequence[bool]) -> float:
    """Mean of the share found right among the true and among the false."""
    pairs = list(zip(said, true, strict=True))
    shares = []
    for label in (True, False):
        found = [guess == label for guess, truth in pairs if truth == label]
        shares.append(sum(found) / len(found))
    return sum(shares) / 2


def ndcg(ranking: Sequence[str], relevant: frozenset[str] | set[str], depth: int = 10) -> float:
    """NDCG of a ranking with binary relevance."""
    gain = sum(
        1 / math.log2(place + 2) for place, item in enumerate(ranking[:depth]) if item in relevant
    )
    best = sum(1 / math.log2(place + 2) for place in range(min(depth, len(relevant))))
    return gain / best
