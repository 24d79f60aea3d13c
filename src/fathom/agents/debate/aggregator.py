"""The aggregator: merges the positions of a debate into readings and drops none that may hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Annotated, Protocol, Self

from pydantic import BaseModel, Field

from fathom.agents.debate.debater import Position
from fathom.agents.prompt_delimiters import fence_texts, format_rule, make_fence
from fathom.agents.reader.voices import pick_voices
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import ModelRequest, Prompt
from fathom.llm.schema import AtMost, OneOf, number_items
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.settings.maf import MafSettings
from fathom.text.answer_match import contains_answer
from fathom.text.answer_type import FULLER_KINDS
from fathom.types import DIGITS, Alternative, Claim, Draft

if TYPE_CHECKING:
    from fathom.assembly import Assembly

_MOST_AGENTS = 20
"""The largest number of agents that a reading of a model may name."""

# Each pair holds the claim of one chunk and that of several chunks.
_CLAIMS = {
    "en": ("1 of {total} chunks says: {answer}.", "{count} of {total} chunks say: {answer}."),
    "id": ("{count} dari {total} kutipan menyatakan: {answer}.",) * 2,
}
_REFUTED_CLAIMS = {
    "en": (
        "1 of {total} chunks says {answer}, which others contradict.",
        "{count} of {total} chunks say {answer}, which others contradict.",
    ),
    "id": ("{count} dari {total} kutipan menyatakan {answer}, yang dibantah oleh yang lain.",) * 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateReading:
    """An answer and the agents that give it.

    Attributes:
        agents: The indexes of their positions, the highest score first.
        backing: The number of its voices (agents whose quotes are not copies), plus 0.5 for each
            other agent whose chunk supports it, plus a part below 1 for the scores.
        refuted: Whether a reading with more backing contradicts it.
    """

    answer: str
    agents: tuple[int, ...]
    backing: float
    refuted: bool = False


class Aggregator(Protocol):
    """A role that merges positions."""

    async def aggregate(
        self, question: Question, positions: Sequence[Position], context: RunContext
    ) -> Draft:
        """Return one draft of all positions, as one step of the run.

        The draft has no evidence if all positions are unknown. Its short answer is the leading
        reading. Its alternatives are all other readings, refuted ones last. Its confidence is the
        weighted share of the agents that give the leading reading.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAggregator:
    """An aggregator that groups equal answers and marks contradicted ones as refuted.

    Different answers stay side by side, because a question may have several meanings. If an agent
    contradicts another agent's answer, the reading with less backing is refuted (`DebateReading`
    says how backing is counted). Deterministic.

    Attributes:
        min_share: The smallest share of the leading reading's scores that a reading needs to stay.
    """

    min_share: float = 0.0

    @classmethod
    def of(cls, assembly: "Assembly", min_share: float | None = None) -> Self:
        """Build the agent from the assembly."""
        section = assembly.settings.get_section(MafSettings)
        return cls(min_share=section.min_share if min_share is None else min_share)

    async def aggregate(
        self, question: Question, positions: Sequence[Position], context: RunContext
    ) -> Draft:
        """Merge the positions by rules."""
        with context.step("aggregate", agent="aggregator") as step:
            readings = self.find_readings(question, positions)
            draft = compose_draft(question, readings, positions)
            step.set_outcome(
                outputs={"readings": [[reading.answer, reading.agents] for reading in readings]},
                reason=draft.short_answer or "unknown",
            )
        return draft

    def find_readings(
        self, question: Question, positions: Sequence[Position]
    ) -> tuple[DebateReading, ...]:
        """Return all readings, refuted ones last, the highest backing first."""
        answers = [position.answer for position in positions]
        all_readings = [
            _make_reading(question, places, positions)
            for places in question.cluster_answers(answers)
        ]
        all_readings.sort(key=lambda reading: (-reading.backing, reading.agents[0]))
        upheld: list[DebateReading] = []
        overruled: list[DebateReading] = []
        # Highest backing first, so that only a reading with more backing can refute another one.
        for reading in all_readings:
            is_refuted = any(
                _readings_disagree(question, reading, other, positions) for other in upheld
            )
            is_weak = bool(upheld) and _sum_scores(
                reading, positions
            ) < self.min_share * _sum_scores(upheld[0], positions)
            if is_refuted:
                overruled.append(_mark_refuted(reading))
            elif not is_weak:
                upheld.append(reading)
        return (*upheld, *overruled)


