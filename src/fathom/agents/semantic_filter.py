"""The semantic filter: hits that are too unlike the question, or mostly about else, are dropped."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.runs.context import RunContext
from fathom.text.sentences import split
from fathom.types import Hit

SHARED = 0.5
"""A word that so many of the hits hold belongs to their common topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticFilter:
    """A floor on the cosine and one on the topic density (agentic-hybrid, 3.3); a `HitFilter`.

    The topic is the question's content words and those that at least half of the hits share; a
    hit's density is the share of its sentences that hold one of them, divided by the densest
    hit's, so that a question in another language than the documents drops nothing.
    Deterministic.

    Attributes:
        terms: The distinct content words of a text, stemmed.
        cosine: Hits with a lower score are dropped; the hits' scores are cosines, in [-1, 1].
        density: Hits with a lower density are dropped, in [0, 1].
    """

    terms: Callable[[str], frozenset[str]]
    cosine: float
    density: float

    async def keep(
        self, question: str, hits: Sequence[Hit], context: RunContext, *, strictness: float = 1.0
    ) -> tuple[Hit, ...]:
        """See `HitFilter.keep`."""
        cosine, density = self.cosine * strictness, self.density * strictness
        floors = {"cosine": cosine, "density": density}
        inputs = {"chunks": [hit.chunk.id for hit in hits], "floors": floors}
        with context.step("filter", agent="semantic filter", inputs=inputs) as here:
            near = [hit for hit in hits if hit.score >= cosine]
            found = await here.compute("filter", lambda: self.densities(question, near))
            kept = tuple(hit for hit, each in zip(near, found, strict=True) if each >= density)
            here.done(
                outputs={"densities": found},
                reason=f"{len(near)} of {len(hits)} hits are near, {len(kept)} of them dense",
            )
        return kept

    def densities(self, question: str, hits: Sequence[Hit]) -> tuple[float, ...]:
        """The topic density of each hit as a share of the densest one's, in [0, 1]."""
        sentences = [self._sentences(hit) for hit in hits]
        held = Counter(word for each in sentences for word in frozenset().union(*each))
        topic = self.terms(question) | {w for w, n in held.items() if n >= SHARED * len(hits)}
        shares = [sum(bool(words & topic) for words in each) / len(each) for each in sentences]
        best = max(shares, default=0.0)
        return tuple(round(share / best, 6) if best else 1.0 for share in shares)

    def _sentences(self, hit: Hit) -> list[frozenset[str]]:
        """The words of each sentence; of the whole chunk where it has none."""
        text = hit.chunk.text
        return [self.terms(span.cut(text)) for span in split(text)] or [self.terms(text)]
