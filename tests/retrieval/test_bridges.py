from dataclasses import replace

import pytest
from tests.making import hit_of

from fathom.agents.content import ContentTerms
from fathom.retrieval.bridges import bridges, plain, remaining, titled, without_aside
from fathom.types import Hit

TERMS = ContentTerms()
QUESTION = "Which team did Anna Benson's husband play for?"
WIFE = hit_of("Anna Benson is a model. Her husband is Kris Benson. She met Bo Diddley.")
OTHER = hit_of("Rain fell in Cairo.", document="d2", rank=2)


def told(question: str, *hits: Hit) -> list[str]:
    return [each.name for each in bridges(question, hits, TERMS)]


def test_names_near_the_words_of_the_question_come_first() -> None:
    # "Fees", the title, stands with everything in the chunk; Kris Benson beside "husband".
    assert told(QUESTION, WIFE, OTHER) == ["Fees", "Kris Benson"]
    known = bridges(QUESTION, [WIFE], TERMS)[:1]
    assert [each.name for each in bridges(QUESTION, [WIFE], TERMS, known=known)] == ["Kris Benson"]


def test_strength_is_share_of_score_times_share_of_words() -> None:
    (title, kris) = bridges(QUESTION, [WIFE], TERMS)
    # Of team, anna, benson, husband, play the chunk holds three, the sentence two.
    assert (title.strength, kris.strength) == (0.6, 0.4)
    assert kris.chunk == WIFE.chunk


def test_nothing_leads_anywhere() -> None:
    assert told(QUESTION) == []
    assert told("Who is it?", WIFE) == []
    assert told(QUESTION, OTHER) == []
    assert told("Anna Benson, Kris Benson, Bo Diddley, Fees, model, husband?", WIFE) == []


def test_what_a_chunk_does_not_hold_remains() -> None:
    assert remaining(QUESTION, WIFE.chunk, TERMS) == "team play"
    assert remaining(QUESTION, OTHER.chunk, TERMS) == "team Anna Benson husband play"


@pytest.mark.parametrize(
    ("title", "name", "is_title"),
    [("Kris Benson (pitcher)", "kris  benson", True), ("Kris", "Kris Benson", False)],
)
def test_titles(title: str, name: str, *, is_title: bool) -> None:
    assert (plain(without_aside(title)) == plain(name)) is is_title


def test_a_document_is_called_by_its_title() -> None:
    oaks = replace(WIFE.chunk, title="Fair Oaks, California")
    assert titled(oaks, "Fair Oaks")
    assert titled(WIFE.chunk, "fees")
    assert not titled(WIFE.chunk, "fee")
