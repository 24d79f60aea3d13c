"""The aggregator: what the agents of a debate come to, with every reading that holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Annotated, Protocol

from pydantic import BaseModel, Field

from fathom.agents.debate.debater import Position
from fathom.agents.prompt_delimiters import fence_for, fenced, rule_of
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import Asked, Prompt
from fathom.llm.schema import AtMost, OneOf, numbers
from fathom.runs.context import RunContext
from fathom.text.answer_match import answers_match, cluster_answers
from fathom.text.answer_type import WHOLE, answer_type
from fathom.text.language import detect
from fathom.types import Alternative, Claim, Draft

_DIGITS = 6
_MOST_AGENTS = 20

# For one chunk, and for several.
_SAYS = {
    "en": ("1 of {total} chunks says: {answer}.", "{count} of {total} chunks say: {answer}."),
    "id": ("{count} dari {total} kutipan menyatakan: {answer}.",) * 2,
}
_REFUTED = {
    "en": (
        "1 of {total} chunks says {answer}, which others contradict.",
        "{count} of {total} chunks say {answer}, which others contradict.",
    ),
    "id": ("{count} dari {total} kutipan menyatakan {answer}, yang dibantah oleh yang lain.",) * 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateReading:
    """An answer, and who gives it.

    Attributes:
        agents: Places of the positions, the surest first.
        backing: Sum of their scores, and of what others say for it.
        refuted: Whether a better backed reading contradicts it.
    """

    answer: str
    agents: tuple[int, ...]
    backing: float
    refuted: bool = False


class Aggregator(Protocol):
    """Merges positions."""

    async def aggregate(
        self, question: str, positions: Sequence[Position], context: RunContext
    ) -> Draft:
        """One draft of all positions, as one step of the run; without evidence if all are unknown.

        Its short answer is the leading reading, its alternatives all others, those that were
        refuted last, and its confidence the weighted share of agents that give the leading one.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAggregator:
    """Groups equal answers and keeps those that are not contradicted by better backed ones.

    Different answers are kept side by side, as a question may mean several things. Only where an
    agent contradicts another one's answer, both speaking of the same, the reading that more agents
    stand behind stays, those counted half whose chunk supports it but who answer otherwise; then
    the one with the higher scores. Deterministic.

    Attributes:
        min_share: Readings with less than this share of the leading one's scores are dropped.
    """

    min_share: float = 0.0

    async def aggregate(
        self, question: str, positions: Sequence[Position], context: RunContext
    ) -> Draft:
        """See `Aggregator.aggregate`."""
        with context.step("aggregate", agent="aggregator") as here:
            readings = self.readings(question, positions)
            draft = draft_of(question, readings, positions)
            here.done(
                outputs={"readings": [[each.answer, each.agents] for each in readings]},
                reason=draft.short_answer or "unknown",
            )
        return draft

    def readings(self, question: str, positions: Sequence[Position]) -> tuple[DebateReading, ...]:
        """All of them, those that hold first, the best backed first."""
        answers = [each.answer for each in positions]
        found = [_reading(question, each, positions) for each in cluster_answers(question, answers)]
        found.sort(key=lambda each: (-each.backing, each.agents[0]))
        held: list[DebateReading] = []
        fallen: list[DebateReading] = []
        for each in found:
            refuted = any(_disagree(question, each, other, positions) for other in held)
            weak = bool(held) and _score(each, positions) < self.min_share * _score(
                held[0], positions
            )
            if refuted:
                fallen.append(_refuted(each))
            elif not weak:
                held.append(each)
        return (*held, *fallen)


def draft_of(
    question: str, readings: Sequence[DebateReading], positions: Sequence[Position]
) -> Draft:
    """The draft that says what the readings are, who gives them, and what was refuted."""
    if all(each.refuted for each in readings):
        return Draft()
    leading, *others = sorted(readings, key=lambda each: each.refuted)
    places = [place for each in readings for place in each.agents if positions[place].evidence]
    number = {place: at for at, place in enumerate(places)}
    language = "id" if detect(question) == "id" else "en"
    total = len(positions)
    return Draft(
        evidence=tuple(e for place in places if (e := positions[place].evidence)),
        claims=tuple(
            Claim(
                text=_said(each, total, language),
                evidence=tuple(number[place] for place in each.agents if place in number),
            )
            for each in readings
        ),
        short_answer=leading.answer,
        alternatives=tuple(
            Alternative(
                text=each.answer,
                evidence=tuple(number[place] for place in each.agents if place in number),
                refuted=each.refuted,
            )
            for each in others
        ),
        confidence=share_of(leading.answer, question, positions),
    )


def share_of(answer: str, question: str, positions: Sequence[Position]) -> float:
    """Share of the agents that give an answer, each weighted by its hit's score.

    The unknown count too. Where scores are not all positive the agents count alike.
    """
    scores = [each.hit.score for each in positions]
    weights = scores if all(score > 0 for score in scores) else [1.0] * len(scores)
    agree = [
        weight
        for weight, each in zip(weights, positions, strict=True)
        if answers_match(question, each.answer, answer)
    ]
    return round(fsum(agree) / total, _DIGITS) if (total := fsum(weights)) else 0.0


