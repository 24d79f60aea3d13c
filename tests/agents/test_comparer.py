import asyncio
from dataclasses import replace

from tests.factories import hit_of

from fathom.agents.comparer import Comparer
from fathom.retrieval.fusion import ReciprocalRank
from fathom.testing.doubles import run_context


def test_lists_are_added_up_by_their_weights() -> None:
    a, b, c = (hit_of(document=name, rank=n) for n, name in enumerate("abc", start=1))
    lists = {"keyword": [replace(a, score=9.0), replace(b, score=5.0), replace(c, score=1.0)]}
    lists["semantic"] = [replace(c, score=0.8), replace(b, score=0.6)]
    with run_context() as context:
        hits = asyncio.run(Comparer().compare(lists, {"keyword": 0.4, "semantic": 0.6}, context))
    assert [(hit.chunk.document_id, round(hit.score, 6)) for hit in hits] == [
        ("c", 0.6),
        ("a", 0.4),
        ("b", 0.2),
    ]
    assert [hit.rank for hit in hits] == [1, 2, 3]
    assert {hit.retriever for hit in hits} == {"comparison"}


def test_an_empty_list_changes_nothing_and_no_weight_is_one() -> None:
    single = [hit_of(document="a"), hit_of(document="b", rank=2)]
    with run_context() as context:
        comparer = Comparer(fusion=ReciprocalRank(60))
        alone = asyncio.run(comparer.compare({"x": single}, {}, context))
        beside = asyncio.run(comparer.compare({"x": single, "a": []}, {"a": 5.0}, context))
        assert asyncio.run(comparer.compare({}, {}, context)) == ()
    assert alone == beside
    assert alone[0].score == 1 / 61
