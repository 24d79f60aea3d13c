import asyncio

import pytest
from tests.factories import hit_of

from fathom.agents.selector import LLMSelector, LocalSelector, Selector
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.retrieval.rerank import Reranker
from fathom.testing.doubles import (
    ScriptedChat,
    ScriptedCrossReader,
    completion,
    reading,
    run_context,
)
from fathom.types import Chunk, Hit
from fathom.usage import Usage

RELEVANCE = {"d1": 0.05, "d2": 0.9, "d3": 0.8}
HITS = tuple(hit_of(document=name, rank=rank) for rank, name in enumerate(RELEVANCE, start=1))


def read_relevance(_: str, chunk: Chunk) -> Reading:
    return reading(chunk, relevance=RELEVANCE[chunk.document_id])


LOCAL = LocalSelector(
    reranker=Reranker(pairs=ScriptedCrossReader(read_relevance), weight=1.0), keep=0.5
)


def select_hits(selector: Selector, hits: tuple[Hit, ...] = HITS) -> list[tuple[str, int]]:
    with run_context() as context:
        selected_hits = asyncio.run(selector.select(Question("Which?"), hits, context))
    return [(hit.chunk.document_id, hit.rank) for hit in selected_hits]


def test_relevant_hits_stay_in_their_order_and_at_least_one_always() -> None:
    assert select_hits(LOCAL) == [("d2", 1), ("d3", 2)]
    assert select_hits(LOCAL, HITS[:1]) == [("d1", 1)]
    assert select_hits(LOCAL, ()) == []


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((completion('{"chunks": [3, 1, 3, 7, 0]}'),), [("d3", 1), ("d1", 2)]),
        ((completion('{"chunks": null}'),), [("d2", 1)]),
        ((completion("no"), completion("no")), [("d2", 1), ("d3", 2)]),
        (
            (ModelFault("down", Usage(llm_calls=1), retriable=False),),
            [("d2", 1), ("d3", 2)],
        ),
    ],
)
def test_the_model_selects_or_else_the_local_selector(
    outcomes: tuple[Completion | Exception, ...], expected: list[tuple[str, int]]
) -> None:
    model = RoleModel(chat=ScriptedChat(*outcomes))
    assert select_hits(LLMSelector(model=model, local=LOCAL)) == expected
    assert select_hits(LLMSelector(model=model, local=LOCAL), ()) == []
