"""The semantic filter: drops hits with a low cosine or with few sentences on the topic."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fathom.agents.keyword_filter import holds_entities
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.settings.hybrid import HybridSettings
from fathom.text.sentences import split
from fathom.types import Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

TOPIC_SHARE = 0.5
"""The share of the hits that must contain a word for it to be a topic word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticFilter:
    """A `HitFilter` with floors on cosine and topic density (agentic-hybrid, 3.3).

    Topic words are the question's content words and those that at least half of the hits share. The
    density of a hit is the share of its sentences with a topic word, divided by that of the densest
    hit, so that a question in another language than the documents drops nothing. Deterministic.

    Attributes:
        extract_terms: A function that returns the distinct content words of a text, stemmed.
        cosine: The lowest score of a hit that stays; the hits' scores are cosines, in [-1, 1].
        density: The lowest density of a hit that stays, in [0, 1].
    """

    extract_terms: Callable[[str], frozenset[str]]
    cosine: float
    density: float

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the filter from the assembly."""
        section = assembly.settings.get_section(HybridSettings)
        return cls(
            extract_terms=assembly.terms, cosine=section.cosine_floor, density=section.density_floor
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
        """Keep hits with all entities, or that reach both floors times `strictness`."""
        cosine, density = self.cosine * strictness, self.density * strictness
        floors = {"cosine": cosine, "density": density}
        inputs = {"chunks": [hit.chunk.id for hit in hits], "floors": floors}
        with context.step("filter", agent="semantic filter", inputs=inputs) as step:
            near = [hit for hit in hits if hit.score >= cosine]
            densities = await step.compute("filter", lambda: self.compute_densities(question, near))
            dense = [
                hit.chunk.id
                for hit, hit_density in zip(near, densities, strict=True)
                if hit_density >= density
            ]
            remaining = tuple(
                hit for hit in hits if hit.chunk.id in dense or holds_entities(hit, entities)
            )
            step.set_outcome(
                outputs={"densities": densities},
                reason=f"{len(near)} of {len(hits)} hits are near, {len(dense)} of them dense, "
                f"{len(remaining) - len(dense)} others hold all names",
            )
        return remaining

    def compute_densities(self, question: Question, hits: Sequence[Hit]) -> tuple[float, ...]:
        """Return the topic density of each hit as a share of the densest hit's, in [0, 1]."""
        hit_sentences = [self._split_sentences(hit) for hit in hits]
        frequencies = Counter(
            word for sentences in hit_sentences for word in frozenset().union(*sentences)
        )
        topic = self.extract_terms(question.text) | {
            w for w, n in frequencies.items() if n >= TOPIC_SHARE * len(hits)
        }
        shares = [
            sum(bool(words & topic) for words in sentences) / len(sentences)
            for sentences in hit_sentences
        ]
        best = max(shares, default=0.0)
        # If no hit contains a topic word, the density says nothing and no hit is dropped.
        return tuple(round(share / best, 6) if best else 1.0 for share in shares)

    def _split_sentences(self, hit: Hit) -> list[frozenset[str]]:
        """Return the content words of each sentence, or of the whole chunk if it has none."""
        text = hit.chunk.text
        return [self.extract_terms(span.cut(text)) for span in split(text)] or [
            self.extract_terms(text)
        ]
