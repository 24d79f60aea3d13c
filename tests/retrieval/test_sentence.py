from collections.abc import Sequence
from dataclasses import replace

from tests.factories import hit_of

from fathom.retrieval.vector import SentenceRetriever
from fathom.testing.doubles import HashingEmbedder
from fathom.types import Hit, Query

QUESTION = "When does the ferry sail?"
DROWNED = "Sheep graze on the hills. The ferry does sail at noon. Goats climb the rocks above."
NEAR = "The ferry is old and its captain is older, as the ferry's own log says; it may sink."


class FixedRetriever:
    """A retriever of given hits."""

    name = "finds"

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = hits
        self.asked: list[int] = []

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.asked.append(k)
        return list(self.hits[:k])


def make_hits(*texts: str) -> list[Hit]:
    return [hit_of(text, document=f"d{rank}", rank=rank) for rank, text in enumerate(texts, 1)]


def make_retriever(hits: Sequence[Hit], candidates: int = 12) -> SentenceRetriever:
    return SentenceRetriever(
        first=FixedRetriever(hits),
        embedder=HashingEmbedder(256),
        texts=HashingEmbedder(256),
        candidates=candidates,
    )


def test_one_good_sentence_is_enough() -> None:
    hits = make_retriever(make_hits(NEAR, DROWNED)).retrieve(Query(text=QUESTION), k=2)

    assert [hit.chunk.text for hit in hits] == [DROWNED, NEAR]
    assert [(hit.rank, hit.retriever) for hit in hits] == [(1, "sentence"), (2, "sentence")]


def test_the_score_is_the_cosine_of_the_best_sentence_under_its_title() -> None:
    (hit,) = make_retriever(make_hits(DROWNED)).retrieve(Query(text=QUESTION), k=1)

    question_vector, best = HashingEmbedder(256).embed(
        [QUESTION, "Fees: The ferry does sail at noon."]
    )
    assert hit.score == round(float(question_vector @ best), 6)


def test_only_the_candidates_are_read_and_returned() -> None:
    first = FixedRetriever(make_hits(NEAR, NEAR, DROWNED))
    retriever = replace(make_retriever([], candidates=2), first=first)

    assert len(retriever.retrieve(Query(text=QUESTION), k=3)) == 2
    assert first.asked == [2]


def test_equal_sentences_are_ordered_like_their_chunks() -> None:
    turned = make_hits(NEAR, NEAR)[::-1]
    hits = make_retriever(turned).retrieve(Query(text=QUESTION), k=2)
    assert [hit.chunk.id for hit in hits] == ["d1#0", "d2#0"]


def test_chunks_without_sentences_and_empty_lists_are_handled() -> None:
    assert len(make_retriever(make_hits(" \n ")).retrieve(Query(text=QUESTION), k=1)) == 1
    assert make_retriever([]).retrieve(Query(text=QUESTION), k=1) == []
