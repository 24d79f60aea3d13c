"""The editor: lets the reader correct a draft with a known fault (anchor study, REFLECT).

The editor looks in the other hits that were read for what the evidence lacks, and drops what has no
support. A language model that reads is told the fault.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from fathom.agents.reader.base import Reader
from fathom.agents.reader.llm import LLMReader
from fathom.question.question import Question
from fathom.question.requirements import Requirements
from fathom.runs.context import RunContext
from fathom.types import Claim, Draft, Hit, SentenceCount

_UNSUPPORTED = "What it quotes does not support it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """A second reading of the hits that do not have the fault.

    Attributes:
        faith: The smallest support of sentences and quotes that stay.
        bar: The smallest support of a draft that wins because it lacks less than another.
    """

    reader: Reader
    faith: float
    bar: float

    async def __call__(
        self,
        question: Question,
        draft: Draft,
        requirements: Requirements,
        hits: Sequence[Hit],
        context: RunContext,
    ) -> Draft:
        """Return the corrected draft, or the supported rest of the old one, as one step of the run.

        Args:
            question: The question.
            draft: The draft to correct.
            requirements: The things that the evidence should hold.
            hits: The hits that were read for the draft.
            context: The run that records the step.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        gap = requirements.find_gap(draft, hits)
        fault = gap.description or _UNSUPPORTED
        with context.step("reflect", agent="editor", inputs={"fault": fault}) as step:
            old = drop_unsupported(draft, self.faith)
            candidates = _select_faultless(draft, requirements, hits)
            new = (
                await self._inform_reader(fault).read(question, candidates, step)
                if candidates
                else Draft()
            )
            better = is_better(new, old, requirements, hits, bar=self.bar)
            chosen = new if better else old
            step.set_outcome(
                outputs={"sentences": len(chosen.claims or chosen.evidence)},
                verdict="mended" if better else "kept",
                reason=fault,
            )
        return chosen

    def _inform_reader(self, fault: str) -> Reader:
        """Return the reader, told of the fault if it asks a language model."""
        return (
            replace(self.reader, fault=fault) if isinstance(self.reader, LLMReader) else self.reader
        )


def _select_faultless(
    draft: Draft, requirements: Requirements, hits: Sequence[Hit]
) -> tuple[Hit, ...]:
    """Return the hits that a better draft could be made of, with ranks from 1."""
    cited_ids = {item.hit.chunk.id for item in draft.evidence}
    # The cited hits led to the fault; reading them again would give the same draft.
    remaining = [
        hit for hit in hits if hit.chunk.id not in cited_ids and requirements.can_be_met_by(hit)
    ]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(remaining, start=1))


def is_better(
    new: Draft, old: Draft, requirements: Requirements, hits: Sequence[Hit], *, bar: float
) -> bool:
    """Return whether a draft beats another: it lacks less and is supported, or it is surer."""
    if not new.evidence:
        return False
    # Below zero the new draft lacks less than the old one.
    change = requirements.find_gap(new, hits).weight - requirements.find_gap(old, hits).weight
    is_new_supported, is_old_supported = new.support >= bar, old.support >= bar
    if change < 0 and is_new_supported:
        return True
    is_worse = change > 0 and is_old_supported
    # A draft whose sentences do not hold cannot be shown, however sure its quotes are.
    return not is_worse and (
        (is_new_supported, new.confidence) > (is_old_supported, old.confidence)
    )


def drop_unsupported(draft: Draft, bar: float) -> Draft:
    """Return the draft without the sentences that their evidence supports less than `bar`.

    The best sentence stays in any case. A dropped sentence counts as written and not supported. The
    confidence stays as it is: it tells whether the quotes answer the question, not whether they
    support the sentences.
    """
    if not draft.claims:
        return _drop_weak_quotes(draft, bar)
    supports = [_measure_support(draft, claim) for claim in draft.claims]
    # At most the best support, so that one sentence is always left.
    least = min(bar, max(supports))
    places = [at for at, support in enumerate(supports) if support >= least]
    kept = draft.sentences and replace(draft.sentences, supported=len(places))
    return replace(_keep_claims(draft, places), sentences=kept)


def shorten_to_tokens(draft: Draft, tokens: int, count: Callable[[str], int]) -> Draft:
    """Return the draft with as many first sentences as fit into the tokens; at least one.

    The sentences beyond the tokens are no part of the answer and count as never written.
    """
    places: list[int] = []
    remaining = tokens
    for place, claim in enumerate(draft.claims):
        remaining -= count(claim.text)
        # One sentence stays even if it is too long: an empty answer says nothing.
        if remaining >= 0 or not places:
            places.append(place)
    cut = len(draft.claims) - len(places)
    if not cut:
        return draft
    count_left = draft.sentences and SentenceCount(
        written=draft.sentences.written - cut, supported=draft.sentences.supported - cut
    )
    return replace(_keep_claims(draft, places), sentences=count_left)


def _drop_weak_quotes(draft: Draft, bar: float) -> Draft:
    """Return the draft without weak quotes after the first; its other readings go with them."""
    best = draft.evidence[:1]
    quotes = best + tuple(item for item in draft.evidence[1:] if item.support >= bar)
    if len(quotes) == len(draft.evidence):
        return draft
    # The alternatives name places in the old evidence.
    return replace(draft, evidence=quotes, alternatives=())


def _keep_claims(draft: Draft, places: Collection[int]) -> Draft:
    """Return the draft with the sentences at these places; the evidence keeps its places."""
    return replace(draft, claims=tuple(draft.claims[place] for place in places))


def _measure_support(draft: Draft, claim: Claim) -> float:
    """Return the best support of a sentence by its evidence, in [0, 1]; 0 without evidence."""
    return max((draft.evidence[at].support for at in claim.evidence), default=0.0)
