"""The signals of `anchor`: what the gate is told of a draft and its context."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from fathom.agents.judge import Judge
from fathom.control.gate import GateProgress, Signals
from fathom.question.form import form_of
from fathom.question.requirements import Lacks, Requirements
from fathom.runs.context import RunContext
from fathom.types import Draft, Hit

_NUMBER = re.compile(r"\S*\d\S*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAllowance:
    """What rounds cost in tokens; all zero where no language model reads.

    Attributes:
        metered: Whether a language model reads.
        count: Tokens of a text.
        chunks: How many hits the baseline reads.
        overhead: Tokens of a call beside its chunks: prompt and reply.
        ceiling: So many times the baseline's tokens may be spent on a question.
    """

    metered: bool
    count: Callable[[str], int]
    chunks: int
    overhead: int
    ceiling: float

    def baseline(self, hits: Sequence[Hit]) -> int:
        """What the baseline spends on a question with these hits."""
        if not self.metered:
            return 0
        return self.overhead + sum(self.count(hit.chunk.context) for hit in hits[: self.chunks])

    def spent(self, context: RunContext) -> int:
        """Tokens of this run so far."""
        if not self.metered:
            return 0
        return int(context.scope.observe("spent", "tokens", lambda: context.ledger.usage.tokens))

    def left(self, baseline: int, spent: int) -> float:
        """Tokens that the chunks of one more call may take."""
        if not self.metered:
            return inf
        return max(0.0, self.ceiling * baseline - spent - self.overhead)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEvidence:
    """What is known when a draft is weighed.

    Attributes:
        requirements: Of the question.
        hits: What was read for the draft.
        known: Ids of the chunks that had been read before.
        before: The signals of the round before, if there was one.
        baseline: See `Signals`, as for the next two.
        spent: See above.
        left: See above.
        context: Tokens that the chunks of the next round take at most.
        overhead: Tokens of a call beside its chunks.
    """

    requirements: Requirements
    hits: Sequence[Hit]
    known: frozenset[str]
    before: Signals | None
    progress: GateProgress
    baseline: int = 0
    spent: int = 0
    left: float = inf
    context: int = 0
    overhead: int = 0


def signals_of(question: str, draft: Draft, seen: RoundEvidence, *, like_weight: float) -> Signals:
    """The signals of a draft; the judge has not been asked yet.

    Support is that of a language model's sentences, those that were dropped counting 0. A draft
    of quotes cannot say what its evidence does not; there it is the probability that the best
    quote holds the answer.
    """
    lacks = seen.requirements.lacks(draft, seen.hits)
    share = _covered(seen.requirements, lacks)
    return Signals(
        answered=bool(draft.evidence),
        support=draft.confidence,
        support_change=draft.confidence - (seen.before.support if seen.before else 0.0),
        coverage=share,
        coverage_change=share - (seen.before.coverage if seen.before else 0.0),
        new_hits=_new(seen),
        conflict=_conflicting(draft, like_weight),
        factoid=form_of(question) == "one",
        contradicted=bool(lacks.contradicted),
        unit=not lacks.kind,
        whole=not lacks.items,
        quoting=not draft.claims,
        mendable=_mendable(seen, draft),
        spent=seen.spent,
        reserved=min(seen.context, seen.left) + seen.overhead if seen.baseline else 0,
        baseline=seen.baseline,
        left=seen.left,
        progress=seen.progress,
    )


def _covered(requirements: Requirements, lacks: Lacks) -> float:
    """Share of the required anchors that are there; 1 without any."""
    wanted = len(requirements.anchors)
    return (wanted - len(lacks.missing)) / wanted if wanted else 1.0


def _mendable(seen: RoundEvidence, draft: Draft) -> bool:
    """Whether another hit than those cited holds all that is required."""
    cited = {each.hit.chunk.id for each in draft.evidence}
    others = (hit for hit in seen.hits if hit.chunk.id not in cited)
    return any(map(seen.requirements.held_by, others))


async def judged(question: str, draft: Draft, judge: Judge, context: RunContext) -> float | None:
    """Mean support of what a draft says in the eyes of the judge.

    Of sentences it is asked whether their quotes say so. Of quotes, whether the chunk of the best
    says that the short answer answers the question, without the question's numbers: whether those
    stand there the requirements tell. `None` where there is neither.
    """
    pairs = [
        (claim.text, draft.evidence[at].quote) for claim in draft.claims for at in claim.evidence
    ]
    if not pairs and draft.short_answer:
        asked = " ".join(_NUMBER.sub("", question).split())
        pairs = [(f"{asked} {draft.short_answer}", draft.evidence[0].hit.chunk.context)]
    if not pairs:
        return None
    scores = await judge.support(pairs, context)
    return round(sum(scores) / len(scores), 6)


def _new(seen: RoundEvidence) -> float:
    fresh = [hit for hit in seen.hits if hit.chunk.id not in seen.known]
    return len(fresh) / len(seen.hits) if seen.hits else 0.0


def _conflicting(draft: Draft, like_weight: float) -> bool:
    """Whether another answer has nearly the support of the best."""
    best = max((each.support for each in draft.evidence), default=0.0)
    others = (draft.evidence[at].support for each in draft.alternatives for at in each.evidence)
    return any(other >= like_weight * best for other in others)
