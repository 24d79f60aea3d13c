"""The debate: one agent a chunk, a few rounds, and what comes of it (MAF-RAG, algorithm 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, prod
from typing import Literal

from fathom.agents.debate.aggregator import Aggregator, share_of
from fathom.agents.debate.debater import Debater, LocalDebater, Position
from fathom.agents.reader.base import logit_of
from fathom.question.form import asks_steps, form_of
from fathom.runs.context import RunContext
from fathom.text.answer_match import answers_match, cluster_answers, normalize_answer
from fathom.text.language import question_language
from fathom.types import Draft, Hit

DebateFeedback = Literal["peers", "aggregate"]

_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateLaw:
    """How sure the leading reading of a debate is: slopes of its logit, and an offset.

    Attributes:
        sure: Of the logit that one of its agents is right, each taken for itself.
        share: Of the share of the agents that give it, from 0 to 1.
        margin: Of its share less that of the next reading, from -1 to 1.
    """

    sure: float
    share: float
    margin: float
    offset: float

    def __call__(self, sure: float, share: float, margin: float) -> float:
        """Probability that the reading is right, in [0, 1]."""
        logit = self.sure * logit_of(sure) + self.share * share + self.margin * margin
        return round(1 / (1 + exp(-logit - self.offset)), _DIGITS)


# Fitted by `training/fit_debate.py`; the figures are in docs/strategies/maf.md.
DEBATE_LAWS: Mapping[str, DebateLaw] = {
    "en": DebateLaw(sure=0.34, share=1.61, margin=0.16, offset=-0.39),
    "id": DebateLaw(sure=0.37, share=0.51, margin=3.96, offset=-0.75),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Debated:
    """What a debate comes to.

    Attributes:
        draft: Its short answer is the leading reading, its confidence the share of that.
        share: Of the agents, weighted by their hits' scores, that give the leading reading; in
            [0, 1], the unknown counted in.
        margin: That share less the one of the next reading.
        sure: That one of those agents is right, each taken for itself, in [0, 1].
        confidence: Probability that the leading reading is right, in [0, 1].
        verdict: What of that is left when the next reading takes its part, in [0, 1]: of two
            that as many stand behind, neither is the answer, though both may be right.
    """

    draft: Draft
    share: float = 0.0
    margin: float = 0.0
    sure: float = 0.0
    confidence: float = 0.0
    verdict: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """Lets the agents of the hits speak in rounds, all at once in each; it always ends.

    The agents take turns at the debaters, in order: with several, the first ones speak for the
    best hits. It stops when every agent's normalised answer equals its previous one (an unknown
    one agrees with nothing), and after the last round at the latest. An agent that breaks off, or
    does not come back in time, is as if it had said again what it said last.

    Attributes:
        rounds: At most so many, at least 1.
        scout: Tells, without a language model, whether there is anything to debate.
        feedback: What agents are told from the second round on: the others' positions, or the
            readings of the aggregate.
        laws: How sure the leading reading is, by the language of the question.
    """

    debaters: Sequence[Debater]
    aggregator: Aggregator
    scout: LocalDebater
    rounds: int = 3
    feedback: DebateFeedback = "peers"
    laws: Mapping[str, DebateLaw] = field(default_factory=lambda: DEBATE_LAWS)

    async def hold(self, question: str, hits: Sequence[Hit], context: RunContext) -> Debated:
        """What the agents of the hits come to, as one step of the run; unknown without hits.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        with context.step("debate", agent="debate", inputs={"agents": len(hits)}) as here:
            positions = [Position(hit=hit) for hit in hits]
            ended = "last round"
            for number in range(1, self.rounds + 1):
                before = positions
                positions = await self._round(question, before, number, here)
                if number > 1 and settled(before, positions):
                    ended = f"settled in round {number}"
                    break
            draft = await self.aggregator.aggregate(question, positions, here)
            done = self.weighed(question, draft, positions)
            here.done(
                outputs={
                    "share": done.share,
                    "margin": done.margin,
                    "sure": done.sure,
                    "confidence": done.confidence,
                    "verdict": done.verdict,
                },
                reason=f"{ended}, share {done.share:.2f}, margin {done.margin:.2f}",
            )
        return done

    def weighed(self, question: str, draft: Draft, positions: Sequence[Position]) -> Debated:
        """How much the leading reading of a draft is worth, given what the agents said."""
        if not draft.evidence:
            return Debated(draft=draft)
        share = share_of(draft.short_answer, question, positions)
        others = [share_of(each.text, question, positions) for each in draft.alternatives]
        second = max(others, default=0.0)
        margin = round(share - second, _DIGITS)
        sure = _sure(question, draft, positions)
        confidence = self.laws[question_language(question)](sure, share, margin)
        return Debated(
            draft=draft,
            share=share,
            margin=margin,
            sure=sure,
            confidence=confidence,
            verdict=round(confidence * share / (share + second), _DIGITS),
        )

    async def differ(self, question: str, hits: Sequence[Hit], context: RunContext) -> bool:
        """Whether hits give different answers at first look, as one step of the run.

        Only a question for one thing can be answered differently: lists, steps and yes or no are
        for the reader.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        with context.step("differ", agent="debate", inputs={"agents": len(hits)}) as here:
            answers = await here.compute("differ", lambda: self._openings(question, hits))
            differ = len(cluster_answers(question, answers)) > 1
            here.done(outputs={"answers": answers}, verdict="conflict" if differ else "none")
        return differ

    def _openings(self, question: str, hits: Sequence[Hit]) -> list[str]:
        if form_of(question) != "one" or asks_steps(question):
            return []
        return [self.scout.said(question, hit, None, ()).answer for hit in hits]

    async def _round(
        self, question: str, before: Sequence[Position], number: int, context: RunContext
    ) -> list[Position]:
        told = await self._told(question, before, number, context)
        with context.step(f"round {number}", agent="debate") as here:
            jobs = {
                f"agent {place + 1}": partial(
                    self.debaters[place % len(self.debaters)].speak,
                    question,
                    own.hit,
                    own if number > 1 else None,
                    told[:place] + told[place + 1 :] if self.feedback == "peers" else told,
                )
                for place, own in enumerate(before)
            }
            said = await here.branches(jobs, agent="debater")
        return [said.get(name, own) for name, own in zip(jobs, before, strict=True)]

    async def _told(
        self, question: str, before: Sequence[Position], number: int, context: RunContext
    ) -> list[Position]:
        """What agents are told in a round: nothing in the first."""
        if number == 1:
            return []
        if self.feedback == "peers":
            return list(before)
        draft = await self.aggregator.aggregate(question, before, context)
        return heard_of(draft)


def settled(before: Sequence[Position], after: Sequence[Position]) -> bool:
    """Whether every agent has an answer, and it is the one that it had."""
    return all(
        now.answer and normalize_answer(now.answer) == normalize_answer(then.answer)
        for then, now in zip(before, after, strict=True)
    )


def heard_of(draft: Draft) -> list[Position]:
    """The readings of an aggregate, as agents are told of them."""
    first = [(draft.short_answer, (0,))] if draft.short_answer else []
    readings = [*first, *((other.text, other.evidence) for other in draft.alternatives)]
    return [
        Position(
            hit=draft.evidence[places[0]].hit,
            answer=text,
            evidence=draft.evidence[places[0]],
            score=draft.evidence[places[0]].support,
        )
        for text, places in readings
    ]


def _sure(question: str, draft: Draft, positions: Sequence[Position]) -> float:
    doubts = (
        1 - p.score for p in positions if answers_match(question, p.answer, draft.short_answer)
    )
    return round(1 - prod(doubts), _DIGITS)
