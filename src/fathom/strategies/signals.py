"""The signals of `anchor`: the gate's view of a draft and its context."""

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
    """The token costs of rounds; all zero where no language model reads.

    Attributes:
        metered: Whether a language model reads.
        count: Counts the tokens of a text.
        chunks: The number of hits that the baseline reads.
        overhead: Tokens of a call besides its chunks: prompt and reply.
        ceiling: The multiple of the baseline's tokens that may be spent on a question.
    """

    metered: bool
    count: Callable[[str], int]
    chunks: int
    overhead: int
    ceiling: float

    def baseline(self, hits: Sequence[Hit]) -> int:
        """Return the tokens that the baseline spends on a question with these hits."""
        if not self.metered:
            return 0
        return self.overhead + sum(self.count(hit.chunk.context) for hit in hits[: self.chunks])

    def spent(self, context: RunContext) -> int:
        """Return the tokens that this run has spent so far."""
        if not self.metered:
            return 0
        return int(context.scope.observe("spent", "tokens", lambda: context.ledger.usage.tokens))

    def left(self, baseline: int, spent: int) -> float:
        """Return the tokens that the chunks of one more call may take."""
        if not self.metered:
            return inf
        return max(0.0, self.ceiling * baseline - spent - self.overhead)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEvidence:
    """The facts of a round in which a draft is weighed.

    Attributes:
        requirements: The requirements of the question.
        hits: The hits that were read for the draft.
        read_ids: Ids of the chunks that had been read before.
        before: The signals of the round before; `None` in the first round.
        baseline: Tokens that the baseline spends, as in `Signals`.
        spent: Tokens of this question so far.
        left: Tokens that the chunks of one more call may take.
        context: Tokens that the chunks of the next round take at most.
        overhead: Tokens of a call besides its chunks.
    """

    requirements: Requirements
    hits: Sequence[Hit]
    read_ids: frozenset[str]
    before: Signals | None
    progress: GateProgress
    baseline: int = 0
    spent: int = 0
    left: float = inf
    context: int = 0
    overhead: int = 0


def signals_of(
    question: str, draft: Draft, evidence: RoundEvidence, *, like_weight: float
) -> Signals:
    """Return the signals of a draft that the judge has not been asked about yet.

    The support of a language model's draft is that of its sentences, where a dropped sentence
    counts 0. A draft of quotes cannot say more than its evidence does; its support is the
    probability that the best quote holds the answer.
    """
    lacks = evidence.requirements.lacks(draft, evidence.hits)
    coverage = _covered(evidence.requirements, lacks)
    return Signals(
        answered=bool(draft.evidence),
        support=draft.confidence,
        support_change=draft.confidence - (evidence.before.support if evidence.before else 0.0),
        coverage=coverage,
        coverage_change=coverage - (evidence.before.coverage if evidence.before else 0.0),
        new_hits=_new(evidence),
        conflict=_conflicting(draft, like_weight),
        factoid=form_of(question) == "one",
        contradicted=bool(lacks.contradicted),
        unit=not lacks.kind,
        whole=not lacks.items,
        quoting=not draft.claims,
        mendable=_mendable(evidence, draft),
        spent=evidence.spent,
        reserved=min(evidence.context, evidence.left) + evidence.overhead
        if evidence.baseline
        else 0,
        baseline=evidence.baseline,
        left=evidence.left,
        progress=evidence.progress,
    )


def _covered(requirements: Requirements, lacks: Lacks) -> float:
    """Return the share of the required anchors that are present; 1 without any."""
    required = len(requirements.anchors)
    return (required - len(lacks.missing)) / required if required else 1.0


def _mendable(evidence: RoundEvidence, draft: Draft) -> bool:
    """Return whether a hit other than those cited holds everything that is required."""
    cited = {citation.hit.chunk.id for citation in draft.evidence}
    others = (hit for hit in evidence.hits if hit.chunk.id not in cited)
    return any(map(evidence.requirements.held_by, others))


async def judged(question: str, draft: Draft, judge: Judge, context: RunContext) -> float | None:
    """Return the judge's mean support for the content of a draft; `None` without any content.

    For sentences the judge is asked whether their quotes say so. For quotes it is asked whether the
    chunk of the best quote says that the short answer answers the question. The question's numbers
    are left out there, as the requirements check whether the chunk holds them.
    """
    pairs = [
        (claim.text, draft.evidence[at].quote) for claim in draft.claims for at in claim.evidence
    ]
    if not pairs and draft.short_answer:
        stripped = " ".join(_NUMBER.sub("", question).split())
        pairs = [(f"{stripped} {draft.short_answer}", draft.evidence[0].hit.chunk.context)]
    if not pairs:
        return None
    scores = await judge.support(pairs, context)
    return round(sum(scores) / len(scores), 6)


def _new(evidence: RoundEvidence) -> float:
    """Return the share of the hits that had not been read before; 0 without hits."""
    fresh = [hit for hit in evidence.hits if hit.chunk.id not in evidence.read_ids]
    return len(fresh) / len(evidence.hits) if evidence.hits else 0.0


def _conflicting(draft: Draft, like_weight: float) -> bool:
    """Return whether another answer has nearly the support of the best."""
    best = max((evidence.support for evidence in draft.evidence), default=0.0)
    others = (
        draft.evidence[place].support for rival in draft.alternatives for place in rival.evidence
    )
    return any(other >= like_weight * best for other in others)
