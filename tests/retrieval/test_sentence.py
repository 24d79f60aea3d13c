from collections.abc import Sequence
from dataclasses import replace

from tests.making import hit_of

from fathom.retrieval.vector import SentenceRetriever
from fathom.testing.doubles import HashingEmbedder
from fathom.types import Hit, Query

ASKED = "When does the ferry sail?"
DROWNED = "Sheep graze on the hills. The ferry does sail at noon. Goats climb the rocks above."
NEAR = "The ferry is old and its captain is older, as the ferry's own log says; it may sink."


class Finds:
    """A retriever of given hits."""

    name = "finds"

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = hits
        self.asked: list[int] = []

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.asked.append(k)
        return list(self.hits[:k])


def hits_of(*texts: str) -> list[Hit]:
    return [hit_of(text, document=f"d{rank}", rank=rank) for rank, text in enumerate(texts, 1)]


def sentence(hits: Sequence[Hit], candidates: int = 12) -> SentenceRetriever:
    return SentenceRetriever(
        first=Finds(hits),
        embedder=HashingEmbedder(256),
        texts=HashingEmbedder(256),
        candidates=candidates,
    )


def test_one_sentence_is_enough() -> None:
    hits = sentence(hits_of(NEAR, DROWNED)).retrieve(Query(text=ASKED), k=2)

    assert [hit.chunk.text for hit in hits] == [DROWNED, NEAR]
    assert [(hit.rank, hit.retriever) for hit in hits] == [(1, "sentence"), (2, "sentence")]


def test_the_score_is_the_cosine_of_the_best_sentence_under_its_title() -> None:
    (hit,) = sentence(hits_of(DROWNED)).retrieve(Query(text=ASKED), k=1)

    asked, best = HashingEmbedder(256).embed([ASKED, "Fees: The ferry does sail at noon."])
    assert hit.score == round(float(asked @ best), 6)


def test_more_than_the_candidates_are_neither_looked_at_nor_given() -> None:
    first = Finds(hits_of(NEAR, NEAR, DROWNED))
    retriever = replace(sentence([], candidates=2), first=first)

    assert len(retriever.retrieve(Query(text=ASKED), k=3)) == 2
    assert first.asked == [2]


def test_equal_sentences_stand_in_the_order_of_their_chunks() -> None:
    turned = hits_of(NEAR, NEAR)[::-1]
    hits = sentence(turned).retrieve(Query(text=ASKED), k=2)
    assert [hit.chunk.id for hit in hits] == ["d1#0", "d2#0"]


def test_a_chunk_without_sentences_and_no_chunk_at_all() -> None:
    assert len(sentence(hits_of(" \n ")).retrieve(Query(text=ASKED), k=1)) == 1
    assert sentence([]).retrieve(Query(text=ASKED), k=1) == []