def compose_draft(
    question: Question, readings: Sequence[DebateReading], positions: Sequence[Position]
) -> Draft:
    """Return the draft that states each reading with its number of agents and its refutation."""
    # True without readings too: then nobody knows an answer.
    if all(reading.refuted for reading in readings):
        return Draft()
    leading, *other_readings = sorted(readings, key=lambda reading: reading.refuted)
    places = [
        place for reading in readings for place in reading.agents if positions[place].evidence
    ]
    number = {place: at for at, place in enumerate(places)}
    total = len(positions)
    return Draft(
        evidence=tuple(e for place in places if (e := positions[place].evidence)),
        claims=tuple(
            Claim(
                text=_compose_claim(reading, total, question.language),
                evidence=tuple(number[place] for place in reading.agents if place in number),
            )
            for reading in readings
        ),
        short_answer=leading.answer,
        alternatives=tuple(
            Alternative(
                text=reading.answer,
                evidence=tuple(number[place] for place in reading.agents if place in number),
                refuted=reading.refuted,
            )
            for reading in other_readings
        ),
        confidence=compute_share(leading.answer, question, positions),
    )


def keep_readings(question: Question, draft: Draft, earlier: Draft) -> Draft:
    """Return a draft with the readings that only an earlier draft has, marked as refuted.

    The user should see every reading that some document gives, however many contradict it.
    """
    if not (draft.evidence and earlier.evidence):
        return draft
    texts = [draft.short_answer, *(reading.text for reading in draft.alternatives)]
    evidence, alternatives = list(draft.evidence), list(draft.alternatives)
    first = Alternative(text=earlier.short_answer, evidence=(0,))
    earlier_texts = [earlier.short_answer, *(reading.text for reading in earlier.alternatives)]
    for reading in (first, *earlier.alternatives):
        others = [text for text in earlier_texts if text != reading.text]
        if reading.text and not any(
            _gives_reading(question, text, reading.text, others) for text in texts
        ):
            texts.append(reading.text)
            places = range(len(evidence), len(evidence) + len(reading.evidence))
            alternatives.append(replace(reading, evidence=tuple(places), refuted=True))
            evidence += [earlier.evidence[place] for place in reading.evidence]
    return replace(draft, evidence=tuple(evidence), alternatives=tuple(alternatives))


def _gives_reading(question: Question, text: str, reading: str, others: Sequence[str]) -> bool:
    """Return whether a text gives a reading rather than one of the other readings."""
    if contains_answer(text, reading):
        return True
    # Long answers with another value in them ("the BBC affiliate KSEE") count as alike.
    return question.answers_match(text, reading) and not any(
        contains_answer(text, other) for other in others
    )


def compute_share(answer: str, question: Question, positions: Sequence[Position]) -> float:
    """Return the share of the agents that give an answer, each weighted by its hit's score.

    Agents without an answer count in the total. If not all scores are positive, every agent has the
    same weight.
    """
    scores = [position.hit.score for position in positions]
    weights = scores if all(score > 0 for score in scores) else [1.0] * len(scores)
    agree = [
        weight
        for weight, position in zip(weights, positions, strict=True)
        if question.answers_match(position.answer, answer)
    ]
    return round(fsum(agree) / total, DIGITS) if (total := fsum(weights)) else 0.0


def _make_reading(
    question: Question, places: Sequence[int], positions: Sequence[Position]
) -> DebateReading:
    """Return a group of positions as a reading.

    Its answer is that of the agent with the highest score, or the longest one if longer answers of
    this kind say more (`FULLER_KINDS`).
    """
    ranked = sorted(places, key=lambda place: (-positions[place].score, place))
    answers = [positions[place].answer for place in ranked]
    answer = max(answers, key=len) if question.answer_type in FULLER_KINDS else answers[0]
    supporters = sum(
        any(question.answers_match(answer, other) for other in position.supports)
        for place, position in enumerate(positions)
        if place not in places
    )
    # Below 1 in the sum, so that scores decide only between equal numbers of voices.
    mass = fsum(positions[place].score for place in places)
    quotes = [quote for place in ranked if (quote := positions[place].evidence)]
    backing = len(pick_voices(quotes)) + 0.5 * supporters + mass / (1 + mass)
    return DebateReading(answer=answer, agents=tuple(ranked), backing=round(backing, DIGITS))


