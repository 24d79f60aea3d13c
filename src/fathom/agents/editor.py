"""The editor: lets the reader correct a draft with a known fault (anchor study, REFLECT).

The editor reads the hits that the draft does not cite once more, and removes sentences without
support. A reader with a language model gets the fault in its prompt.
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
    """A role that corrects a draft by a second reading of hits without the fault.

    Attributes:
        reader: The reader of the second reading.
        faith: The lowest support of sentences and quotes that stay, in [0, 1].
        bar: The lowest support at which a draft may win because it lacks fewer requirements, in [0,
            1].
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
        """Correct a draft, or drop its unsupported sentences, as one step of the run.

        Args:
            question: The question.
            draft: The draft to correct.
            requirements: The anchors and kind of value that the evidence should contain.
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
        """Return the reader; one with a language model has the fault added to its prompt."""
        return (
            replace(self.reader, fault=fault) if isinstance(self.reader, LLMReader) else self.reader
        )


def _select_faultless(
    draft: Draft, requirements: Requirements, hits: Sequence[Hit]
) -> tuple[Hit, ...]:
    """Return the uncited hits that can meet the requirements, with ranks from 1."""
    cited_ids = {item.hit.chunk.id for item in draft.evidence}
    # The cited hits led to the fault; reading them again would give the same draft.
    remaining = [
        hit for hit in hits if hit.chunk.id not in cited_ids and requirements.can_be_met_by(hit)
    ]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(remaining, start=1))


def is_better(
    new: Draft, old: Draft, requirements: Requirements, hits: Sequence[Hit], *, bar: float
) -> bool:
    """Return whether a new draft is better: supported and less incomplete, or surer."""
    if not new.evidence:
        return False
    # Below zero the new draft lacks less than the old one.
    change = requirements.find_gap(new, hits).weight - requirements.find_gap(old, hits).weight
    is_new_supported, is_old_supported = new.support >= bar, old.support >= bar
    if change < 0 and is_new_supported:
        return True
    is_worse = change > 0 and is_old_supported
    # A draft with unsupported sentences cannot be shown, however high its confidence is.
    return not is_worse and (
        (is_new_supported, new.confidence) > (is_old_supported, old.confidence)
    )


def drop_unsupported(draft: Draft, bar: float) -> Draft:
    """Return the draft without the sentences whose support is below `bar`.

    The sentence with the highest support always stays. A dropped sentence still counts as written,
    but not as supported. The confidence is unchanged: it says whether the quotes answer the
    question, not whether they support the sentences.
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
    """Return the draft shortened to the sentences that fit into a number of tokens.

    At least one sentence stays. The others count as never written.

    Args:
        draft: The draft.
        tokens: The largest number of tokens of all sentences.
        count: The function that counts the tokens of a text.
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
    """Return the draft without weak quotes after the first, and then without alternatives."""
    best = draft.evidence[:1]
    quotes = best + tuple(item for item in draft.evidence[1:] if item.support >= bar)
    if len(quotes) == len(draft.evidence):
        return draft
    # Alternatives refer to evidence by index, and dropping quotes shifts the indexes.
    return replace(draft, evidence=quotes, alternatives=())


def _keep_claims(draft: Draft, places: Collection[int]) -> Draft:
    """Return the draft with only the sentences at these indexes; its evidence is unchanged."""
    return replace(draft, claims=tuple(draft.claims[place] for place in places))


def _measure_support(draft: Draft, claim: Claim) -> float:
    """Return the best support of a sentence by its evidence, in [0, 1]; 0 without evidence."""
    return max((draft.evidence[at].support for at in claim.evidence), default=0.0)
