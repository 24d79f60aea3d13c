"""Questions that a language model writes about chunks, each as a fact."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import inf

from fathom.agents.questioner import LLMQuestioner
from fathom.concurrency import in_loop
from fathom.context import RunContext
from fathom.ledger import Ledger
from fathom.questions.facts import Fact, language_of
from fathom.text.instructions import gives_orders
from fathom.text.language import Language
from fathom.text.numbers import quantities
from fathom.tracing.recorder import Recorder
from fathom.tracing.trace import Origin
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
        with _run(chunk, budget) as run:
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


@contextmanager
def _run(chunk: Chunk, budget: Budget) -> Iterator[RunContext]:
    end = inf if budget.seconds is None else time.monotonic() + budget.seconds
    with ThreadPoolExecutor(1, thread_name_prefix="fathom-questions") as executor:
        yield RunContext(
            ledger=Ledger(budget),
            scope=Recorder(Origin(question=chunk.id, strategy="questions")),
            executor=executor,
            deadline=end,
            end=end,
        )
