"""The keyword filter: drops hits whose TF-IDF weight for the question is too low."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from fathom.domains.domain import Domain
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.settings.hybrid import HybridSettings
from fathom.text.analyzer import Analyzer
from fathom.types import Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

CountWords = Callable[[str], Mapping[str, int]]
"""A function that counts the occurrences of each stemmed content word of a text."""


class HitFilter(Protocol):
    """A role that drops hits that are unlikely to help."""

    async def keep(
        self,
        question: Question,
        hits: Sequence[Hit],
        context: RunContext,
        *,
        strictness: float = 1.0,
        entities: Sequence[str] = (),
    ) -> tuple[Hit, ...]:
        """Return the hits that stay, in their order and with their scores, as one step of the run.

        Args:
            question: The question.
            hits: The hits, best first.
            context: The run that records the step.
            strictness: The factor on the filter's floors, in [0, 1].
            entities: The names, numbers and quoted texts of the question. A hit that contains all
                of them stays, whatever the floors.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


def holds_entities(hit: Hit, entities: Sequence[str]) -> bool:
    """Return whether a hit contains all entities as whole words; `False` without entities."""
    text = hit.chunk.context
    names = (re.escape(entity.strip('"“”')) for entity in entities)
    return bool(entities) and all(
        re.search(rf"(?<!\w){name}(?!\w)", text, re.IGNORECASE) for name in names
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordFilter:
    """A floor on TF-IDF in which the domain's terms have more weight (agentic-hybrid, 3.3).

    The weight of a hit is the sum of (1 + ln tf) * idf over the question's words that the hit
    contains, divided by the best hit's weight. The idf is computed over the hits themselves. A
    synonym from the domain counts as one occurrence of its word. Deterministic.

    Attributes:
        count_words: The function that counts the stemmed content words of a text.
        domain: The domain, with its terms and synonyms.
        floor: The lowest share of the best hit's weight at which a hit stays, in [0, 1].
        domain_weight: The factor for words that are terms of the domain, at least 1.
    """

    count_words: CountWords
    domain: Domain
    floor: float
    domain_weight: float = 2.0

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the filter from the assembly."""
        section = assembly.settings.get_section(HybridSettings)
        return cls(
            count_words=Analyzer().count_query_terms,
            domain=assembly.domain,
            floor=section.tfidf_floor,
            domain_weight=section.domain_weight,
        )

    async def keep(
        self,
        question: Question,
        hits: Sequence[Hit],
        context: RunContext,
        *,
        strictness: float = 1.0,
        entities: Sequence[str] = (),
    ) -> tuple[Hit, ...]:
        """Keep hits with all entities, or with a TF-IDF share of `floor` times `strictness`."""
        floor = self.floor * strictness
        inputs = {"chunks": [hit.chunk.id for hit in hits], "floor": floor}
        with context.step("filter", agent="keyword filter", inputs=inputs) as step:
            shares = await step.compute("filter", lambda: self.compute_shares(question, hits))
            remaining = tuple(
                hit
                for hit, share in zip(hits, shares, strict=True)
                if share >= floor or holds_entities(hit, entities)
            )
            step.set_outcome(
                outputs={"shares": shares}, reason=f"{len(remaining)} of {len(hits)} hits stay"
            )
        return remaining

    def compute_shares(self, question: Question, hits: Sequence[Hit]) -> tuple[float, ...]:
        """Return the TF-IDF weight of each hit as a share of the best hit's weight, in [0, 1]."""
        weights = self._weigh_words(question)
        synonyms = self._collect_synonyms(question)
        hit_counts = [self._count_question_words(hit, weights, synonyms) for hit in hits]
        frequencies = {word: sum(word in counts for counts in hit_counts) for word in weights}
        idf = {word: math.log(1 + len(hits) / n) for word, n in frequencies.items() if n}
        sums = [
            math.fsum(weights[word] * (1 + math.log(n)) * idf[word] for word, n in counts.items())
            for counts in hit_counts
        ]
        best = max(sums, default=0.0)
        # If no hit shares a word with the question, nothing distinguishes them and all stay.
        return tuple(round(total / best, 6) if best else 1.0 for total in sums)

    def _weigh_words(self, question: Question) -> dict[str, float]:
        """Return the weight of each word of the question."""
        terms = frozenset(word for term in self.domain.terms for word in self.count_words(term))
        words = self.count_words(question.text)
        return {word: self.domain_weight if word in terms else 1.0 for word in words}

    def _collect_synonyms(self, question: Question) -> dict[str, tuple[str, ...]]:
        """Return the domain's synonyms of terms in the question, by each word of the term."""
        folded = question.text.casefold()
        return {
            word: names
            for term, names in self.domain.synonyms.items()
            if re.search(rf"\b{re.escape(term)}\b", folded)
            for word in self.count_words(term)
        }

    def _count_question_words(
        self, hit: Hit, weights: Mapping[str, float], synonyms: Mapping[str, tuple[str, ...]]
    ) -> dict[str, int]:
        """Return how often a hit contains each word of the question; a synonym counts once."""
        chunk_counts = self.count_words(hit.chunk.context)
        counts = {word: chunk_counts[word] for word in weights if word in chunk_counts}
        folded = hit.chunk.context.casefold() if synonyms else ""
        for word, names in synonyms.items():
            if word in weights and any(name.casefold() in folded for name in names):
                # A synonym counts once: it must not outweigh the word itself.
                counts.setdefault(word, 1)
        return counts
