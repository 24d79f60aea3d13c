"""The editor: makes a draft smaller, never says anything new (anchor study, REFLECT)."""

from collections.abc import Callable, Collection
from dataclasses import replace
from math import fsum

from fathom.types import Claim, Draft


def supported(draft: Draft, bar: float) -> Draft:
    """The draft without the sentences that their evidence supports less than `bar`.

    The best one stays in any case. The confidence of sentences is the mean support of those kept;
    that of quotes stays as it is, since they cannot say what is not there.
    """
    if not draft.claims:
        return _quoting(draft, bar)
    supports = [_support(draft, claim) for claim in draft.claims]
    least = min(bar, max(supports))
    kept = [place for place, support in enumerate(supports) if support >= least]
    mean = fsum(supports[place] for place in kept) / len(kept)
    return replace(_claiming(draft, kept), confidence=round(mean, 6))


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
