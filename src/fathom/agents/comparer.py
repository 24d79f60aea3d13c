"""The comparer: merges the hits of several retrievers into one ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fathom.retrieval.fusion import Fusion, WeightedSum, fuse_hits
from fathom.runs.context import RunContext
from fathom.types import Hit

NAME = "comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparer:
    """A fusion of several ranked lists (agentic-hybrid, section 3.4, step 6).

    Attributes:
        fusion: The way to fuse lists; by default the weighted sum of each list's scores, mapped to
            [0, 1].
    """

    fusion: Fusion = field(default_factory=WeightedSum)

    async def compare(
        self, lists: Mapping[str, Sequence[Hit]], weights: Mapping[str, float], context: RunContext
    ) -> tuple[Hit, ...]:
        """Return one ranking of several lists, as one step of the run.

        Args:
            lists: The hits of each retriever by its name, best first; an empty list has no effect.
            weights: The weight of each list, at least 0; 1 for a list that is not named.
            context: The run that records the step.
        """
        # Sorted, so that the order in which retrievers answer does not change ties.
        names = sorted(lists)
        shares = [weights.get(name, 1.0) for name in names]
        inputs = {name: [hit.chunk.id for hit in lists[name]] for name in names}
        with context.step("compare", agent="comparer", inputs=inputs) as step:
            hits = fuse_hits([lists[name] for name in names], shares, self.fusion, NAME)
            scores = [[hit.chunk.id, round(hit.score, 6)] for hit in hits]
            repeats = sum(map(len, lists.values())) - len(hits)
            step.set_outcome(
                outputs={"scores": scores}, reason=f"{len(hits)} hits, {repeats} found twice"
            )
        return hits
