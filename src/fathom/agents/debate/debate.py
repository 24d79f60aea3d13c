"""The debate: one agent per chunk, a few rounds, and their verdict (MAF-RAG, algorithm 1)."""

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
    """The law of confidence in the leading reading of a debate: slopes of its logit, and an offset.

    Attributes:
        sure: The slope for the logit that at least one of its agents is right, each agent taken as
            independent.
        share: The slope for the share of the agents that give the reading, from 0 to 1.
        margin: The slope for that share less the share of the next reading, from -1 to 1.
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
        draft: The draft; its short answer is the leading reading, its confidence the share of that.
        share: The share of the agents, weighted by their hits' scores, that give the leading
            reading; in [0, 1], with the agents that do not know counted.
        margin: That share less the share of the next reading.
        sure: The probability that one of those agents is right, each taken as independent, in
            [0, 1].
        confidence: The probability that the leading reading is right, in [0, 1].
        verdict: The part of that confidence that the next reading leaves, in [0, 1]: of two
            readings with equal backing neither is the answer, though both may be right.
    """

    draft: Draft
    share: float = 0.0
    margin: float = 0.0
    sure: float = 0.0
    confidence: float = 0.0
    verdict: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """Rounds in which the agents of the hits speak, all at once; a debate always ends.

    The agents take turns at the debaters, in order: with several debaters, the first ones speak for
    the best hits. The debate stops when every agent's normalized answer equals its previous one (an
    unknown answer equals nothing), and after the last round at the latest. An agent that fails, or
    does not return in time, counts as if it had repeated its last position.

    Attributes:
        rounds: The largest number of rounds, at least 1.
        scout: The debater that tells, without a language model, whether there is anything to
            debate.
        feedback: The positions that agents are told from the second round on: those of the other
            agents, or the readings of the aggregate.
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
            assembly: The makers of the debaters, who take turns in speaking for one chunk each.
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
            # The scout tells for each question whether there is anything to debate, at no call of a
            # model.
            scout=scout,
            rounds=section.rounds,
            feedback=section.feedback,
        )

    async def hold(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> DebateOutcome:
        """Hold the debate and return its outcome, as one step of the run; unknown without hits.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        with context.step("debate", agent="debate", inputs={"agents": len(hits)}) as step:
            positions = [Position(hit=hit) for hit in hits]
            reason = "last round"
            for number in range(1, self.rounds + 1):
                previous = positions
                positions = await self._run_round(question, previous, number, step)
                # In the first round nobody has an earlier answer to keep.
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
        """Return whether hits give different answers at first look, as one step of the run.

        Only a question for one thing can have different answers: lists, steps and yes or no are
        left to the reader.

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
        """Return the scout's first answer for each hit; none unless one thing is asked for."""
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
        """Return the positions that agents are told in a round; none in the first."""
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
    """Return the readings of an aggregate, in the form of positions."""
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
    """Return the probability that one of the agents of the leading reading is right."""
    doubts = (
        1 - position.score
        for position in positions
        if question.answers_match(position.answer, draft.short_answer)
    )
    # The agents are taken as independent; the law corrects what this overstates.
    return round(1 - prod(doubts), DIGITS)
