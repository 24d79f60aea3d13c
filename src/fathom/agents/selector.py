"""The selector: which of the retrieved chunks are worth reading.

The executor DS of MAO-ARAG (arXiv 2508.01005, section 3.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Protocol

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import about_chunks
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import Prompt
from fathom.llm.schema import OneOf
from fathom.retrieval.rerank import Reranker
from fathom.runs.context import RunContext
from fathom.types import Hit

PROMPT = Prompt.of(
    "selector",
    task="""\
You select the numbered chunks of documents that help to answer a question.
- Give the numbers of the chunks that help, the most helpful first; leave out the others.""",
    language="- Question and chunks may be in any language.",
    unsure="- Take a chunk that may help. If surely none does, the reply is null.",
    example="""\
chunk 1: The harbour of Sandholm was built in 1921.
chunk 2: Dogs travel free of charge.
chunk 3: The ferry to Sandholm leaves at 9:15 from pier 4.
Question: When does the boat to Sandholm go?""",
    reply='{"chunks": [3]}',
)

_LONGEST_CHUNK = 2_000


class Selector(Protocol):
    """Selects hits; every one keeps at least one of them, where there are any."""

    async def select(
        self, question: str, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        """The hits to read, ranked anew, as one step of the run.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSelector:
    """The local implementation: the relevance that the cross-reader gives; deterministic.

    Attributes:
        reranker: Orders the hits by relevance.
        keep: A hit stays when its score is at least this share of the best one's, in [0, 1].
    """

    reranker: Reranker
    keep: float = 0.3

    async def select(
        self, question: str, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        """See `Selector.select`."""
        with context.step("select", agent="selector") as here:
            found = (
                await self.reranker(question, hits, keep=len(hits), context=here) if hits else ()
            )
            floor = self.keep * found[0].score if found else 0.0
            kept = tuple(hit for hit in found if hit.score >= floor)
            here.done(outputs=_listed(kept), reason=f"{len(kept)} of {len(hits)} chunks")
        return kept


class SelectorReply(BaseModel):
    """What a language model is asked for; no chunks where none helps."""

    chunks: Annotated[list[Annotated[int, OneOf("chunk")]], Field(min_length=1)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMSelector:
    """Asks a language model; what it cannot or may not answer the local implementation does.

    A model that finds nothing helpful is not believed blindly: the best chunk by the local
    selector stays, and the reader decides.
    """

    model: RoleModel
    local: LocalSelector
    prompt: Prompt = PROMPT

    async def select(
        self, question: str, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        """See `Selector.select`."""
        if not hits:
            return await self.local.select(question, hits, context)
        with context.step("select", agent="selector") as here:
            asked = about_chunks(self.prompt, question, hits, longest=_LONGEST_CHUNK)
            reply = await ask_model(self.model, SelectorReply, asked, here)
            said = (reply.value.chunks if reply.value else None) or ()
            places = dict.fromkeys(number - 1 for number in said if 1 <= number <= len(hits))
            if not places:
                kept = await self.local.select(question, hits, here)
                kept = kept if reply.value is None else kept[:1]
                reason = reply.reason or "the model finds no chunk helpful"
                here.done(outputs=_listed(kept), verdict="local", reason=reason)
                return kept
            kept = tuple(
                replace(hits[place], rank=rank, score=1 / rank)
                for rank, place in enumerate(places, start=1)
            )
            reason = reply.reason or f"{len(kept)} of {len(hits)} chunks"
            here.done(outputs=_listed(kept), verdict="model", reason=reason)
        return kept


def _listed(hits: Sequence[Hit]) -> dict[str, object]:
    return {"hits": [[hit.chunk.id, hit.score] for hit in hits]}
