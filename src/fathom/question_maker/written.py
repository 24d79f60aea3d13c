"""Questions that a language model writes about chunks, each as a fact."""

from collections.abc import Iterator, Sequence

from fathom.agents.questioner import LLMQuestioner
from fathom.question_maker.facts import Fact, language_of
from fathom.runs.concurrency import in_loop
from fathom.runs.context import run_alone
from fathom.text.instructions import gives_orders
from fathom.text.language import Language
from fathom.text.numbers import quantities
from fathom.types import Chunk
from fathom.usage import Budget


def written_facts(
    questioner: LLMQuestioner,
    chunks: Sequence[Chunk],
    languages: Sequence[Language],
    budget: Budget,
) -> Iterator[Fact]:
    """What a model asks about chunks, one call a chunk; texts that give it orders are not shown.

    Args:
        questioner: Asks the model.
        chunks: In the order in which they are asked about.
        languages: Chunks in others are passed over.
        budget: What one chunk may spend.
    """
    for chunk in chunks:
        language = language_of(chunk)
        if language not in languages or gives_orders(chunk.text):
            continue
        with run_alone(chunk.id, what="questions", budget=budget) as run:
            found = in_loop(questioner.ask(chunk, run))
        for each in found:
            answer = " ".join(each.answer.cut(chunk.text).split())
            yield Fact(
                question=each.question,
                answer=answer,
                chunk=chunk,
                span=each.answer,
                rule=questioner.prompt.id,
                language=language,
                numeric=answer[:1].isdigit() and bool(quantities(answer)),
            )
