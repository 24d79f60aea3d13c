from tests.making import hit_of

from fathom.retrieval.fused import fused
from fathom.retrieval.fusion import ReciprocalRank

A, B, C = (hit_of(document=name, rank=n) for n, name in enumerate("abc", start=1))


def test_hits_keep_their_chunks_and_get_new_ranks() -> None:
    hits = fused([[A, B], [B, C]], [1.0, 1.0], ReciprocalRank(60), "sum")
    assert [hit.chunk for hit in hits] == [B.chunk, A.chunk, C.chunk]
    assert [(hit.rank, hit.retriever) for hit in hits] == [(1, "sum"), (2, "sum"), (3, "sum")]
    assert hits[0].score == 1 / 61 + 1 / 62


def test_nothing_fused_is_nothing() -> None:
    assert fused([], [], ReciprocalRank(60), "sum") == ()
    assert fused([[]], [1.0], ReciprocalRank(60), "sum") == ()
