"""The selector: chooses the retrieved chunks that are worth reading.

The executor DS of MAO-ARAG (arXiv 2508.01005, section 3.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Protocol, Self

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import build_chunk_request, show_parts
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.prompt import Prompt
from fathom.llm.schema import OneOf
from fathom.question.question import Question
from fathom.retrieval.pruning import CHUNK_TOKENS, EvidencePruner
from fathom.retrieval.rerank import Reranker
from fathom.runs.context import RunContext
from fathom.settings.mao import MaoSettings
from fathom.types import Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

PROMPT = Prompt.compose(
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


class Selector(Protocol):
    """A role that selects hits; it keeps at least one if there are any."""

    async def select(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        """Return the hits to read, with new ranks, as one step of the run.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSelector:
    """A deterministic selector by the relevance scores of the cross-reader.

    Attributes:
        reranker: The reranker that orders the hits by relevance.
        keep: The lowest share of the best hit's score at which a hit stays, in [0, 1].
    """

    reranker: Reranker
    keep: float = 0.3

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the agent from the assembly."""
        return cls(
            reranker=Reranker.of(assembly), keep=assembly.settings.get_section(MaoSettings).keep
        )

    async def select(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        """Keep the hits with at least `keep` times the relevance of the best hit."""
        with context.step("select", agent="selector") as step:
            ranked = (
                await self.reranker(question, hits, keep=len(hits), context=step) if hits else ()
            )
            floor = self.keep * ranked[0].score if ranked else 0.0
            selected = tuple(hit for hit in ranked if hit.score >= floor)
            step.set_outcome(
                outputs=_outline_hits(selected), reason=f"{len(selected)} of {len(hits)} chunks"
            )
        return selected


class SelectorReply(BaseModel):
    """The reply that a language model is asked for; no chunks if none helps."""

    chunks: Annotated[list[Annotated[int, OneOf("chunk")]], Field(min_length=1)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMSelector:
    """A selector that asks a language model, with the local selector as its fallback.

    If the model finds no chunk helpful, the best chunk of the local selector stays and the reader
    decides.

    Attributes:
        pruner: The pruner that chooses the parts of each hit that the model is shown.
    """

    model: RoleModel
    local: LocalSelector
    pruner: EvidencePruner
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        return cls(
            model=model,
            local=LocalSelector.of(assembly),
            pruner=EvidencePruner(pairs=assembly.cross_reader, limit=CHUNK_TOKENS),
            prompt=assembly.prompt(PROMPT),
        )

    async def select(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        """Keep the hits that the model names, in its order."""
        if not hits:
            return await self.local.select(question, hits, context)
        with context.step("select", agent="selector") as step:
            shown = await step.compute("prune", lambda: self.pruner.prune_each(question, hits))
            request = build_chunk_request(self.prompt, question, show_parts(shown))
            reply = await ask_model(self.model, SelectorReply, request, step)
            numbers = (reply.value.chunks if reply.value else None) or ()
            places = dict.fromkeys(number - 1 for number in numbers if 1 <= number <= len(hits))
            if not places:
                selected = await self.local.select(question, hits, step)
                # No reply says nothing about the chunks; a reply of "none" leaves only the best
                # one.
                selected = selected if reply.value is None else selected[:1]
                reason = reply.reason or "the model finds no chunk helpful"
                step.set_outcome(outputs=_outline_hits(selected), verdict="local", reason=reason)
                return selected
            selected = tuple(
                replace(hits[place], rank=rank, score=1 / rank)
                for rank, place in enumerate(places, start=1)
            )
            reason = reply.reason or f"{len(selected)} of {len(hits)} chunks"
            step.set_outcome(outputs=_outline_hits(selected), verdict="model", reason=reason)
        return selected


def _outline_hits(hits: Sequence[Hit]) -> dict[str, object]:
    """Return the outputs of the step for the trace: ids and scores."""
    return {"hits": [[hit.chunk.id, hit.score] for hit in hits]}
