"""The comparer: what several retrievers found becomes one ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fathom.retrieval.fusion import Fusion, WeightedSum, fuse_hits
from fathom.runs.context import RunContext
from fathom.types import Hit

NAME = "comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparer:
    """Adds up what each list gives a hit (agentic-hybrid, section 3.4 and its step 6).

    Attributes:
        fusion: By default the weighted sum of each list's scores, mapped to [0, 1].
    """

    fusion: Fusion = field(default_factory=WeightedSum)

    async def compare(
        self, lists: Mapping[str, Sequence[Hit]], weights: Mapping[str, float], context: RunContext
    ) -> tuple[Hit, ...]:
        """One ranking, as one step of the run.

        Args:
            lists: By who found them, each best first; an empty one changes nothing.
            weights: Of each list, at least 0; 1 where none is named.
            context: Where it is recorded.
        """
        names = sorted(lists)
        shares = [weights.get(name, 1.0) for name in names]
        inputs = {name: [hit.chunk.id for hit in lists[name]] for name in names}
        with context.step("compare", agent="comparer", inputs=inputs) as here:
            hits = fuse_hits([lists[name] for name in names], shares, self.fusion, NAME)
            scores = [[hit.chunk.id, round(hit.score, 6)] for hit in hits]
            both = sum(map(len, lists.values())) - len(hits)
            here.done(outputs={"scores": scores}, reason=f"{len(hits)} hits, {both} found twice")
        return hits
