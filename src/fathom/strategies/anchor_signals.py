"""The signals of `anchor`: the gate's view of a draft and its context."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from fathom.agents.judge import Judge
from fathom.control.gate import GateProgress, GateSignals
from fathom.question.question import Question
from fathom.question.requirements import EvidenceGap, Requirements
from fathom.runs.context import RunContext
from fathom.types import Draft, Hit

_NUMBER = re.compile(r"(?<!\S)\S*\d\S*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAllowance:
    """The token costs of rounds; all zero where no language model reads.

    Attributes:
        metered: Whether a language model reads.
        count_tokens: Counts the tokens of a text.
        chunks: The number of hits that the baseline reads.
        evidence: The most tokens of its hits that the baseline shows.
        overhead: Tokens of a call besides its chunks: prompt and reply.
        ceiling: The multiple of the baseline's tokens that may be spent on a question.
    """

    metered: bool
    count_tokens: Callable[[str], int]
    chunks: int
    evidence: int
    overhead: int
    ceiling: float

    def estimate_baseline(self, hits: Sequence[Hit]) -> int:
        """Return the tokens that the baseline spends on a question with these hits."""
        if not self.metered:
            return 0
        chunks = sum(self.count_tokens(hit.chunk.context) for hit in hits[: self.chunks])
        return self.overhead + min(self.evidence, chunks)

    def count_spent(self, context: RunContext) -> int:
        """Return the tokens that this run has spent so far."""
        if not self.metered:
            return 0
        return int(context.scope.observe("spent", "tokens", lambda: context.ledger.usage.tokens))

    def compute_tokens_left(self, baseline: int, spent: int) -> float:
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
        baseline: Tokens that the baseline spends, as in `GateSignals`.
        spent: Tokens of this question so far.
        left: Tokens that the chunks of one more call may take.
        context: Tokens that the chunks of the next round take at most.
        overhead: Tokens of a call besides its chunks.
    """

    requirements: Requirements
    hits: Sequence[Hit]
    read_ids: frozenset[str]
    before: GateSignals | None
    progress: GateProgress
    baseline: int = 0
    spent: int = 0
    left: float = inf
    context: int = 0
    overhead: int = 0


def measure_signals(
    question: Question, draft: Draft, evidence: RoundEvidence, *, like_weight: float
) -> GateSignals:
    """Return the signals of a draft that the judge has not been asked about yet.

    The support of a language model's draft is the share of its written sentences that hold, those
    that were dropped included. Quotes that no model wrote cannot say more than the documents do;
    their support is the probability that the best one holds the answer.
    """
    lacks = evidence.requirements.find_gap(draft, evidence.hits)
    coverage = _compute_coverage(evidence.requirements, lacks)
    return GateSignals(
        answered=bool(draft.evidence),
        support=draft.support,
        confidence=draft.confidence,
        support_change=draft.support - (evidence.before.support if evidence.before else 0.0),
        coverage=coverage,
        coverage_change=coverage - (evidence.before.coverage if evidence.before else 0.0),
        new_hits=_compute_new_share(evidence),
        conflict=_has_rival(draft, like_weight),
        factoid=question.form == "one",
        contradicted=bool(lacks.contradicted),
        unit=not lacks.kind,
        whole=not lacks.items,
        quoting=not draft.claims,
        mendable=_is_mendable(evidence, draft),
        spent=evidence.spent,
        reserved=min(evidence.context, evidence.left) + evidence.overhead
        if evidence.baseline
        else 0,
        baseline=evidence.baseline,
        left=evidence.left,
        progress=evidence.progress,
    )


def _compute_coverage(requirements: Requirements, lacks: EvidenceGap) -> float:
    """Return the share of the required anchors that are present; 1 without any."""
    required = len(requirements.anchors)
    return (required - len(lacks.missing)) / required if required else 1.0


def _is_mendable(evidence: RoundEvidence, draft: Draft) -> bool:
    """Return whether a hit other than those cited holds everything that is required."""
    cited = {citation.hit.chunk.id for citation in draft.evidence}
    others = (hit for hit in evidence.hits if hit.chunk.id not in cited)
    return any(map(evidence.requirements.can_be_met_by, others))


async def judge_draft(
    question: Question, draft: Draft, judge: Judge, context: RunContext
) -> float | None:
    """Return the judge's mean support for the content of a draft; `None` without any content.

    For sentences the judge is asked whether their quotes say so. For quotes it is asked whether the
    chunk of the best quote says that the short answer answers the question. The question's numbers
    are left out there, as the requirements check whether the chunk holds them.
    """
    pairs = [
        (claim.text, draft.evidence[at].quote) for claim in draft.claims for at in claim.evidence
    ]
    if not pairs and draft.short_answer:
        stripped = " ".join(_NUMBER.sub("", question.text).split())
        pairs = [(f"{stripped} {draft.short_answer}", draft.evidence[0].hit.chunk.context)]
    if not pairs:
        return None
    scores = await judge.score_support(pairs, context)
    return round(sum(scores) / len(scores), 6)


def _compute_new_share(evidence: RoundEvidence) -> float:
    """Return the share of the hits that had not been read before; 0 without hits."""
    fresh = [hit for hit in evidence.hits if hit.chunk.id not in evidence.read_ids]
    return len(fresh) / len(evidence.hits) if evidence.hits else 0.0


def _has_rival(draft: Draft, like_weight: float) -> bool:
    """Return whether another answer has nearly the support of the best."""
    best = max((evidence.support for evidence in draft.evidence), default=0.0)
    others = (
        draft.evidence[place].support for rival in draft.alternatives for place in rival.evidence
    )
    return any(other >= like_weight * best for other in others)
