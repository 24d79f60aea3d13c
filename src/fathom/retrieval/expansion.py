"""Query expansion by synonyms (MAF-RAG) and by relevance feedback (RM3), and MAF-RAG's score."""

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
    """Return the query followed by the synonyms of its terms (q' of MAF-RAG, section II.A).

    The synonyms come in the order of the terms in the query. A synonym that the query already holds
    is not added.

    Args:
        query: Any text.
        synonyms: The synonyms of each term, which is in lower case. The query holds a term if it
            has its words as whole words, in any capitals; a longer term hides shorter ones in it.
    """
    added: list[str] = []
    for term in _find_terms(query, synonyms):
        for synonym in synonyms.get(term, ()):
            expanded_query = " ".join([query, *added])
            if not re.search(_build_word_pattern(synonym), expanded_query, re.IGNORECASE):
                added.append(synonym)
    return " ".join([query, *added])


def _find_terms(query: str, synonyms: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the terms that the query holds, in their order there, each once."""
    if not synonyms:
        return []
    # A regular expression takes the first alternative that fits, not the longest.
    longest_first = sorted(synonyms, key=lambda term: (-len(term), term))
    matches = re.finditer(
        "|".join(_build_word_pattern(term) for term in longest_first), query, re.IGNORECASE
    )
    return list(dict.fromkeys(" ".join(match.group().lower().split()) for match in matches))


def _build_word_pattern(term: str) -> str:
    """Return a regular expression for a term as whole words, with any white space between them."""
    words = r"\s+".join(map(re.escape, term.split()))
    return rf"(?<!\w){words}(?!\w)"


def measure_key_match(query: str, chunk: Chunk, terms: Terms) -> float:
    """Return KeyMatch of MAF-RAG: the share of the query's content words that a chunk holds.

    Args:
        query: The expanded query.
        chunk: The chunk; its title and headings count too.
        terms: A function that returns the distinct content words of a text.

    Returns:
        The share, in [0, 1]; 0 for a query without content words.
    """
    query_terms = terms(query)
    return len(query_terms & terms(chunk.context)) / len(query_terms) if query_terms else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancedScore:
    """The score and the filter of MAF-RAG's enhanced vector retrieval (S_hybrid, section II.A).

    Attributes:
        extract_terms: A function that returns the content words of a text.
        weight: The weight of the cosine (the paper's alpha), in [0, 1]; KeyMatch has the rest.
        floor: The score that a hit must exceed to be kept.
        name: The name of the retriever in the hits.
    """

    extract_terms: Terms
    weight: float = 0.7
    floor: float = 0.35
    name: str = "evr"

    def __call__(self, query: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits that score above the floor, best first.

        The score is weight * cosine + (1 - weight) * KeyMatch.

        Args:
            query: The expanded query.
            hits: The hits of a vector search for that query; their scores are cosines.
        """
        scored = [replace(hit, score=self._score(query, hit), retriever=self.name) for hit in hits]
        above = [hit for hit in scored if hit.score > self.floor]
        return rank_hits(sorted(above, key=lambda hit: (-hit.score, hit.rank, hit.chunk.id)))

    def _score(self, query: str, hit: Hit) -> float:
        """Return the score of a hit, rounded."""
        match = measure_key_match(query, hit.chunk, self.extract_terms)
        return round(self.weight * hit.score + (1 - self.weight) * match, DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceFeedback:
    """Pseudo-relevance feedback by RM3 (Abdul-Jaleel et al. 2004), which adds words of good hits.

    Attributes:
        extract_words: A function that returns the content words of a text, with repetitions.
        hits: The number of best hits that count as relevant.
        count: The largest number of words to add.
        original: The share of the original query in the model, in [0, 1].
    """

    extract_words: Words
    hits: int = 10
    count: int = 10
    original: float = 0.5

    def build_model(self, query: str, hits: Sequence[Hit]) -> dict[str, float]:
        """Return the RM3 distribution over words: the likeliest first, ties by alphabet.

        P(w) = original * P(w | query) + (1 - original) * sum over hits of P(w | hit) * P(hit).
        P(w | text) is the share of w among the words of the text, and P(hit) is the hit's share of
        the sum of scores. Negative scores count as 0; without a positive score all hits count
        alike.
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
        # Weights are rounded, so that equal ones tie exactly and the alphabet decides.
        weights = {word: round(fsum(gains), 12) for word, gains in gains_by_word.items()}
        return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0])))

    def _weigh_hits(self, hits: Sequence[Hit]) -> list[float]:
        """Return the share of each hit in the model; they add up to 1 - `original`."""
        scores = [max(0.0, hit.score) for hit in hits]
        if not any(scores):
            scores = [1.0] * len(hits)
        return [(1 - self.original) * score / fsum(scores) for score in scores]

    def select_terms(self, query: str, hits: Sequence[Hit]) -> tuple[str, ...]:
        """Return at most `count` words that the query does not hold, the likeliest first."""
        query_words = set(self.extract_words(query))
        model = self.build_model(query, hits)
        new = (word for word, weight in model.items() if weight > 0 and word not in query_words)
        return tuple(islice(new, self.count))

    def __call__(self, query: str, hits: Sequence[Hit]) -> str:
        """Return the query followed by the likeliest words of its hits, which are best first."""
        return " ".join([query, *self.select_terms(query, hits)])
