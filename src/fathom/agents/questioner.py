"""The questioner: asks about a chunk what somebody might ask who has not seen it.

Only a language model has this role; without one, questions are made by rules (`text.asking`), and
with one by both. What it writes counts only where its answer stands in the chunk word for word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import fence_for, fenced, rule_of
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import Prompt
from fathom.llm.schema import AtMost
from fathom.runs.context import RunContext
from fathom.text.quote_match import find
from fathom.types import Chunk, Span

MOST = 3
"""Questions about one chunk."""
_LONGEST = 6_000  # characters of a chunk
_SHORTEST = 3  # words of a question

PROMPT = Prompt.of(
    "questioner",
    task="""\
You write questions that a person who has never seen a text might ask, and that it answers.
- Write at most $most. Each must be clear without the text: name what it is about, never say "the \
text" or "it".
- Ask in words of your own. The answer is copied word for word from the text, as short as it can \
be: a name, a number, a date, a phrase.""",
    language="- Write in the language of the text.",
    unsure="- If the text states nothing that could be asked for, the list is empty: there is "
    "nothing to ask.",
    example="""\
The ferry to Sandholm leaves the northern pier every morning at 9:15. A ticket costs 12 crowns.""",
    reply="""\
{"questions": [{"question": "When does the ferry to Sandholm depart?", "answer": "9:15"}, \
{"question": "What is the price of a ticket for the Sandholm ferry?", "answer": "12 crowns"}]}""",
)


class AskedAnswer(BaseModel):
    """A question with what answers it."""

    question: Annotated[str, Field(max_length=400), AtMost(200)]
    answer: Annotated[str, Field(max_length=300), AtMost(120)]


class QuestionerReply(BaseModel):
    """What a language model is asked for."""

    questions: Annotated[list[AskedAnswer], AtMost(MOST)]


class Written(NamedTuple):
    """A question, and where its answer stands in the chunk's text."""

    question: str
    answer: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMQuestioner:
    """Asks a language model for questions."""

    model: RoleModel
    prompt: Prompt = PROMPT

    async def ask(self, chunk: Chunk, context: RunContext) -> tuple[Written, ...]:
        """Questions about a chunk, as one step of the run; none where the model has none to use."""
        with context.step("question", agent="questioner", inputs={"chunk": chunk.id}) as here:
            text = chunk.context[:_LONGEST]
            fence = fence_for("", [text])
            asked = self.prompt.asking(
                fenced(fence, [text], label="text"), rule=rule_of(fence), values={"most": MOST}
            )
            reply = await ask_model(self.model, QuestionerReply, asked, here)
            written = _kept(reply.value.questions if reply.value else (), chunk)
            told = [each.question for each in written]
            here.done(outputs={"questions": told}, verdict="model", reason=reply.reason)
        return written


def _kept(replied: Sequence[AskedAnswer], chunk: Chunk) -> tuple[Written, ...]:
    """Those whose answers stand in the chunk and not in their questions."""
    found: list[Written] = []
    for each in replied[:MOST]:
        question = " ".join(each.question.split())
        place = find(each.answer, chunk.text) if each.answer.strip() else None
        told = each.answer.strip().casefold() in question.casefold()
        if place and place.exact and not told and len(question.split()) >= _SHORTEST:
            found.append(
                Written(question if question.endswith("?") else f"{question}?", place.span)
            )
    return tuple(found)
