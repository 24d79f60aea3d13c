"""From a rough ranking to the few hits that are read (anchor study, section 2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom.context import RunContext
from fathom.retrieval.mmr import by_terms, mmr
from fathom.retrieval.select import Selection, packed, ranked
from fathom.types import Hit

_DIGITS = 6
_SPARE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow:
    """Drops what repeats, then selects within caps, then packs into tokens.

    MMR keeps twice as many hits as are read, so that caps have something to choose from; the
    order of what is left is that of the scores.

    Attributes:
        count: Tokens of a text.
    """

    selection: Selection
    count: Callable[[str], int]

    async def __call__(
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        listing: bool,
        diversity: float,
        tokens: int,
        context: RunContext,
    ) -> tuple[Hit, ...]:
        """The hits to read, best first, as one step of the run.

        Args:
            question: What is asked.
            hits: In rank order; scores of any positive scale.
            listing: Whether a list is asked for.
            diversity: Of MMR, in [0, 1].
            tokens: All that the hits may take together.
            context: Where it is recorded.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        inputs = {"pool": [hit.chunk.id for hit in hits], "tokens": tokens}
        with context.step("select", agent="selector", inputs=inputs) as here:
            found = await here.compute(
                "select",
                lambda: self.chosen(
                    question, hits, listing=listing, diversity=diversity, tokens=tokens
                ),
            )
            here.done(
                outputs={"kept": [hit.chunk.id for hit in found]},
                reason=f"{len(found)} of {len(hits)} hits",
            )
        return found

    def chosen(
        self, question: str, hits: Sequence[Hit], *, listing: bool, diversity: float, tokens: int
    ) -> tuple[Hit, ...]:
        """What the call gives, at once."""
        shares = _shares(hits)
        varied = mmr(
            shares,
            by_terms(shares, self.selection.terms),
            k=_SPARE * self.selection.settings.fine,
            diversity=diversity,
        )
        selected = self.selection(question, ranked(varied), listing=listing)
        return packed(selected, tokens=tokens, count=self.count)


def _shares(hits: Sequence[Hit]) -> list[Hit]:
    """Scores as shares of the best one."""
    top = max((hit.score for hit in hits), default=0.0)
    return [
        replace(h, score=round(max(0.0, h.score / top), _DIGITS) if top > 0 else 0.0) for h in hits
    ]
