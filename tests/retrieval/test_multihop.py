import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.factories import hit_of

from fathom.errors import RunError
from fathom.retrieval.multihop import (
    MultiHop,
    find_bridges,
    is_titled,
    list_open_words,
    normalize_name,
    strip_brackets,
)
from fathom.retrieval.search import Search
from fathom.settings.anchor import AnchorSettings
from fathom.testing.doubles import run_context
from fathom.text.content_words import ContentTerms
from fathom.types import Hit, Query
from fathom.usage import Budget

QUESTION = "Which team did Anna Benson's husband play for?"


def make_hit(document: str, title: str, text: str, score: float) -> Hit:
    plain_hit = hit_of(text, document=document)
    return replace(plain_hit, chunk=replace(plain_hit.chunk, title=title), score=score)


ANNA = make_hit("anna", "Anna Benson", "Anna Benson is a model. Her husband is Kris Benson.", 1.0)
NOISE = [make_hit(f"n{n}", "Teams", "A team did play.", 0.9 - n / 100) for n in range(5)]
KRIS = make_hit("kris", "Kris Benson", "He pitched for the Pirates.", 0.8)


@dataclass
class ScriptedRetriever:
    """A retriever that answers a query by its beginning."""

    answers: Mapping[str, Sequence[Hit]]
    breaks: str = ""
    asked: list[str] = field(default_factory=list)
    name: str = "index"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.asked.append(query.text)
        if self.breaks and query.text.startswith(self.breaks):
            raise KeyError("nobody foresaw this")
        hits = next((v for begin, v in self.answers.items() if query.text.startswith(begin)), [])
        return [replace(hit, rank=rank) for rank, hit in enumerate(hits[:k], start=1)]


def make_retriever(breaks: str = "") -> ScriptedRetriever:
    hits_by_query = {"Which": [ANNA, *NOISE], "Kris Benson": [KRIS], "Anna Benson": [ANNA]}
    return ScriptedRetriever(answers=hits_by_query, breaks=breaks)


def follow_bridges(
    of: ScriptedRetriever, *anchors: str, k: int = 24, budget: Budget | None = None, **settings: Any
) -> list[str]:
    search = Search(open_retriever=lambda: of, identity={})
    hops = MultiHop(
        search=search, extract_terms=ContentTerms(), settings=AnchorSettings(**settings)
    )
    with run_context(budget) as context:
        hits = asyncio.run(hops(Query(text=QUESTION), anchors, k=k, context=context))
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    return [hit.chunk.document_id for hit in hits]


def test_a_bridge_leads_to_a_document_without_words_of_the_question() -> None:
    assert "kris" not in follow_bridges(make_retriever(), bridges=0)
    assert follow_bridges(make_retriever()).index("kris") < 7
    retriever = make_retriever()
    follow_bridges(retriever)
    assert "Kris Benson team play" in retriever.asked  # what Anna's page does not say yet


def test_the_score_is_the_sum_of_three_parts() -> None:
    of = make_retriever()
    search = Search(open_retriever=lambda: of, identity={})
    hops = MultiHop(search=search, extract_terms=ContentTerms())
    with run_context() as context:
        hits = asyncio.run(hops(Query(text=QUESTION), ["Anna Benson"], k=24, context=context))
    scores = {hit.chunk.document_id: hit.score for hit in hits}
    assert scores["anna"] == 1.5  # 1 for the question, 0.5 * 1 for the anchor it is called by
    assert scores["kris"] == pytest.approx(
        1.5 * 0.8
    )  # of the strongest bridge's search, and called so


def record_search(index: ScriptedRetriever) -> Search:
    return Search(open_retriever=lambda: index, identity={})


def test_a_title_shared_by_several_documents_identifies_none() -> None:
    twins = [make_hit(name, "Oslo", f"{name} is a part.", 1.0) for name in ("east", "west")]
    for pages, score in ((twins, 0.1), (twins[:1], 0.5)):
        of = ScriptedRetriever(answers={"Which": [ANNA], "Oslo": pages})
        hops = MultiHop(search=record_search(of), extract_terms=ContentTerms())
        with run_context() as context:
            hits = asyncio.run(hops(Query(text=QUESTION), ["Oslo"], k=24, context=context))
        scores = {hit.chunk.document_id: hit.score for hit in hits}
        assert scores["east"] == pytest.approx(score)


