import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.making import hit_of

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


def hit(document: str, title: str, text: str, score: float) -> Hit:
    made = hit_of(text, document=document)
    return replace(made, chunk=replace(made.chunk, title=title), score=score)


ANNA = hit("anna", "Anna Benson", "Anna Benson is a model. Her husband is Kris Benson.", 1.0)
NOISE = [hit(f"n{n}", "Teams", "A team did play.", 0.9 - n / 100) for n in range(5)]
KRIS = hit("kris", "Kris Benson", "He pitched for the Pirates.", 0.8)


@dataclass
class Index:
    """Answers a query by what it begins with."""

    known: Mapping[str, Sequence[Hit]]
    breaks: str = ""
    asked: list[str] = field(default_factory=list)
    name: str = "index"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.asked.append(query.text)
        if self.breaks and query.text.startswith(self.breaks):
            raise KeyError("nobody foresaw this")
        found = next((v for begin, v in self.known.items() if query.text.startswith(begin)), [])
        return [replace(each, rank=rank) for rank, each in enumerate(found[:k], start=1)]


def index(breaks: str = "") -> Index:
    known = {"Which": [ANNA, *NOISE], "Kris Benson": [KRIS], "Anna Benson": [ANNA]}
    return Index(known=known, breaks=breaks)


def found(
    of: Index, *anchors: str, k: int = 24, budget: Budget | None = None, **settings: Any
) -> list[str]:
    search = Search(open_retriever=lambda: of, identity={})
    hops = MultiHop(
        search=search, extract_terms=ContentTerms(), settings=AnchorSettings(**settings)
    )
    with run_context(budget) as context:
        hits = asyncio.run(hops(Query(text=QUESTION), anchors, k=k, context=context))
    assert [each.rank for each in hits] == list(range(1, len(hits) + 1))
    return [each.chunk.document_id for each in hits]


def test_a_bridge_leads_to_a_document_that_shares_no_word_with_the_question() -> None:
    assert "kris" not in found(index(), bridges=0)
    assert found(index()).index("kris") < 7
    asked = index()
    found(asked)
    assert "Kris Benson team play" in asked.asked  # what Anna's page does not say yet


def test_the_score_is_the_sum_of_three_parts() -> None:
    of = index()
    search = Search(open_retriever=lambda: of, identity={})
    hops = MultiHop(search=search, extract_terms=ContentTerms())
    with run_context() as context:
        hits = asyncio.run(hops(Query(text=QUESTION), ["Anna Benson"], k=24, context=context))
    scores = {each.chunk.document_id: each.score for each in hits}
    assert scores["anna"] == 1.5  # 1 for the question, 0.5 * 1 for the anchor it is called by
    assert scores["kris"] == pytest.approx(
        1.5 * 0.8
    )  # of the strongest bridge's search, and called so


def searching(index: Index) -> Search:
    return Search(open_retriever=lambda: index, identity={})


def test_a_title_that_several_documents_bear_tells_none_of_them_apart() -> None:
    twins = [hit(name, "Oslo", f"{name} is a part.", 1.0) for name in ("east", "west")]
    for pages, score in ((twins, 0.1), (twins[:1], 0.5)):
        of = Index(known={"Which": [ANNA], "Oslo": pages})
        hops = MultiHop(search=searching(of), extract_terms=ContentTerms())
        with run_context() as context:
            hits = asyncio.run(hops(Query(text=QUESTION), ["Oslo"], k=24, context=context))
        scores = {each.chunk.document_id: each.score for each in hits}
        assert scores["east"] == pytest.approx(score)


def test_more_of_the_same_document_is_no_hop() -> None:
    career = replace(KRIS, chunk=replace(KRIS.chunk, id="anna#1", document_id="anna"))
    for page, score in ((career, 0.1), (KRIS, 0.1 + 1.5 * 0.8)):
        low = replace(page, score=0.1)
        of = Index(known={"Which": [ANNA, *NOISE, low], "Kris Benson": [page]})
        hops = MultiHop(search=searching(of), extract_terms=ContentTerms())
        with run_context() as context:
            hits = asyncio.run(hops(Query(text=QUESTION), [], k=24, context=context))
        scores = {each.chunk.id: each.score for each in hits}
        assert scores[page.chunk.id] == pytest.approx(score)


