"""The reorderer: puts the best hits in the order of their use for the question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Protocol, Self

from pydantic import BaseModel

from fathom.agents.prompt_delimiters import build_chunk_request, show_parts
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.faults import CallFailure
from fathom.llm.prompt import Prompt
from fathom.llm.schema import EachOf, OneOf
from fathom.question.question import Question
from fathom.retrieval.pruning import CHUNK_TOKENS, EvidencePruner
from fathom.retrieval.rerank import Reranker
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.settings.hybrid import HybridSettings
from fathom.types import Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

PROMPT = Prompt.compose(
    "reorderer",
    task="""\
You rank numbered chunks of documents by how well they help to answer a question.
- Give the numbers of all chunks, the most helpful first, each once.
- A chunk that says the answer comes before one that is merely about the same thing.""",
    language="- Question and chunks may be in any language.",
    unsure="- Where chunks help alike, keep their order.",
    example="""\
chunk 1: The harbour of Sandholm was built in 1921.
chunk 2: Dogs travel free of charge.
chunk 3: The ferry to Sandholm leaves at 9:15 from pier 4.
Question: When does the boat to Sandholm go?""",
    reply='{"order": [3, 1, 2]}',
)


class Reorderer(Protocol):
    """A role that puts hits in a better order; `retrieval.rerank.Reranker` is the local one."""

    async def __call__(
        self, question: Question, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """Return the `keep` best hits with new ranks, as one step of the run.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


class OrderReply(BaseModel):
    """The reply that a language model is asked for."""

    order: Annotated[list[Annotated[int, OneOf("chunk")]], EachOf("chunk")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReorderer:
    """A listwise reorderer with a sliding window (Sun et al. 2023, "Is ChatGPT good at search?").

    The window moves from the end of the first `top` hits to their start, so that relevant hits
    climb to the top. If a call is refused or fails, the windows done so far are used; if none was
    done, the local implementation takes over.

    Attributes:
        local: The reorderer to use if the model gives no order.
        pruner: The pruner that chooses the parts of each hit that the model is shown.
        top: The number of first hits that are ordered; the others stay after them.
        window: The number of hits that the model sees at once, at least 2.
        step: The number of hits by which the window moves, at least 1.
        prompt: The instructions for the model.
    """

    model: RoleModel
    local: Reorderer
    pruner: EvidencePruner
    top: int = 50
    window: int = 20
    step: int = 10
    prompt: Prompt = PROMPT

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        section = assembly.settings.get_section(HybridSettings)
        return cls(
            model=model,
            local=Reranker.of(assembly),
            pruner=EvidencePruner(pairs=assembly.cross_reader, limit=CHUNK_TOKENS),
            top=section.reorder_top,
            window=section.window,
            step=section.step,
            prompt=assembly.prompt(PROMPT),
        )

    async def __call__(
        self, question: Question, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """Reorder the hits; the scores are 1 / rank, because an order has no scores."""
        inputs = {"chunks": [hit.chunk.id for hit in hits], "keep": keep}
        with context.step("reorder", agent="reorderer", inputs=inputs) as step:
            order = list(hits)
            done, reason = 0, ""
            for start in compute_window_starts(min(self.top, len(hits)), self.window, self.step):
                window = slice(start, start + min(self.window, self.top - start))
                try:
                    order[window] = await self._order_window(question, order[window], step)
                except (BudgetRefused, CallFailure) as error:
                    # Each window leaves a complete order, so the windows before this one count.
                    reason = str(error)
                    break
                done += 1
            if reason and not done:
                step.set_outcome(verdict="local", reason=reason)
                return await self.local(question, hits, keep=keep, context=step)
            ranked = _rank(order[:keep])
            ids = [hit.chunk.id for hit in ranked]
            step.set_outcome(
                outputs={"hits": ids}, verdict="model", reason=reason or f"{done} windows"
            )
        return ranked

    async def _order_window(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> list[Hit]:
        """Return the hits of one window in the order of the model's reply."""
        shown = await context.compute("prune", lambda: self.pruner.prune_each(question, hits))
        request = build_chunk_request(self.prompt, question, show_parts(shown))
        reply = await ask_model(self.model, OrderReply, request, context)
        order = reply.require_value().order
        return [hits[place] for place in complete_order(order, len(hits))]


def compute_window_starts(hits: int, size: int, step: int) -> list[int]:
    """Return the start index of each window over a number of hits, the last window first.

    Every hit is in at least one window. A single hit needs no window.
    """
    if hits < 2:
        return []
    # A step wider than the window would leave out hits between two windows.
    move = min(step, size)
    starts = list(range(max(0, hits - size), 0, -move))
    # The final window always begins at the first hit, whatever the step leaves over.
    return [*starts, 0]


def complete_order(order: Sequence[int], count: int) -> list[int]:
    """Return indexes from 0 in the order of a reply that numbers the hits from 1.

    Repeated and impossible numbers are ignored. Hits that the reply leaves out follow in their old
    order.
    """
    named = [number - 1 for number in order if 1 <= number <= count]
    return list(dict.fromkeys([*named, *range(count)]))


def put_best_at_ends(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits with the best at both ends and the weakest in the middle; ranks stay.

    Models read the middle of a long context least (Liu et al. 2024, "Lost in the middle").
    """
    return (*hits[::2], *hits[1::2][::-1])


def _rank(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits with ranks from 1 and scores of 1 / rank."""
    return tuple(replace(hit, rank=n, score=1 / n) for n, hit in enumerate(hits, start=1))
