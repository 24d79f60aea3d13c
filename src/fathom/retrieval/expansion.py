"""Queries in more words, and hits scored by how many of those words they hold."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import fsum

from fathom.retrieval.context_selection import ranked
from fathom.text.content_words import Terms
from fathom.types import Chunk, Hit

Words = Callable[[str], Iterable[str]]
"""The content words of a text in order, with repetitions."""

_DIGITS = 6


def expanded(query: str, synonyms: Mapping[str, Sequence[str]]) -> str:
    """The query followed by the synonyms of its terms (MAF-RAG, q'), in the order of the terms.

    Args:
        query: Any text.
        synonyms: Lower-case term to what else it is called. A term must stand in the query as
            whole words, in any capitals; a longer one hides the shorter ones within it. What the
            query holds already is not added.
    """
    added: list[str] = []
    for term in _terms_in(query, synonyms):
        for other in synonyms.get(term, ()):
            said = " ".join([query, *added])
            if not _pattern(other).search(said):
                added.append(other)
    return " ".join([query, *added])


def _terms_in(query: str, synonyms: Mapping[str, Sequence[str]]) -> list[str]:
    """Terms that stand in the query, by place."""
    if not synonyms:
        return []
    longest_first = sorted(synonyms, key=lambda term: (-len(term), term))
    found = re.finditer("|".join(_bounded(term) for term in longest_first), query, re.IGNORECASE)
    return list(dict.fromkeys(" ".join(match.group().lower().split()) for match in found))


def _bounded(term: str) -> str:
    words = r"\s+".join(map(re.escape, term.split()))
    return rf"(?<!\w){words}(?!\w)"


def _pattern(term: str) -> re.Pattern[str]:
    return re.compile(_bounded(term), re.IGNORECASE)


def key_match(query: str, chunk: Chunk, terms: Terms) -> float:
    """Share of the query's distinct content words that the chunk holds, title included."""
    wanted = terms(query)
    return len(wanted & terms(chunk.context)) / len(wanted) if wanted else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancedScore:
    """Scores and filters hits as MAF-RAG's enhanced vector retrieval does (equation 3).

    Attributes:
        terms: Content words of a text.
        weight: alpha, share of the cosine, in [0, 1]; the rest is KeyMatch's.
        floor: Hits that score no more than this are dropped.
    """

    terms: Terms
    weight: float = 0.7
    floor: float = 0.35
    name: str = "evr"

    def __call__(self, query: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """The hits above the floor by weight * cosine + (1 - weight) * KeyMatch, best first.

        Args:
            query: The expanded query.
            hits: Of a vector search with that query; their scores are cosines.
        """
        scored = [replace(hit, score=self._score(query, hit), retriever=self.name) for hit in hits]
        kept = [hit for hit in scored if hit.score > self.floor]
        return ranked(sorted(kept, key=lambda hit: (-hit.score, hit.rank, hit.chunk.id)))

    def _score(self, query: str, hit: Hit) -> float:
        match = key_match(query, hit.chunk, self.terms)
        return round(self.weight * hit.score + (1 - self.weight) * match, _DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Pseudo-relevance feedback by RM3 (Abdul-Jaleel et al. 2004): words of the best hits.

    Attributes:
        words: Content words of a text.
        hits: So many of the best hits are believed.
        count: So many words are added.
        original: Share of the original query in the model, in [0, 1].
    """

    words: Words
    hits: int = 10
    count: int = 10
    original: float = 0.5

    def model(self, query: str, hits: Sequence[Hit]) -> dict[str, float]:
        """The RM3 distribution over words, likeliest first, ties by alphabet.

        P(w) = original * P(w | query) + (1 - original) * sum over hits of P(w | hit) * P(hit),
        where P(w | text) is the share of w in the words of the text, and P(hit) the hit's share
        of the scores; negative scores count as 0, and all hits alike when none is positive.
        """
        best = hits[: self.hits]
        parts: dict[str, list[float]] = {}
        for share, text in [
            (self.original, query),
            *zip(self._shares(best), (hit.chunk.text for hit in best), strict=True),
        ]:
            counts = Counter(self.words(text))
            for word, number in counts.items():
                parts.setdefault(word, []).append(share * number / counts.total())
        weights = {word: round(fsum(gains), 12) for word, gains in parts.items()}
        return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0])))

    def _shares(self, hits: Sequence[Hit]) -> list[float]:
        scores = [max(0.0, hit.score) for hit in hits]
        if not any(scores):
            scores = [1.0] * len(hits)
        return [(1 - self.original) * score / fsum(scores) for score in scores]

    def terms(self, query: str, hits: Sequence[Hit]) -> tuple[str, ...]:
        """The likeliest words that the query does not hold."""
        known = set(self.words(query))
        model = self.model(query, hits)
        new = (word for word, weight in model.items() if weight > 0 and word not in known)
        return tuple(islice(new, self.count))

    def __call__(self, query: str, hits: Sequence[Hit]) -> str:
        """The query followed by the words of the hits."""
        return " ".join([query, *self.terms(query, hits)])
