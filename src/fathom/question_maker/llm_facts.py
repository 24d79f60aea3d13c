"""Facts from questions that a language model writes about chunks."""

from collections.abc import Iterator, Sequence

from fathom.agents.questioner import LLMQuestioner
from fathom.question_maker.facts import Fact, detect_chunk_language
from fathom.runs.concurrency import run_in_loop
from fathom.runs.context import open_run
from fathom.text.instructions import gives_orders
from fathom.text.language import Language
from fathom.text.numbers import parse_quantities
from fathom.types import Chunk
from fathom.usage import Budget


def write_facts(
    questioner: LLMQuestioner,
    chunks: Sequence[Chunk],
    languages: Sequence[Language],
    budget: Budget,
) -> Iterator[Fact]:
    """Yield the facts of a model's questions about chunks, with one call for each chunk.

    Chunks in other languages, and chunks that give orders to a language model, are skipped.

    Args:
        questioner: The agent that writes questions.
        chunks: The chunks.
        languages: The languages of the questions.
        budget: The budget of one chunk.
    """
    for chunk in chunks:
        language = detect_chunk_language(chunk)
        if language not in languages or gives_orders(chunk.text):
            continue
        with open_run(chunk.id, what="questions", budget=budget) as run:
            written = run_in_loop(questioner.write_questions(chunk, run))
        for question in written:
            answer = " ".join(question.answer.cut(chunk.text).split())
            yield Fact(
                question=question.question,
                answer=answer,
                chunk=chunk,
                span=question.answer,
                rule=questioner.prompt.id,
                language=language,
                numeric=answer[:1].isdigit() and bool(parse_quantities(answer)),
            )