def test_another_chunk_of_the_same_document_is_no_hop() -> None:
    career = replace(KRIS, chunk=replace(KRIS.chunk, id="anna#1", document_id="anna"))
    for page, score in ((career, 0.1), (KRIS, 0.1 + 1.5 * 0.8)):
        low = replace(page, score=0.1)
        of = ScriptedRetriever(answers={"Which": [ANNA, *NOISE, low], "Kris Benson": [page]})
        hops = MultiHop(search=record_search(of), extract_terms=ContentTerms())
        with run_context() as context:
            hits = asyncio.run(hops(Query(text=QUESTION), [], k=24, context=context))
        scores = {hit.chunk.id: hit.score for hit in hits}
        assert scores[page.chunk.id] == pytest.approx(score)


def test_bridges_of_bridges_are_followed_once() -> None:
    pirates = make_hit("pirates", "Pirates", "A club.", 0.8)
    of = ScriptedRetriever(answers={"Which": [ANNA], "Kris Benson": [KRIS], "Pirates": [pirates]})
    assert "pirates" in follow_bridges(of)
    assert "pirates" not in follow_bridges(of, second_hop_bridges=0)


def test_the_order_does_not_depend_on_which_search_ends_first() -> None:
    assert follow_bridges(make_retriever(), "Anna Benson", "Oslo") == follow_bridges(
        make_retriever(), "Oslo", "Anna Benson"
    )
    assert len(follow_bridges(make_retriever(), k=2)) == 2


def test_a_failing_search_is_left_out() -> None:
    assert "kris" not in follow_bridges(make_retriever(breaks="Kris"), "Anna Benson")
    assert "anna" in follow_bridges(make_retriever(breaks="Anna"), "Anna Benson")
    with pytest.raises(RunError, match="the search for the question failed"):
        follow_bridges(make_retriever(breaks="Which"), "Anna Benson")


@pytest.mark.parametrize(("retrievals", "documents"), [(0, 0), (1, 6), (3, 7)])
def test_the_budget_holds(retrievals: int, documents: int) -> None:
    of = make_retriever()
    assert len(follow_bridges(of, budget=Budget(retrievals=retrievals))) == documents
    assert len(of.asked) <= retrievals


TERMS = ContentTerms()
WIFE = hit_of("Anna Benson is a model. Her husband is Kris Benson. She met Bo Diddley.")
OTHER = hit_of("Rain fell in Cairo.", document="d2", rank=2)


def list_bridges(question: str, *hits: Hit) -> list[str]:
    return [bridge.name for bridge in find_bridges(question, hits, TERMS)]


def test_names_near_the_words_of_the_question_come_first() -> None:
    # "Fees", the title, stands with everything in the chunk; Kris Benson beside "husband".
    assert list_bridges(QUESTION, WIFE, OTHER) == ["Fees", "Kris Benson"]
    bridges = find_bridges(QUESTION, [WIFE], TERMS)[:1]
    assert [bridge.name for bridge in find_bridges(QUESTION, [WIFE], TERMS, earlier=bridges)] == [
        "Kris Benson"
    ]


def test_strength_is_the_share_of_score_times_the_share_of_words() -> None:
    (title, kris) = find_bridges(QUESTION, [WIFE], TERMS)
    # Of team, anna, benson, husband, play the chunk holds three, the sentence two.
    assert (title.strength, kris.strength) == (0.6, 0.4)
    assert kris.chunk == WIFE.chunk


def test_without_bridges_the_hits_stay() -> None:
    assert list_bridges(QUESTION) == []
    assert list_bridges("Who is it?", WIFE) == []
    assert list_bridges(QUESTION, OTHER) == []
    assert list_bridges("Anna Benson, Kris Benson, Bo Diddley, Fees, model, husband?", WIFE) == []


def test_terms_missing_from_a_chunk_remain() -> None:
    assert list_open_words(QUESTION, WIFE.chunk, TERMS) == "team play"
    assert list_open_words(QUESTION, OTHER.chunk, TERMS) == "team Anna Benson husband play"


@pytest.mark.parametrize(
    ("title", "name", "is_title"),
    [("Kris Benson (pitcher)", "kris  benson", True), ("Kris", "Kris Benson", False)],
)
def test_titles_are_read(title: str, name: str, *, is_title: bool) -> None:
    assert (normalize_name(strip_brackets(title)) == normalize_name(name)) is is_title


def test_a_document_is_referred_to_by_its_title() -> None:
    oaks = replace(WIFE.chunk, title="Fair Oaks, California")
    assert is_titled(oaks, "Fair Oaks")
    assert is_titled(WIFE.chunk, "fees")
    assert not is_titled(WIFE.chunk, "fee")
