"""A row counts every judged question, and documents rank by their best chunk."""

from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, Question
from fathom.evaluation.runner import evaluate_retriever, percentiles, rank_documents
from fathom.types import Chunk, Hit, Query, Span


class Fixed:
    """Gives the same chunks to every query, deepest first asked."""

    name = "fixed"

    def __init__(self, *chunk_ids: str) -> None:
        self.chunk_ids = chunk_ids
        self.asked: list[int] = []

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.asked.append(k)
        return [
            Hit(chunk=chunk(chunk_id), score=-float(rank), rank=rank, retriever=self.name)
            for rank, chunk_id in enumerate(self.chunk_ids[:k], start=1)
        ]


def chunk(chunk_id: str) -> Chunk:
    document, ordinal = chunk_id.split("#")
    return Chunk(id=chunk_id, document_id=document, text="", span=Span(0, 0), ordinal=int(ordinal))


def test_documents_take_the_place_of_their_best_chunk() -> None:
    retriever = Fixed("a#3", "b#0", "a#1", "c#0")
    assert rank_documents(retriever, Question(id="q", text="?"), depth=10) == ["a", "b", "c"]


def test_it_asks_for_more_chunks_until_there_are_enough_documents() -> None:
    retriever = Fixed(*(f"a#{n}" for n in range(9)), "b#0", "c#0")
    assert rank_documents(retriever, Question(id="q", text="?"), depth=2) == ["a", "b"]
    assert retriever.asked == [2, 8, 32]


def dataset() -> Dataset:
    questions = tuple(Question(id=f"q{n}", text="?") for n in range(3))
    qrels = {"q0": {"a": 1}, "q1": {"nowhere": 1}}
    return Dataset(name="toy", corpus=Path("toy"), questions=questions, qrels=qrels)


def test_a_row_holds_means_over_all_judged_questions() -> None:
    row = evaluate_retriever(dataset(), Fixed("a#0"))
    assert (row.dataset, row.system, row.queries) == ("toy", "fixed", 2)
    assert row.measures["Hit@10"] == 0.5
    assert row.intervals["Hit@10"] == (0.0, 1.0)
    assert row.usage == {"retrievals": 2}


def test_fewer_queries_can_be_asked() -> None:
    row = evaluate_retriever(dataset(), Fixed("a#0", "nowhere#0"), queries=1)
    assert (row.queries, row.measures["Hit@10"]) == (1, 1.0)


def test_without_judgements_there_is_nothing_to_measure() -> None:
    bare = Dataset(name="bare", corpus=Path("bare"), questions=(), qrels={})
    with pytest.raises(UsageError, match="no judged question"):
        evaluate_retriever(bare, Fixed())


def test_percentiles_by_hand() -> None:
    assert percentiles([2.0]) == {"p50": 2.0, "p95": 2.0}
    assert percentiles([float(n) for n in range(21)]) == {"p50": 10.0, "p95": 19.0}
