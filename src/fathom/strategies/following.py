"""A search that also follows the anchors of a question and the bridges between documents."""

from dataclasses import dataclass
from typing import Self

from fathom.agents.anchors import anchors
from fathom.assembly import Assembly
from fathom.context import RunContext
from fathom.retrieval.multihop import MultiHop
from fathom.retrieval.search import Search
from fathom.types import Hit, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """MultiHop from the anchors that are strong enough; see `MultiHop`.

    Attributes:
        most: So many anchors are looked for.
        workers: So many of them are followed.
        min_score: Weaker ones are not.
    """

    multihop: MultiHop
    most: int
    workers: int
    min_score: float

    @classmethod
    def of(cls, parts: Assembly, search: Search) -> Self:
        """Made of the settings that `anchor` has too."""
        own = parts.settings.anchor
        return cls(
            multihop=parts.multihop(search),
            most=own.anchors,
            workers=own.workers,
            min_score=own.min_score,
        )

    async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
        """At most `k` hits, best first; see `MultiHop`."""
        found = anchors(query.text, most=self.most)
        strong = [each.text for each in found if each.score >= self.min_score]
        return await self.multihop(query, strong[: self.workers], k=k, context=context)
