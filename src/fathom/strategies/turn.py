"""A turn of `mao`: one question or sub-question, and how far its workflow has come."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fathom.agents.decomposer import bridge
from fathom.agents.workflow import Executor, Workflow
from fathom.context import RunContext
from fathom.retrieval.fusion import ReciprocalRank, fuse_hits
from fathom.types import Draft, Hit

_LATER = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is known of a turn so far.

    Attributes:
        number: 0 is the question itself.
        question: As it stands now: slots filled, perhaps rewritten.
        look: What the first look found; `None` before it.
        looked_for: The question of that look.
        coverage: Share of the question's terms that the best hit of the look holds.
        plan: The workflow that was chosen; empty before it.
        todo: What remains of it.
        hits: What R found and DS kept.
        draft: What AG made of it; `None` before it.
    """

    number: int
    question: str
    look: tuple[Hit, ...] | None = None
    looked_for: str = ""
    coverage: float = 0.0
    plan: Workflow = ()
    todo: Workflow = ()
    hits: tuple[Hit, ...] = ()
    draft: Draft | None = None

    @property
    def name(self) -> str:
        """Of its steps."""
        return f"turn {self.number}"

    @property
    def next(self) -> Executor | None:
        """The executor that comes next."""
        return self.todo[0] if self.todo else None

    @property
    def answer(self) -> str:
        """What later questions get for it; see `bridge`."""
        return bridge(self.question, self.draft or Draft(), self.hits)

    @property
    def seen(self) -> tuple[Hit, ...]:
        """What was found for it, what was kept of it first."""
        kept = {hit.chunk.id for hit in self.hits}
        rest = tuple(hit for hit in self.look or () if hit.chunk.id not in kept)
        return (*self.hits, *rest)


def gathered(turns: Sequence[Turn]) -> tuple[Hit, ...]:
    """What all turns found as one ranking: the best hit of each turn first, then the seconds.

    A chunk that several turns found counts for each of them. At equal rank later turns come
    first, for their questions are the plainer ones.
    """
    weights = [1 + _LATER * turn.number for turn in turns]
    return fuse_hits([turn.seen for turn in turns], weights, ReciprocalRank(0), "mao")


Work = Callable[[Turn, RunContext], Awaitable[Turn]]


async def worked(
    turns: Sequence[Turn], due: Callable[[Turn], bool], work: Work, context: RunContext
) -> tuple[Turn, ...]:
    """The turns after the work on each that is due, all at the same time, each as one step.

    What one of them raises is raised when all have ended.
    """

    async def one(turn: Turn) -> Turn:
        if not due(turn):
            return turn
        with context.step(turn.name) as here:
            return await work(turn, here)

    done = await asyncio.gather(*map(one, turns), return_exceptions=True)
    found: list[Turn] = []
    for each in done:
        if isinstance(each, BaseException):
            raise each
        found.append(each)
    return tuple(found)
