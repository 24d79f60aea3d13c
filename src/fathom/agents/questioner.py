"""The questioner: writes questions about a chunk as a person would who has not seen it.

Only a language model has this role; the rules of `question_maker.asking` make questions without
one. A question of the model counts only if the chunk contains its answer word for word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import fence_texts, format_rule, make_fence
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import Prompt
from fathom.llm.schema import AtMost
from fathom.runs.context import RunContext
from fathom.text.quote_match import find_quote
from fathom.types import Chunk, Span

if TYPE_CHECKING:
    from fathom.assembly import Assembly

MOST_QUESTIONS = 3
"""The largest number of questions about one chunk."""
_LONGEST = 6_000
"""The largest number of characters of a chunk that the model is shown."""
_SHORTEST = 3
"""The smallest number of words of a question; a shorter one is not specific."""

PROMPT = Prompt.compose(
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


class QuestionAnswerPair(BaseModel):
    """A question with its answer."""

    question: Annotated[str, Field(max_length=400), AtMost(200)]
    answer: Annotated[str, Field(max_length=300), AtMost(120)]


class QuestionerReply(BaseModel):
    """The reply that a language model is asked for."""

    questions: Annotated[list[QuestionAnswerPair], AtMost(MOST_QUESTIONS)]


class GroundedQuestion(NamedTuple):
    """A question with the span of its answer in the chunk's text."""

    question: str
    answer: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMQuestioner:
    """A questioner that asks a language model."""

    model: RoleModel
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        return cls(model=model, prompt=assembly.prompt(PROMPT))

    async def write_questions(
        self, chunk: Chunk, context: RunContext
    ) -> tuple[GroundedQuestion, ...]:
        """Write questions about a chunk, as one step of the run; none without a usable reply."""
        with context.step("question", agent="questioner", inputs={"chunk": chunk.id}) as step:
            text = chunk.context[:_LONGEST]
            fence = make_fence("", [text])
            request = self.prompt.build_request(
                fence_texts(fence, [text], label="text"),
                rule=format_rule(fence),
                values={"most": MOST_QUESTIONS},
            )
            reply = await ask_model(self.model, QuestionerReply, request, step)
            questions = _select_grounded(reply.value.questions if reply.value else (), chunk)
            texts = [question.question for question in questions]
            step.set_outcome(outputs={"questions": texts}, verdict="model", reason=reply.reason)
        return questions


def _select_grounded(
    replied: Sequence[QuestionAnswerPair], chunk: Chunk
) -> tuple[GroundedQuestion, ...]:
    """Return the questions whose answer is in the chunk word for word and not in the question."""
    questions: list[GroundedQuestion] = []
    for pair in replied[:MOST_QUESTIONS]:  # a server may not enforce the bound of the schema
        question = " ".join(pair.question.split())
        match = find_quote(pair.answer, chunk.text) if pair.answer.strip() else None
        gives_away = pair.answer.strip().casefold() in question.casefold()
        if match and match.exact and not gives_away and len(question.split()) >= _SHORTEST:
            questions.append(
                GroundedQuestion(question if question.endswith("?") else f"{question}?", match.span)
            )
    return tuple(questions)