def test_bridges_of_bridges_are_followed_once_more() -> None:
    pirates = hit("pirates", "Pirates", "A club.", 0.8)
    of = Index(known={"Which": [ANNA], "Kris Benson": [KRIS], "Pirates": [pirates]})
    assert "pirates" in found(of)
    assert "pirates" not in found(of, second_hop_bridges=0)


def test_the_order_does_not_depend_on_who_was_first() -> None:
    assert found(index(), "Anna Benson", "Oslo") == found(index(), "Oslo", "Anna Benson")
    assert len(found(index(), k=2)) == 2


def test_a_search_that_breaks_is_left_out() -> None:
    assert "kris" not in found(index(breaks="Kris"), "Anna Benson")
    assert "anna" in found(index(breaks="Anna"), "Anna Benson")
    with pytest.raises(RunError, match="the search for the question failed"):
        found(index(breaks="Which"), "Anna Benson")


@pytest.mark.parametrize(("retrievals", "documents"), [(0, 0), (1, 6), (3, 7)])
def test_the_budget_holds(retrievals: int, documents: int) -> None:
    of = index()
    assert len(found(of, budget=Budget(retrievals=retrievals))) == documents
    assert len(of.asked) <= retrievals


TERMS = ContentTerms()
WIFE = hit_of("Anna Benson is a model. Her husband is Kris Benson. She met Bo Diddley.")
OTHER = hit_of("Rain fell in Cairo.", document="d2", rank=2)


def told(question: str, *hits: Hit) -> list[str]:
    return [bridge.name for bridge in find_bridges(question, hits, TERMS)]


def test_names_near_the_words_of_the_question_come_first() -> None:
    # "Fees", the title, stands with everything in the chunk; Kris Benson beside "husband".
    assert told(QUESTION, WIFE, OTHER) == ["Fees", "Kris Benson"]
    known = find_bridges(QUESTION, [WIFE], TERMS)[:1]
    assert [bridge.name for bridge in find_bridges(QUESTION, [WIFE], TERMS, earlier=known)] == [
        "Kris Benson"
    ]


def test_strength_is_share_of_score_times_share_of_words() -> None:
    (title, kris) = find_bridges(QUESTION, [WIFE], TERMS)
    # Of team, anna, benson, husband, play the chunk holds three, the sentence two.
    assert (title.strength, kris.strength) == (0.6, 0.4)
    assert kris.chunk == WIFE.chunk


def test_nothing_leads_anywhere() -> None:
    assert told(QUESTION) == []
    assert told("Who is it?", WIFE) == []
    assert told(QUESTION, OTHER) == []
    assert told("Anna Benson, Kris Benson, Bo Diddley, Fees, model, husband?", WIFE) == []


def test_what_a_chunk_does_not_hold_remains() -> None:
    assert list_open_words(QUESTION, WIFE.chunk, TERMS) == "team play"
    assert list_open_words(QUESTION, OTHER.chunk, TERMS) == "team Anna Benson husband play"


@pytest.mark.parametrize(
    ("title", "name", "is_title"),
    [("Kris Benson (pitcher)", "kris  benson", True), ("Kris", "Kris Benson", False)],
)
def test_titles(title: str, name: str, *, is_title: bool) -> None:
    assert (normalize_name(strip_brackets(title)) == normalize_name(name)) is is_title


def test_a_document_is_called_by_its_title() -> None:
    oaks = replace(WIFE.chunk, title="Fair Oaks, California")
    assert is_titled(oaks, "Fair Oaks")
    assert is_titled(WIFE.chunk, "fees")
    assert not is_titled(WIFE.chunk, "fee")
