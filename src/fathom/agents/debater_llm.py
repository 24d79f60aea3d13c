"""The debater's other mind: a language model speaks for a chunk, and its quote is looked up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from fathom.agents.debater import Debater, Move, Position, outline
from fathom.agents.prompt_delimiters import RULE, fence_for, fenced
from fathom.agents.reader_llm import Sentence, located
from fathom.context import RunContext
from fathom.llm.base import Message
from fathom.llm.call import RoleModel, ask_model
from fathom.text.answer_match import answers_match, normalize_answer
from fathom.types import Hit

PROMPT = """\
You are one of several agents who debate a question. You speak for one chunk of a document, and \
you know nothing else.
- answer: what your chunk says to the question, in a few words; empty if it does not say.
- quote: the part of your chunk that says so, word for word.
- The other agents speak for other chunks. A question can mean several things of the same name: \
what they say about another thing contradicts nothing. Change your answer only if your own chunk \
supports the change.
- supports: numbers of the other agents whose answer your chunk says too.
- contradicts: numbers of those whose answer your chunk says is wrong.
{rule}"""

_LONGEST_CHUNK = 6_000
_LONGEST_ANSWER = 300
_UNQUOTED = 0.5


class DebaterReply(BaseModel):
    """What a language model is asked for."""

    answer: str = Field(default="", max_length=_LONGEST_ANSWER)
    quote: str = Field(default="", max_length=2_000)
    supports: list[int] = Field(default_factory=list)
    contradicts: list[int] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageDebater:
    """Asks a language model; an answer counts only if its quote stands in the agent's own chunk.

    Attributes:
        local: Speaks where the model gives nothing, or nothing that can be verified.
    """

    model: RoleModel
    local: Debater

    async def speak(
        self,
        question: str,
        hit: Hit,
        own: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        """See `Debater.speak`."""
        inputs = {"chunk": hit.chunk.id, "heard": [each.answer for each in heard]}
        with context.step("speak", agent="debater", inputs=inputs) as here:
            messages = _messages(question, hit, own, heard)
            reply = await ask_model(self.model, DebaterReply, messages, here)
            said = _position(reply.value, question, hit, own, heard) if reply.value else None
            if said is None:
                reason = reply.reason or "the quote does not stand in the chunk"
                here.done(usage=reply.usage, verdict="local", reason=reason)
                return await self.local.speak(question, hit, own, heard, here)
            reason = reply.reason or said.answer or "unknown"
            here.done(outputs=outline(said), usage=reply.usage, verdict=said.move, reason=reason)
        return said


def _position(
    reply: DebaterReply, question: str, hit: Hit, own: Position | None, heard: Sequence[Position]
) -> Position | None:
    """What the reply says; `None` if its quote cannot be verified.

    An answer that its quote does not hold in so many words counts half.
    """
    answer = " ".join(reply.answer.split())
    move = _move(question, own, answer)
    told = Position(
        hit=hit,
        supports=_named(reply.supports, heard),
        contradicts=_named(reply.contradicts, heard),
        move=move,
    )
    if not answer:
        return told
    evidence = located(Sentence(text=answer, chunk=1, quote=reply.quote), [hit])
    if evidence is None:
        return None
    score = 1.0 if normalize_answer(answer) in normalize_answer(evidence.quote) else _UNQUOTED
    return replace(told, answer=answer, evidence=replace(evidence, support=score), score=score)


def _move(question: str, own: Position | None, answer: str) -> Move:
    if own is None:
        return "opens"
    if own.answer and not answer:
        return "drops"
    kept = own.answer == answer or answers_match(question, own.answer, answer)
    return "keeps" if kept else "adopts"


def _named(numbers: Sequence[int], heard: Sequence[Position]) -> tuple[str, ...]:
    answers = [heard[number - 1].answer for number in numbers if 1 <= number <= len(heard)]
    return tuple(dict.fromkeys(answer for answer in answers if answer))


def _messages(
    question: str, hit: Hit, own: Position | None, heard: Sequence[Position]
) -> list[Message]:
    chunk = hit.chunk.context[:_LONGEST_CHUNK]
    others = [f"answer: {each.answer or 'unknown'}\nquote: {each.quote}" for each in heard]
    fence = fence_for(question, [chunk, *others])
    asked = [f"Your chunk:\n{fenced(fence, [chunk])}"]
    if own is not None:
        asked.append(f"Your answer in the round before: {own.answer or 'unknown'}")
    if others:
        asked.append(f"The other agents, one a chunk:\n{fenced(fence, others)}")
    asked.append(f"Question: {question}")
    rule = RULE.format(fence=fence)
    return [Message("system", PROMPT.format(rule=rule)), Message("user", "\n\n".join(asked))]
