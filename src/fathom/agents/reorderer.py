"""The reorderer: the best hits in the order of what they say to the question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Protocol

from pydantic import BaseModel

from fathom.agents.prompt_delimiters import about_chunks
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.faults import CallFailed
from fathom.llm.prompt import Prompt
from fathom.llm.schema import EachOf, OneOf
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.types import Hit

PROMPT = Prompt.of(
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

_LONGEST_CHUNK = 1_200


class Reorderer(Protocol):
    """Puts hits in a better order; `Reranker` is the local implementation."""

    async def __call__(
        self, question: str, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """The `keep` best hits, ranked anew, as one step of the run.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


class OrderReply(BaseModel):
    """What a language model is asked for."""

    order: Annotated[list[Annotated[int, OneOf("chunk")]], EachOf("chunk")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReorderer:
    """Listwise reordering with a sliding window (Sun et al. 2023, "Is ChatGPT good at search?").

    The window moves from the last of the first `top` hits to the first, so that what belongs to
    the top climbs there. When a call is refused or fails, the windows done so far count; when
    none was done, the local implementation takes over.

    Attributes:
        local: Used when the model gives nothing.
        top: So many hits are put in order; the others stay behind them.
        window: So many are seen at once, at least 2.
        step: By which the window moves, at least 1.
        prompt: What the model is told.
    """

    model: RoleModel
    local: Reorderer
    top: int = 50
    window: int = 20
    step: int = 10
    prompt: Prompt = PROMPT

    async def __call__(
        self, question: str, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """See `Reorderer`; scores are 1 / rank, as a list in words has none."""
        inputs = {"chunks": [hit.chunk.id for hit in hits], "keep": keep}
        with context.step("reorder", agent="reorderer", inputs=inputs) as here:
            order = list(hits)
            done, reason = 0, ""
            for start in windows(min(self.top, len(hits)), self.window, self.step):
                part = slice(start, start + min(self.window, self.top - start))
                try:
                    order[part] = await self._ordered(question, order[part], here)
                except (BudgetRefused, CallFailed) as failed:
                    reason = str(failed)
                    break
                done += 1
            if reason and not done:
                here.done(verdict="local", reason=reason)
                return await self.local(question, hits, keep=keep, context=here)
            found = _ranked(order[:keep])
            listed = [hit.chunk.id for hit in found]
            here.done(outputs={"hits": listed}, verdict="model", reason=reason or f"{done} windows")
        return found

    async def _ordered(self, question: str, hits: Sequence[Hit], context: RunContext) -> list[Hit]:
        asked = about_chunks(self.prompt, question, hits, longest=_LONGEST_CHUNK)
        reply = await ask_model(self.model, OrderReply, asked, context)
        order = reply.required().order
        return [hits[place] for place in permutation(order, len(hits))]


def windows(hits: int, size: int, step: int) -> list[int]:
    """Where windows over so many hits begin, the last first; no hit is outside of all of them.

    One hit needs no window.
    """
    if hits < 2:
        return []
    move = min(step, size)
    starts = list(range(max(0, hits - size), 0, -move))
    return [*starts, 0]


def permutation(order: Sequence[int], count: int) -> list[int]:
    """Places from 0 in the order of a reply that numbers them from 1.

    Numbers that come again or that there are none of are left out; places that the reply leaves
    out follow in their own order.
    """
    said = [number - 1 for number in order if 1 <= number <= count]
    return list(dict.fromkeys([*said, *range(count)]))


def ends_first(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The best hits at both ends and the weakest in the middle, ranks as they are.

    Models read the middle of a long context least (Liu et al. 2024, "Lost in the middle").
    """
    return (*hits[::2], *hits[1::2][::-1])


def _ranked(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    return tuple(replace(hit, rank=n, score=1 / n) for n, hit in enumerate(hits, start=1))
