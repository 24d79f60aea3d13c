"""The debate: one agent a chunk, a few rounds, and what comes of it (MAF-RAG, algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Literal

from fathom.agents.aggregator import Aggregator
from fathom.agents.debater import Debater, Position
from fathom.context import RunContext
from fathom.text.answer_match import answers_match, normalize_answer
from fathom.types import Draft, Hit

DebateFeedback = Literal["peers", "aggregate"]

_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Debated:
    """What a debate comes to.

    Attributes:
        draft: Its confidence is the agreement.
        agreement: Weighted share of the agents that agree with the aggregate, in [0, 1].
        sure: That one of the agents who give the leading reading is right, each taken for itself,
            in [0, 1].
    """

    draft: Draft
    agreement: float
    sure: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """Lets the agents of the hits speak in rounds, all at once in each; it always ends.

    It stops when every agent's normalised answer equals its previous one (an unknown one agrees
    with nothing), and after the last round at the latest. An agent that breaks off, or does not
    come back in time, is as if it had said again what it said last.

    Attributes:
        rounds: At most so many, at least 1.
        feedback: What agents are told from the second round on: the others' positions, or the
            readings of the aggregate.
    """

    debater: Debater
    aggregator: Aggregator
    rounds: int = 3
    feedback: DebateFeedback = "peers"

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
            sure = _sure(question, draft, positions)
            here.done(
                outputs={"agreement": draft.confidence, "sure": sure},
                reason=f"{ended}, agreement {draft.confidence:.2f}",
            )
        return Debated(draft=draft, agreement=draft.confidence, sure=sure)

    async def _round(
        self, question: str, before: Sequence[Position], number: int, context: RunContext
    ) -> list[Position]:
        told = await self._told(question, before, number, context)
        with context.step(f"round {number}", agent="debate") as here:
            jobs = {
                f"agent {place + 1}": partial(
                    self.debater.speak,
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
