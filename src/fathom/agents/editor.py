"""The editor: lets the reader mend a draft whose fault is known (anchor study, REFLECT).

What the evidence lacks is looked for in the other hits that were read; what has no support is
dropped. A language model that reads is told the fault.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from fathom.agents.reader.base import Reader
from fathom.agents.reader.llm import LLMReader
from fathom.question.requirements import Requirements
from fathom.runs.context import RunContext
from fathom.types import Claim, Draft, Hit

_DOUBTED = "What it quotes does not support it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """Reads once more, and only what does not have the fault.

    Attributes:
        faith: Sentences and quotes with less support are dropped.
        bar: From this confidence on a draft counts that lacks less than another.
    """

    reader: Reader
    faith: float
    bar: float

    async def __call__(
        self,
        question: str,
        draft: Draft,
        requirements: Requirements,
        hits: Sequence[Hit],
        context: RunContext,
    ) -> Draft:
        """The mended draft, as one step of the run; what is left of the old one if it is better.

        Args:
            question: What was asked.
            draft: What is to be mended.
            requirements: What its evidence should hold.
            hits: What was read for it.
            context: Where it is recorded.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        lacks = requirements.lacks(draft, hits)
        fault = lacks.told or _DOUBTED
        with context.step("reflect", agent="editor", inputs={"fault": fault}) as here:
            old = supported(draft, self.faith)
            again = _faultless(draft, requirements, hits)
            new = await self._told(fault).read(question, again, here) if again else Draft()
            better = is_better(new, old, requirements, hits, bar=self.bar)
            mended = new if better else old
            here.done(
                outputs={"sentences": len(mended.claims or mended.evidence)},
                verdict="mended" if better else "kept",
                reason=fault,
            )
        return mended

    def _told(self, fault: str) -> Reader:
        return (
            replace(self.reader, fault=fault) if isinstance(self.reader, LLMReader) else self.reader
        )


def _faultless(draft: Draft, requirements: Requirements, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits that a better draft could be made of, with ranks from 1."""
    cited = {each.hit.chunk.id for each in draft.evidence}
    kept = [hit for hit in hits if hit.chunk.id not in cited and requirements.held_by(hit)]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(kept, start=1))


def is_better(
    new: Draft, old: Draft, requirements: Requirements, hits: Sequence[Hit], *, bar: float
) -> bool:
    """Whether a draft is to count instead of another: it lacks less and is sure, or is surer."""
    if not new.evidence:
        return False
    gained = requirements.lacks(new, hits).weight - requirements.lacks(old, hits).weight
    if gained < 0 and new.confidence >= bar:
        return True
    worse = gained > 0 and old.confidence >= bar
    return not worse and new.confidence > old.confidence


def supported(draft: Draft, bar: float) -> Draft:
    """The draft without the sentences that their evidence supports less than `bar`.

    The best one stays in any case. The confidence stays as it is: it says whether the quotes answer
    the question, not whether they say what is claimed with them.
    """
    if not draft.claims:
        return _quoting(draft, bar)
    supports = [_support(draft, claim) for claim in draft.claims]
    least = min(bar, max(supports))
    return _claiming(draft, [at for at, support in enumerate(supports) if support >= least])


def within(draft: Draft, tokens: int, count: Callable[[str], int]) -> Draft:
    """The draft with as many of its first sentences as so many tokens hold; at least one."""
    kept: list[int] = []
    left = tokens
    for place, claim in enumerate(draft.claims):
        left -= count(claim.text)
        if left >= 0 or not kept:
            kept.append(place)
    return draft if len(kept) == len(draft.claims) else _claiming(draft, kept)


def _quoting(draft: Draft, bar: float) -> Draft:
    best = draft.evidence[:1]
    kept = best + tuple(each for each in draft.evidence[1:] if each.support >= bar)
    if len(kept) == len(draft.evidence):
        return draft
    return replace(draft, evidence=kept, alternatives=())


def _claiming(draft: Draft, kept: Collection[int]) -> Draft:
    """The draft with these sentences; evidence keeps its places."""
    return replace(draft, claims=tuple(draft.claims[place] for place in kept))


def _support(draft: Draft, claim: Claim) -> float:
    return max((draft.evidence[at].support for at in claim.evidence), default=0.0)
