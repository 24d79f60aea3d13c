import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.factories import hit_of

from fathom.retrieval.search import Search, collect_texts
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.runs.recorder import Recorder
from fathom.runs.replay import MissingEventError, RecordedEvents
from fathom.runs.trace import Trace
from fathom.testing.doubles import run_context
from fathom.types import ChunkBlock, Filter, Hit, Query
from fathom.usage import Budget

FIRST = replace(hit_of("first", start=3), score=0.1 + 0.2)
HITS = [
    replace(FIRST, chunk=replace(FIRST.chunk, blocks=(ChunkBlock("heading", 0, 5),))),
    hit_of("second", document="d2", rank=2),
]
QUERY = Query(text="q", filters=(Filter("year", "in", (1, 2)),))


class FixedRetriever:
    name = "hybrid"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        return HITS[:k]


def fail() -> Any:
    raise AssertionError("a replay opened the index")


def seal_trace(context: RunContext) -> Trace:
    assert isinstance(context.scope, Recorder)
    return context.scope.seal(None)


LIVE = Search(open_retriever=FixedRetriever, identity={"retriever": "hybrid"})
RECORD = Search(open_retriever=fail, identity={"retriever": "hybrid"})


def test_hits_are_restored_from_the_record() -> None:
    with run_context() as context:
        assert asyncio.run(LIVE(QUERY, k=2, context=context)) == tuple(HITS)
        assert context.ledger.usage.retrievals == 1
        trace = seal_trace(context)
    with run_context(events=RecordedEvents(trace)) as again:
        assert asyncio.run(RECORD(QUERY, k=2, context=again)) == tuple(HITS)
    assert {(text.document, text.start) for text in collect_texts(trace)} == {
        (hit.chunk.document_id, hit.chunk.span.start) for hit in HITS
    }
    assert trace.usage.retrievals == 1


@pytest.mark.parametrize("changed", ["query", "k", "identity"])
def test_another_search_is_missing_from_the_record(changed: str) -> None:
    with run_context() as context:
        asyncio.run(LIVE(QUERY, k=2, context=context))
        trace = seal_trace(context)
    search = replace(RECORD, identity={"retriever": "vector"}) if changed == "identity" else RECORD
    query = Query(text="other") if changed == "query" else QUERY
    with run_context(events=RecordedEvents(trace)) as again, pytest.raises(MissingEventError):
        asyncio.run(search(query, k=1 if changed == "k" else 2, context=again))


def test_a_search_beyond_the_budget_is_not_made() -> None:
    with run_context(Budget(retrievals=0)) as context:
        with pytest.raises(BudgetRefused):
            asyncio.run(RECORD(QUERY, k=2, context=context))
        trace = seal_trace(context)
    assert collect_texts(trace) == frozenset()
