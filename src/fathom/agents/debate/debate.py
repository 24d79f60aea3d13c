"""The debate: one agent per chunk, several rounds, and the outcome (MAF-RAG, algorithm 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, prod
from typing import TYPE_CHECKING, Literal, Self

from fathom.agents.debate.aggregator import Aggregator, compute_share
from fathom.agents.debate.debater import Debater, LLMDebater, LocalDebater, Position
from fathom.agents.reader.base import compute_logit
from fathom.question.question import Question
from fathom.registry import AGGREGATOR
from fathom.runs.context import RunContext
from fathom.settings.maf import MafSettings
from fathom.text.answer_match import normalize_answer
from fathom.types import DIGITS, Draft, Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

DebateFeedback = Literal["peers", "aggregate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateLaw:
    """A logistic law of the confidence in the leading reading of a debate.

    Attributes:
        sure: The slope for the logit of the probability that at least one of its agents is right,
            with the agents treated as independent.
        share: The slope for the share of the agents that give the reading, from 0 to 1.
        margin: The slope for that share minus the share of the next reading, from -1 to 1. offset:
            The constant of the logit.
    """

    sure: float
    share: float
    margin: float
    offset: float

    def __call__(self, sure: float, share: float, margin: float) -> float:
        """Return the probability that the reading is right, in [0, 1]."""
        logit = self.sure * compute_logit(sure) + self.share * share + self.margin * margin
        return round(1 / (1 + exp(-logit - self.offset)), DIGITS)


# `training/fit_debate.py` fits these laws; the figures are in docs/strategies/maf.md.
DEBATE_LAWS: Mapping[str, DebateLaw] = {
    "en": DebateLaw(sure=0.34, share=1.61, margin=0.16, offset=-0.39),
    "id": DebateLaw(sure=0.37, share=0.51, margin=3.96, offset=-0.75),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateOutcome:
    """The outcome of a debate.

    Attributes:
        draft: The draft. Its short answer is the leading reading, its confidence that reading's
            share.
        share: The share of all agents, weighted by their hits' scores, that give the leading
            reading, in [0, 1].
        margin: That share minus the share of the next reading.
        sure: The probability that at least one of those agents is right, with the agents treated as
            independent, in [0, 1].
        confidence: The probability that the leading reading is right, in [0, 1].
        verdict: `confidence` times the leading reading's part of the two largest shares, in [0, 1].
            Two readings with equal shares halve it: neither is the answer, though both may be
            right.
    """

    draft: Draft
    share: float = 0.0
    margin: float = 0.0
    sure: float = 0.0
    confidence: float = 0.0
    verdict: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """A debate in rounds, in which one agent per hit takes a position, all at the same time.

    With several debaters, hit 1 goes to the first debater, hit 2 to the second, and so on in turn.
    The debate stops when every agent repeats its previous answer ("unknown" never counts as a
    repetition), or after the last round. An agent that fails, or does not return in time, keeps its
    last position.

    Attributes:
        rounds: The largest number of rounds, at least 1.
        scout: The local debater that finds out, without a language model, whether answers differ.
        feedback: The positions that agents see from the second round on: `peers` for those of the
            other agents, `aggregate` for the readings of the aggregator.
        laws: The laws of confidence by the language of the question.
    """

    debaters: Sequence[Debater]
    aggregator: Aggregator
    scout: LocalDebater
    rounds: int = 3
    feedback: DebateFeedback = "peers"
    laws: Mapping[str, DebateLaw] = field(default_factory=lambda: DEBATE_LAWS)

    @classmethod
    def of(cls, assembly: "Assembly", min_share: float | None = None) -> Self:
        """Build the debate from the assembly.

        Args:
            assembly: The assembly, with one language model for each debater.
            min_share: Replaces `maf.min_share`: readings below this share of the leading one's
                weight are dropped.
        """
        section, scout = assembly.settings.get_section(MafSettings), LocalDebater.of(assembly)
        return cls(
            debaters=tuple(
                LLMDebater.of(assembly, model) if model else scout
                for model in assembly.models.language_models.debaters
            ),
            aggregator=assembly.make_agent(AGGREGATOR, min_share),
            # Local, so that checking every question for a conflict costs no model call.
            scout=scout,
            rounds=section.rounds,
            feedback=section.feedback,
        )

    async def hold(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> DebateOutcome:
        """Hold the debate and return its outcome, as one step of the run; no answer without hits.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        with context.step("debate", agent="debate", inputs={"agents": len(hits)}) as step:
            positions = [Position(hit=hit) for hit in hits]
            reason = "last round"
            for number in range(1, self.rounds + 1):
                previous = positions
                positions = await self._run_round(question, previous, number, step)
                # In the first round no agent has an earlier answer to repeat.
                if number > 1 and is_settled(previous, positions):
                    reason = f"settled in round {number}"
                    break
            draft = await self.aggregator.aggregate(question, positions, step)
            outcome = self.weigh_draft(question, draft, positions)
            step.set_outcome(
                outputs={
                    "share": outcome.share,
                    "margin": outcome.margin,
                    "sure": outcome.sure,
                    "confidence": outcome.confidence,
                    "verdict": outcome.verdict,
                },
                reason=f"{reason}, share {outcome.share:.2f}, margin {outcome.margin:.2f}",
            )
        return outcome

    def weigh_draft(
        self, question: Question, draft: Draft, positions: Sequence[Position]
    ) -> DebateOutcome:
        """Return the outcome for the leading reading of a draft, given the agents' positions."""
        if not draft.evidence:
            return DebateOutcome(draft=draft)
        share = compute_share(draft.short_answer, question, positions)
        other_shares = [
            compute_share(alternative.text, question, positions)
            for alternative in draft.alternatives
        ]
        next_share = max(other_shares, default=0.0)
        margin = round(share - next_share, DIGITS)
        sureness = _combine_scores(question, draft, positions)
        confidence = self.laws[question.language](sureness, share, margin)
        return DebateOutcome(
            draft=draft,
            share=share,
            margin=margin,
            sure=sureness,
            confidence=confidence,
            verdict=round(confidence * share / (share + next_share), DIGITS),
        )

    async def answers_differ(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> bool:
        """Return whether the scout finds different answers in the hits, as one step of the run.

        It looks only at questions for one thing. Questions for lists, steps, or yes or no are left
        to the reader.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        with context.step("differ", agent="debate", inputs={"agents": len(hits)}) as step:
            answers = await step.compute("differ", lambda: self._collect_openings(question, hits))
            is_conflict = len(question.cluster_answers(answers)) > 1
            step.set_outcome(
                outputs={"answers": answers}, verdict="conflict" if is_conflict else "none"
            )
        return is_conflict

    def _collect_openings(self, question: Question, hits: Sequence[Hit]) -> list[str]:
        """Return the scout's answer for each hit; empty unless the question asks for one thing."""
        if question.form != "one" or question.asks_steps:
            return []
        return [self.scout.take_position(question, hit, None, ()).answer for hit in hits]

    async def _run_round(
        self, question: Question, previous: Sequence[Position], number: int, context: RunContext
    ) -> list[Position]:
        """Let every agent speak once, all at the same time."""
        feedback = await self._list_feedback(question, previous, number, context)
        with context.step(f"round {number}", agent="debate") as step:
            jobs = {
                f"agent {place + 1}": partial(
                    self.debaters[place % len(self.debaters)].speak,
                    question,
                    position.hit,
                    position if number > 1 else None,
                    feedback[:place] + feedback[place + 1 :]
                    if self.feedback == "peers"
                    else feedback,
                )
                for place, position in enumerate(previous)
            }
            spoken = await step.run_branches(jobs, agent="debater")
        # An agent without a result keeps the position that it had.
        return [spoken.get(name, position) for name, position in zip(jobs, previous, strict=True)]

    async def _list_feedback(
        self, question: Question, previous: Sequence[Position], number: int, context: RunContext
    ) -> list[Position]:
        """Return the positions that agents see in a round; none in the first."""
        if number == 1:
            return []
        if self.feedback == "peers":
            return list(previous)
        draft = await self.aggregator.aggregate(question, previous, context)
        return list_readings(draft)


def is_settled(previous: Sequence[Position], after: Sequence[Position]) -> bool:
    """Return whether every agent has an answer that equals its previous one."""
    return all(
        current.answer and normalize_answer(current.answer) == normalize_answer(earlier.answer)
        for earlier, current in zip(previous, after, strict=True)
    )


def list_readings(draft: Draft) -> list[Position]:
    """Return the readings of an aggregated draft as positions."""
    first = [(draft.short_answer, (0,))] if draft.short_answer else []
    readings = [
        *first,
        *((alternative.text, alternative.evidence) for alternative in draft.alternatives),
    ]
    return [
        Position(
            hit=draft.evidence[places[0]].hit,
            answer=text,
            evidence=draft.evidence[places[0]],
            score=draft.evidence[places[0]].support,
        )
        for text, places in readings
    ]


def _combine_scores(question: Question, draft: Draft, positions: Sequence[Position]) -> float:
    """Return the probability that at least one agent of the leading reading is right."""
    doubts = (
        1 - position.score
        for position in positions
        if question.answers_match(position.answer, draft.short_answer)
    )
    # Treating the agents as independent overstates this; the fitted law corrects for it.
    return round(1 - prod(doubts), DIGITS)