def _readings_disagree(
    question: Question, one: DebateReading, other: DebateReading, positions: Sequence[Position]
) -> bool:
    """Return whether an agent of one reading contradicts the answer of the other."""
    return any(
        question.answers_match(denied, against.answer)
        for reading, against in ((one, other), (other, one))
        for place in reading.agents
        for denied in positions[place].contradicts
    )


def _sum_scores(reading: DebateReading, positions: Sequence[Position]) -> float:
    """Return the sum of the scores of a reading's agents."""
    return fsum(positions[place].score for place in reading.agents)


def _mark_refuted(reading: DebateReading) -> DebateReading:
    """Return the reading marked as refuted."""
    return DebateReading(
        answer=reading.answer, agents=reading.agents, backing=reading.backing, refuted=True
    )


def _compose_claim(reading: DebateReading, total: int, language: str) -> str:
    """Return the sentence that states a reading and how many chunks give it."""
    texts = (_REFUTED_CLAIMS if reading.refuted else _CLAIMS)[language]
    count = len(reading.agents)
    return texts[count > 1].format(count=count, total=total, answer=reading.answer.rstrip("."))


PROMPT = Prompt.compose(
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
    """An answer and the numbers of the agents that give it."""

    answer: Annotated[str, Field(min_length=1, max_length=300), AtMost(120)]
    agents: Annotated[list[Annotated[int, OneOf("agent")]], AtMost(_MOST_AGENTS, least=1)]
    refuted: bool = False


class AggregatorReply(BaseModel):
    """The reply that a language model is asked for."""

    readings: Annotated[list[ReadingReply], Field(min_length=1, max_length=20), AtMost(8)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMAggregator:
    """An aggregator that asks a language model to group the answers.

    A reading counts only if at least one agent gives it. If all agents agree, the model is not
    asked.

    Attributes:
        local: The aggregator to use if the model gives no usable reading.
    """

    model: RoleModel
    local: LocalAggregator
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel, min_share: float | None = None) -> Self:
        """Build the agent with a language model."""
        local = LocalAggregator.of(assembly, min_share)
        return cls(model=model, local=local, prompt=assembly.prompt(PROMPT))

    async def aggregate(
        self, question: Question, positions: Sequence[Position], context: RunContext
    ) -> Draft:
        """Merge the positions as the model's reply groups them."""
        if len(self.local.find_readings(question, positions)) < 2:
            return await self.local.aggregate(question, positions, context)
        with context.step("aggregate", agent="aggregator") as step:
            request = _build_request(self.prompt, question, positions)
            reply = await ask_model(self.model, AggregatorReply, request, step)
            readings = _parse_readings(reply.value, question, positions) if reply.value else ()
            if all(reading.refuted for reading in readings):
                reason = reply.reason or "no reading of the model could be verified"
                step.set_outcome(verdict="local", reason=reason)
                return await self.local.aggregate(question, positions, step)
            draft = compose_draft(question, readings, positions)
            step.set_outcome(
                outputs={"readings": [[reading.answer, reading.agents] for reading in readings]},
                verdict="model",
                reason=reply.reason or draft.short_answer,
            )
        return draft


def _parse_readings(
    reply: AggregatorReply, question: Question, positions: Sequence[Position]
) -> tuple[DebateReading, ...]:
    """Return the readings that agents give; an agent counts for the first reading that names it."""
    readings: list[DebateReading] = []
    taken: set[int] = set()
    for entry in reply.readings:
        agents = [
            number - 1
            for number in dict.fromkeys(entry.agents)
            if 1 <= number <= len(positions)
            and number - 1 not in taken
            and question.answers_match(entry.answer, positions[number - 1].answer)
        ]
        if agents:
            taken.update(agents)
            backing = fsum(positions[place].score for place in agents)
            readings.append(
                DebateReading(
                    answer=" ".join(entry.answer.split()),
                    agents=tuple(agents),
                    backing=round(backing, DIGITS),
                    refuted=entry.refuted,
                )
            )
    return tuple(sorted(readings, key=lambda reading: reading.refuted))


def _build_request(
    prompt: Prompt, question: Question, positions: Sequence[Position]
) -> ModelRequest:
    """Build the request with the numbered answers and quotes of the agents."""
    texts = [
        f"answer: {position.answer or 'unknown'}\nquote: {position.quote}" for position in positions
    ]
    fence = make_fence(question.text, texts)
    body = fence_texts(fence, texts, label="agent")
    return prompt.build_request(
        f"What the agents say, one a chunk:\n{body}\n\nQuestion: {question.text}",
        rule=format_rule(fence),
        choices={"agent": number_items(len(texts))},
    )
