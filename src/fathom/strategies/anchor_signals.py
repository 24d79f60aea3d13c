"""The signals of `anchor`: the numbers about a draft from which the gate decides."""

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
    """The token costs of rounds; all 0 if no language model reads.

    Attributes:
        metered: Whether a language model reads, so that tokens cost money.
        count_tokens: The function that counts the tokens of a text.
        chunks: The number of hits that the baseline (`naive`) reads.
        evidence: The largest number of tokens of hits in the baseline's prompt.
        overhead: The tokens of a call without its chunks: prompt and reply.
        ceiling: The largest spending on a question, as a multiple of the baseline's tokens.
    """

    metered: bool
    count_tokens: Callable[[str], int]
    chunks: int
    evidence: int
    overhead: int
    ceiling: float

    def estimate_baseline(self, hits: Sequence[Hit]) -> int:
        """Return the tokens that the baseline would spend on a question with these hits."""
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
        """Return the tokens that the chunks of one more call may have; `inf` if not metered."""
        if not self.metered:
            return inf
        return max(0.0, self.ceiling * baseline - spent - self.overhead)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEvidence:
    """The facts of a round from which the signals of its draft are computed.

    Attributes:
        requirements: The requirements of the question.
        hits: The hits that were read for the draft.
        read_ids: The ids of the chunks that were read before.
        before: The signals of the round before; `None` in the first round.
        progress: The rounds, edits and judge calls so far.
        baseline: The tokens that the baseline spends, as in `GateSignals`.
        spent: The tokens spent on this question so far.
        left: The tokens that the chunks of one more call may have.
        context: The largest number of tokens of the next round's chunks.
        overhead: The tokens of a call without its chunks.
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
    """Measure the signals of a draft, except for the judge's score.

    The support of a language model's draft is the share of its written sentences that are
    supported; dropped sentences count as written. A draft of quotes cannot be unsupported; its
    support is the probability that the best quote contains the answer.
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
    """Return the share of the required anchors that the evidence has; 1 if none is required."""
    required = len(requirements.anchors)
    return (required - len(lacks.missing)) / required if required else 1.0


def _is_mendable(evidence: RoundEvidence, draft: Draft) -> bool:
    """Return whether a hit that the draft does not cite can meet all requirements."""
    cited = {citation.hit.chunk.id for citation in draft.evidence}
    others = (hit for hit in evidence.hits if hit.chunk.id not in cited)
    return any(map(evidence.requirements.can_be_met_by, others))


async def judge_draft(
    question: Question, draft: Draft, judge: Judge, context: RunContext
) -> float | None:
    """Return the judge's mean support for a draft, in [0, 1]; `None` without any content.

    Sentences are judged against their quotes. For a draft of quotes, question and short answer
    together are judged against the chunk of the best quote. The question's numbers are left out of
    that claim, because the requirements already check them.
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
    """Return the share of the hits that were not read before; 0 without hits."""
    fresh = [hit for hit in evidence.hits if hit.chunk.id not in evidence.read_ids]
    return len(fresh) / len(evidence.hits) if evidence.hits else 0.0


def _has_rival(draft: Draft, like_weight: float) -> bool:
    """Return whether an unrefuted alternative has at least `like_weight` times the best support."""
    best = max((evidence.support for evidence in draft.evidence), default=0.0)
    rivals = (rival for rival in draft.alternatives if not rival.refuted)
    others = (draft.evidence[place].support for rival in rivals for place in rival.evidence)
    return any(other >= like_weight * best for other in others)
