"""The aggregator: merges the positions of a debate, and keeps every reading that holds."""

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
        agents: The places of their positions, the surest first.
        backing: The number of its voices (agents whose quotes are not copied), half of the other
            agents whose chunks support it, and a part below 1 for the scores.
        refuted: Whether a better backed reading contradicts it.
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
    """An aggregator that groups equal answers and keeps those that hold against the others.

    Different answers stay side by side, because a question may mean several things. Only if an
    agent contradicts another agent's answer, both speaking of the same thing, one reading must go:
    the one with more agents stays, where an agent with another answer whose chunk supports the
    reading counts half; then the one with the higher scores. Deterministic.

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
        """Return all readings, those that hold before refuted ones, the best backed first."""
        answers = [position.answer for position in positions]
        all_readings = [
            _make_reading(question, places, positions)
            for places in question.cluster_answers(answers)
        ]
        all_readings.sort(key=lambda reading: (-reading.backing, reading.agents[0]))
        upheld: list[DebateReading] = []
        overruled: list[DebateReading] = []
        # Best backed first, so that only a better backed reading can refute another one.
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
    """Return the draft that states each reading with its agents, and whether it was refuted."""
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
    """Return a draft with the readings of an earlier one that it lacks, as refuted ones.

    However many documents speak against a reading, the user is to see that it stands in another.
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
    """Return whether a text gives a reading rather than one of those that were told from it."""
    if contains_answer(text, reading):
        return True
    # Long answers with another value in them ("the BBC affiliate KSEE") count as alike.
    return question.answers_match(text, reading) and not any(
        contains_answer(text, other) for other in others
    )


def compute_share(answer: str, question: Question, positions: Sequence[Position]) -> float:
    """Return the share of the agents that give an answer, each weighted by its hit's score.

    Agents that do not know count too. If scores are not all positive, the agents count alike.
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

    The answer is that of the surest agent, or the longest one if longer answers of this kind say
    more.
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
    """Return the sentence that states a reading and the number of its chunks."""
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
    """An aggregator that asks a language model; a reading counts only with an agent that gives it.

    An agent counts by its verified quote. If the agents do not differ there is nothing to ask.

    Attributes:
        local: The fallback if the model gives nothing usable.
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
        """Merge the positions as the model replies."""
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
    """Return the readings that an agent gives; each agent counts for the first that names it."""
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