def _reading(question: str, places: Sequence[int], positions: Sequence[Position]) -> DebateReading:
    """A group as a reading: the surest agent's answer, or the fullest where that says more."""
    sure = sorted(places, key=lambda place: (-positions[place].score, place))
    answers = [positions[place].answer for place in sure]
    answer = max(answers, key=len) if answer_type(question) in WHOLE else answers[0]
    seconded = sum(
        any(answers_match(question, answer, each) for each in position.supports)
        for place, position in enumerate(positions)
        if place not in places
    )
    mass = fsum(positions[place].score for place in places)
    backing = len(places) + 0.5 * seconded + mass / (1 + mass)
    return DebateReading(answer=answer, agents=tuple(sure), backing=round(backing, _DIGITS))


def _disagree(
    question: str, one: DebateReading, other: DebateReading, positions: Sequence[Position]
) -> bool:
    """Whether an agent of one of them contradicts the other's answer."""
    return any(
        answers_match(question, said, against.answer)
        for reading, against in ((one, other), (other, one))
        for place in reading.agents
        for said in positions[place].contradicts
    )


def _score(reading: DebateReading, positions: Sequence[Position]) -> float:
    return fsum(positions[place].score for place in reading.agents)


def _refuted(reading: DebateReading) -> DebateReading:
    return DebateReading(
        answer=reading.answer, agents=reading.agents, backing=reading.backing, refuted=True
    )


def _said(reading: DebateReading, total: int, language: str) -> str:
    texts = (_REFUTED if reading.refuted else _SAYS)[language]
    count = len(reading.agents)
    return texts[count > 1].format(count=count, total=total, answer=reading.answer.rstrip("."))


PROMPT = Prompt.of(
    "aggregator",
    task="""\
You merge what several agents answer to one question; each speaks for one chunk of a document.
- readings: each answer once, in a few words, as an agent gave it, with the numbers of the agents \
that give it; the best supported first.
- A question can mean several things of the same name: keep every answer that holds for one of \
them, each as a reading of its own.
- Where chunks speak of the same thing and differ, the answer that is wrong, or that only poor \
chunks support, is refuted.""",
    language="- Give answers in the words of the agents.",
    unsure="- If you cannot tell which answer is wrong, none is refuted.",
    example="""\
agent 1: answer: 9:15, quote: The ferry to Sandholm leaves at 9:15
agent 2: answer: 10:40, quote: The old timetable said 10:40
agent 3: answer: 9:15, quote: departure 9:15
Question: When does the ferry to Sandholm leave?""",
    reply="""\
{"readings": [{"answer": "9:15", "agents": [1, 3], "refuted": false}, {"answer": "10:40", \
"agents": [2], "refuted": true}]}""",
)


class ReadingReply(BaseModel):
    """An answer and who gives it."""

    answer: Annotated[str, Field(min_length=1, max_length=300), AtMost(120)]
    agents: Annotated[list[Annotated[int, OneOf("agent")]], AtMost(_MOST_AGENTS, least=1)]
    refuted: bool = False


class AggregatorReply(BaseModel):
    """What a language model is asked for."""

    readings: Annotated[list[ReadingReply], Field(min_length=1, max_length=20), AtMost(8)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMAggregator:
    """Asks a language model; a reading counts only with an agent who gives it, on a true quote.

    Where the agents do not differ there is nothing to ask.

    Attributes:
        local: Decides where the model gives nothing that can be used.
    """

    model: RoleModel
    local: LocalAggregator
    prompt: Prompt = PROMPT

    async def aggregate(
        self, question: str, positions: Sequence[Position], context: RunContext
    ) -> Draft:
        """See `Aggregator.aggregate`."""
        if len(self.local.readings(question, positions)) < 2:
            return await self.local.aggregate(question, positions, context)
        with context.step("aggregate", agent="aggregator") as here:
            asked = _asked(self.prompt, question, positions)
            reply = await ask_model(self.model, AggregatorReply, asked, here)
            readings = _readings(reply.value, question, positions) if reply.value else ()
            if all(each.refuted for each in readings):
                reason = reply.reason or "no reading of the model could be verified"
                here.done(verdict="local", reason=reason)
                return await self.local.aggregate(question, positions, here)
            draft = draft_of(question, readings, positions)
            here.done(
                outputs={"readings": [[each.answer, each.agents] for each in readings]},
                verdict="model",
                reason=reply.reason or draft.short_answer,
            )
        return draft


def _readings(
    reply: AggregatorReply, question: str, positions: Sequence[Position]
) -> tuple[DebateReading, ...]:
    """Those that an agent gives; each agent counts for the first that names it."""
    found: list[DebateReading] = []
    taken: set[int] = set()
    for each in reply.readings:
        agents = [
            number - 1
            for number in dict.fromkeys(each.agents)
            if 1 <= number <= len(positions)
            and number - 1 not in taken
            and answers_match(question, each.answer, positions[number - 1].answer)
        ]
        if agents:
            taken.update(agents)
            backing = fsum(positions[place].score for place in agents)
            found.append(
                DebateReading(
                    answer=" ".join(each.answer.split()),
                    agents=tuple(agents),
                    backing=round(backing, _DIGITS),
                    refuted=each.refuted,
                )
            )
    return tuple(sorted(found, key=lambda each: each.refuted))


def _asked(prompt: Prompt, question: str, positions: Sequence[Position]) -> Asked:
    said = [f"answer: {each.answer or 'unknown'}\nquote: {each.quote}" for each in positions]
    fence = fence_for(question, said)
    shown = fenced(fence, said, label="agent")
    return prompt.asking(
        f"What the agents say, one a chunk:\n{shown}\n\nQuestion: {question}",
        rule=rule_of(fence),
        choices={"agent": numbers(len(said))},
    )
