"""The keyword filter: hits that share too little of the question's weight are dropped."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fathom.domains.domain import Domain
from fathom.runs.context import RunContext
from fathom.types import Hit

Counts = Callable[[str], Mapping[str, int]]
"""How often each content word of a text occurs, stemmed."""


class HitFilter(Protocol):
    """Drops hits that are unlikely to help."""

    async def keep(
        self, question: str, hits: Sequence[Hit], context: RunContext, *, strictness: float = 1.0
    ) -> tuple[Hit, ...]:
        """The hits that stay, in their order and with their scores, as one step of the run.

        Args:
            question: What was asked.
            hits: Best first.
            context: Where it is recorded.
            strictness: Its floors are multiplied by this, in [0, 1].

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordFilter:
    """A floor on TF-IDF, with the terms of the domain counting more (agentic-hybrid, 3.3).

    The weight of a hit is the sum of (1 + ln tf) * idf over the question's words that it holds,
    as a share of the best hit's; idf is that of the hits themselves. A word also counts where
    its synonym of the domain stands. Deterministic.

    Attributes:
        floor: Hits with a smaller share are dropped, in [0, 1].
        domain_weight: How often a word counts that is a term of the domain, at least 1.
    """

    counts: Counts
    domain: Domain
    floor: float
    domain_weight: float = 2.0

    async def keep(
        self, question: str, hits: Sequence[Hit], context: RunContext, *, strictness: float = 1.0
    ) -> tuple[Hit, ...]:
        """See `HitFilter.keep`."""
        floor = self.floor * strictness
        inputs = {"chunks": [hit.chunk.id for hit in hits], "floor": floor}
        with context.step("filter", agent="keyword filter", inputs=inputs) as here:
            shares = await here.compute("filter", lambda: self.shares(question, hits))
            kept = tuple(hit for hit, share in zip(hits, shares, strict=True) if share >= floor)
            here.done(outputs={"shares": shares}, reason=f"{len(kept)} of {len(hits)} hits stay")
        return kept

    def shares(self, question: str, hits: Sequence[Hit]) -> tuple[float, ...]:
        """The TF-IDF weight of each hit as a share of the best one's, in [0, 1]."""
        wanted = self._wanted(question)
        others = self._synonyms(question)
        held = [self._held(hit, wanted, others) for hit in hits]
        found = {word: sum(word in each for each in held) for word in wanted}
        idf = {word: math.log(1 + len(hits) / n) for word, n in found.items() if n}
        sums = [
            math.fsum(wanted[word] * (1 + math.log(n)) * idf[word] for word, n in each.items())
            for each in held
        ]
        best = max(sums, default=0.0)
        # A list that shares no word with the question has nothing to compare.
        return tuple(round(each / best, 6) if best else 1.0 for each in sums)

    def _wanted(self, question: str) -> dict[str, float]:
        """The question's words and how much each counts."""
        terms = frozenset(word for term in self.domain.terms for word in self.counts(term))
        words = self.counts(question)
        return {word: self.domain_weight if word in terms else 1.0 for word in words}

    def _synonyms(self, question: str) -> dict[str, tuple[str, ...]]:
        """For words of the question, what else they are called."""
        asked = question.casefold()
        return {
            word: others
            for term, others in self.domain.synonyms.items()
            if re.search(rf"\b{re.escape(term)}\b", asked)
            for word in self.counts(term)
        }

    def _held(
        self, hit: Hit, wanted: Mapping[str, float], others: Mapping[str, tuple[str, ...]]
    ) -> dict[str, int]:
        """How often a hit holds the question's words."""
        counts = self.counts(hit.chunk.context)
        held = {word: counts[word] for word in wanted if word in counts}
        plain = hit.chunk.context.casefold() if others else ""
        for word, names in others.items():
            if word in wanted and any(name.casefold() in plain for name in names):
                held.setdefault(word, 1)
        return held
