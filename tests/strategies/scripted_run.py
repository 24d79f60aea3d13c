"""A runner for strategies whose agents and searches are scripted."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.factories import FEES, QUESTION, hit_of

from fathom.agents.finalizer import Finalizer
from fathom.question.question import Question
from fathom.retrieval.quotes import QuoteLookup
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.runs.replay import RecordedEvents, is_same_answer
from fathom.runs.trace import Origin
from fathom.strategies.base import Strategy
from fathom.strategies.run import RunOutcome, RunResources, run_strategy
from fathom.types import Document, Draft, Evidence, Hit, Query, Span
from fathom.usage import Budget

DOCUMENT = Document(id="d1", text=FEES, path="a", title="A")


@dataclass
class ScriptedRetriever:
    """A retriever of fixed hits that fails a given number of times first."""

    hits: Sequence[Hit]
    breaks: int = 0
    calls: int = 0
    name: str = "finds"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.calls += 1
        if self.calls <= self.breaks:
            raise KeyError("nobody foresaw this")
        return list(self.hits[:k])

    def search(self, name: str = "finds") -> Search:
        return Search(open_retriever=lambda: self, identity={"name": name})


class EndlessSearch:
    """A search that never returns."""

    async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
        await asyncio.Event().wait()
        raise AssertionError


@dataclass
class QuotingReader:
    """A reader that quotes the beginning of the first hit and records the hits it was given."""

    read_ids: list[tuple[str, ...]] = field(default_factory=list)

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        self.read_ids.append(tuple(hit.chunk.id for hit in hits))
        if not hits:
            return Draft()
        evidence = Evidence(hit=hits[0], span=Span(0, 40), support=0.9)
        return Draft(evidence=(evidence,), confidence=0.9)


def make_finalizer(name: str) -> Finalizer:
    return Finalizer(quotes=QuoteLookup({"d1": DOCUMENT}.get), strategy=name, min_confidence=0.5)


def make_hits(*documents: str) -> tuple[Hit, ...]:
    return tuple(hit_of(document=name, rank=rank) for rank, name in enumerate(documents, start=1))


def run_to_end(
    strategy: Strategy,
    budget: Budget | None = None,
    events: Any = None,
    question: str = QUESTION,
) -> RunOutcome:
    """Run a strategy to its end and check that no task is left."""
    origin = Origin(question=question, strategy=strategy.name, budget=budget or Budget())

    async def run_whole(executor: ThreadPoolExecutor) -> RunOutcome:
        surroundings = RunResources(executor=executor, events=events)
        outcome = await run_strategy(strategy, origin, surroundings)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return outcome

    with ThreadPoolExecutor(4) as executor:
        return asyncio.run(run_whole(executor))


def is_replayed(outcome: RunOutcome, strategy: Strategy) -> bool:
    """Return whether the record alone gives the same answer."""
    origin = outcome.trace.origin
    again = run_to_end(strategy, origin.budget, RecordedEvents(outcome.trace), origin.question)
    return is_same_answer(outcome.trace, again.answer)
