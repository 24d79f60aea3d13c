"""The aggregator's other mind: a language model says which readings of a debate hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from pydantic import BaseModel, Field

from fathom.agents.aggregator import LocalAggregator, Reading, draft_of
from fathom.agents.debater import Position
from fathom.agents.prompt_delimiters import RULE, fence_for, fenced
from fathom.context import RunContext
from fathom.llm.base import Message
from fathom.llm.call import RoleModel, ask_model
from fathom.text.answer_match import answers_match
from fathom.types import Draft

PROMPT = """\
You merge what several agents answer to one question; each speaks for one chunk of a document.
- A question can mean several things of the same name: keep every answer that holds for one of \
them, each as a reading of its own.
- Where chunks speak of the same thing and differ, the answer that is wrong, or that only poor \
chunks support, is refuted.
- readings: each answer once, in a few words, as an agent gave it, with the numbers of the agents \
that give it; the best supported first.
{rule}"""

_DIGITS = 6


class ReadingReply(BaseModel):
    """An answer and who gives it."""

    answer: str = Field(max_length=300)
    agents: list[int]
    refuted: bool = False


class AggregatorReply(BaseModel):
    """What a language model is asked for."""

    readings: list[ReadingReply] = Field(max_length=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageAggregator:
    """Asks a language model; a reading counts only with an agent who gives it, on a true quote.

    Where the agents do not differ there is nothing to ask.

    Attributes:
        local: Decides where the model gives nothing that can be used.
    """

    model: RoleModel
    local: LocalAggregator

    async def aggregate(
        self, question: str, positions: Sequence[Position], context: RunContext
    ) -> Draft:
        """See `Aggregator.aggregate`."""
        if len(self.local.readings(question, positions)) < 2:
            return await self.local.aggregate(question, positions, context)
        with context.step("aggregate", agent="aggregator") as here:
            messages = _messages(question, positions)
            reply = await ask_model(self.model, AggregatorReply, messages, here)
            readings = _readings(reply.value, question, positions) if reply.value else ()
            if all(each.refuted for each in readings):
                reason = reply.reason or "no reading of the model could be verified"
                here.done(usage=reply.usage, verdict="local", reason=reason)
                return await self.local.aggregate(question, positions, here)
            draft = draft_of(question, readings, positions)
            here.done(
                outputs={"readings": [[each.answer, each.agents] for each in readings]},
                usage=reply.usage,
                verdict="model",
                reason=reply.reason or draft.short_answer,
            )
        return draft


def _readings(
    reply: AggregatorReply, question: str, positions: Sequence[Position]
) -> tuple[Reading, ...]:
    """Those that an agent gives; each agent counts for the first that names it."""
    found: list[Reading] = []
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
                Reading(
                    answer=" ".join(each.answer.split()),
                    agents=tuple(agents),
                    backing=round(backing, _DIGITS),
                    refuted=each.refuted,
                )
            )
    return tuple(sorted(found, key=lambda each: each.refuted))


def _messages(question: str, positions: Sequence[Position]) -> list[Message]:
    said = [f"answer: {each.answer or 'unknown'}\nquote: {each.quote}" for each in positions]
    fence = fence_for(question, said)
    asked = f"What the agents say, one a chunk:\n{fenced(fence, said)}\n\nQuestion: {question}"
    system = PROMPT.format(rule=RULE.format(fence=fence))
    return [Message("system", system), Message("user", asked)]
