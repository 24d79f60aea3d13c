"""Query expansion by synonyms and by feedback, and scores for the query terms in a hit."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import fsum

from fathom.retrieval.base import rank_hits
from fathom.text.content_words import Terms
from fathom.types import DIGITS, Chunk, Hit

Words = Callable[[str], Iterable[str]]
"""Returns the content words of a text in order, with repetitions."""


def expand_query(query: str, synonyms: Mapping[str, Sequence[str]]) -> str:
    """Return the query followed by the synonyms of its terms (MAF-RAG, q'), in the terms' order.

    Args:
        query: Any text.
        synonyms: Lower-case term to its synonyms. The query must hold a term as whole words, in any
            capitals; a longer term hides the shorter ones within it. A synonym that the query holds
            already is not added.
    """
    added: list[str] = []
    for term in _find_terms(query, synonyms):
        for synonym in synonyms.get(term, ()):
            expanded_query = " ".join([query, *added])
            if not re.search(_build_word_pattern(synonym), expanded_query, re.IGNORECASE):
                added.append(synonym)
    return " ".join([query, *added])


def _find_terms(query: str, synonyms: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the terms that stand in the query, in its order."""
    if not synonyms:
        return []
    # A regular expression takes the first alternative that fits, not the longest.
    longest_first = sorted(synonyms, key=lambda term: (-len(term), term))
    matches = re.finditer(
        "|".join(_build_word_pattern(term) for term in longest_first), query, re.IGNORECASE
    )
    return list(dict.fromkeys(" ".join(match.group().lower().split()) for match in matches))


def _build_word_pattern(term: str) -> str:
    words = r"\s+".join(map(re.escape, term.split()))
    return rf"(?<!\w){words}(?!\w)"


def measure_key_match(query: str, chunk: Chunk, terms: Terms) -> float:
    """Return the share of the query's distinct content words in the chunk, title included."""
    query_terms = terms(query)
    return len(query_terms & terms(chunk.context)) / len(query_terms) if query_terms else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancedScore:
    """The score and the filter of MAF-RAG's enhanced vector retrieval (equation 3).

    Attributes:
        extract_terms: Returns the content words of a text.
        weight: alpha, the share of the cosine, in [0, 1]; the rest is KeyMatch's.
        floor: The score that a hit must exceed to be kept.
    """

    extract_terms: Terms
    weight: float = 0.7
    floor: float = 0.35
    name: str = "evr"

    def __call__(self, query: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits above the floor by weight * cosine + (1 - weight) * KeyMatch, best first.

        Args:
            query: The expanded query.
            hits: Hits of a vector search with that query; their scores are cosines.
        """
        scored = [replace(hit, score=self._score(query, hit), retriever=self.name) for hit in hits]
        above = [hit for hit in scored if hit.score > self.floor]
        return rank_hits(sorted(above, key=lambda hit: (-hit.score, hit.rank, hit.chunk.id)))

    def _score(self, query: str, hit: Hit) -> float:
        match = measure_key_match(query, hit.chunk, self.extract_terms)
        return round(self.weight * hit.score + (1 - self.weight) * match, DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceFeedback:
    """Pseudo-relevance feedback by RM3 (Abdul-Jaleel et al. 2004): words of the best hits.

    Attributes:
        extract_words: Returns the content words of a text.
        hits: The number of best hits that count as relevant.
        count: The number of words to add.
        original: The share of the original query in the model, in [0, 1].
    """

    extract_words: Words
    hits: int = 10
    count: int = 10
    original: float = 0.5

    def build_model(self, query: str, hits: Sequence[Hit]) -> dict[str, float]:
        """Return the RM3 distribution over words, likeliest first, ties by alphabet.

        P(w) = original * P(w | query) + (1 - original) * sum over hits of P(w | hit) * P(hit),
        where P(w | text) is the share of w in the words of the text, and P(hit) the hit's share of
        the scores. Negative scores count as 0; without a positive score all hits count alike.
        """
        best = hits[: self.hits]
        gains_by_word: dict[str, list[float]] = {}
        for share, text in [
            (self.original, query),
            *zip(self._weigh_hits(best), (hit.chunk.text for hit in best), strict=True),
        ]:
            counts = Counter(self.extract_words(text))
            for word, number in counts.items():
                gains_by_word.setdefault(word, []).append(share * number / counts.total())
        # Rounded, so that words with equal weights tie exactly and the alphabet decides.
        weights = {word: round(fsum(gains), 12) for word, gains in gains_by_word.items()}
        return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0])))

    def _weigh_hits(self, hits: Sequence[Hit]) -> list[float]:
        scores = [max(0.0, hit.score) for hit in hits]
        if not any(scores):
            scores = [1.0] * len(hits)
        return [(1 - self.original) * score / fsum(scores) for score in scores]

    def select_terms(self, query: str, hits: Sequence[Hit]) -> tuple[str, ...]:
        """Return the likeliest words that the query does not hold."""
        query_words = set(self.extract_words(query))
        model = self.build_model(query, hits)
        new = (word for word, weight in model.items() if weight > 0 and word not in query_words)
        return tuple(islice(new, self.count))

    def __call__(self, query: str, hits: Sequence[Hit]) -> str:
        """Return the query followed by the words of the hits."""
        return " ".join([query, *self.select_terms(query, hits)])
