import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.factories import hit_of

from fathom.agents.debate.aggregator import (
    LocalAggregator,
    compose_draft,
    compute_share,
    keep_readings,
)
from fathom.agents.debate.debater import Position
from fathom.question.question import Question
from fathom.testing.doubles import run_context
from fathom.types import Alternative, Draft, Evidence, Span

WHO = "Who built the mill?"


def make_position(answer: str, rank: int, score: float = 0.5, **more: Any) -> Position:
    hit = hit_of(f"It was {answer}.", document=str(rank), rank=rank)
    evidence = Evidence(hit=hit, span=Span(0, len(hit.chunk.text)), support=score)
    return Position(
        hit=hit,
        answer=answer,
        evidence=evidence if answer else None,
        score=score if answer else 0.0,
        **more,
    )


def aggregate(*positions: Position, question: str = WHO, share: float = 0.0) -> Draft:
    with run_context() as context:
        return asyncio.run(
            LocalAggregator(min_share=share).aggregate(Question(question), positions, context)
        )


def test_every_reading_lists_the_agents_that_give_it() -> None:
    draft = aggregate(
        make_position("Ada Vale", 1), make_position("Bo Hill", 2), make_position("Vale", 3, 0.4)
    )
    assert draft.short_answer == "Ada Vale"
    assert [(other.text, other.evidence) for other in draft.alternatives] == [("Bo Hill", (2,))]
    assert [claim.text for claim in draft.claims] == [
        "2 of 3 chunks say: Ada Vale.",
        "1 of 3 chunks says: Bo Hill.",
    ]
    assert [item.hit.chunk.document_id for item in draft.evidence] == ["1", "3", "2"]
    assert [other.refuted for other in draft.alternatives] == [False]
    # Weights are the scores of the hits: 1, 1/2 and 1/3.
    assert draft.confidence == pytest.approx((1 + 1 / 3) / (1 + 1 / 2 + 1 / 3), abs=1e-6)


def test_four_agents_with_four_answers_agree_by_a_quarter() -> None:
    named = ("Ada Vale", "Bo Hill", "Cy Roe", "Di Lund")
    draft = aggregate(*(make_position(name, 1) for name in named))
    assert draft.confidence == 0.25
    assert len(draft.alternatives) == 3


def test_the_most_complete_date_or_number_is_given() -> None:
    question = "When was it built?"
    draft = aggregate(
        make_position("1835", 1, 0.9), make_position("May 1835", 2), question=question
    )
    assert draft.short_answer == "May 1835"
    assert (
        aggregate(make_position("Vale", 1, 0.9), make_position("Ada Vale", 2)).short_answer
        == "Vale"
    )


def test_the_answer_is_in_the_language_of_the_question() -> None:
    draft = aggregate(make_position("Ada Vale", 1), question="Siapa yang membangun pabrik itu?")
    assert draft.claims[0].text == "1 dari 1 kutipan menyatakan: Ada Vale."


def test_the_better_backed_of_contradicting_answers_wins() -> None:
    against = make_position("Cy Roe", 1, 0.9, contradicts=("Ada Vale",))
    draft = aggregate(against, make_position("Ada Vale", 2, 0.2), make_position("Ada Vale", 3, 0.2))
    assert draft.short_answer == "Ada Vale"
    (loser,) = draft.alternatives
    assert (loser.text, loser.refuted) == ("Cy Roe", True)
    assert [draft.evidence[place].hit.chunk.document_id for place in loser.evidence] == ["1"]
    assert draft.claims[-1].text == "1 of 3 chunks says Cy Roe, which others contradict."
    # Weights are the scores of the hits: 1, 1/2 and 1/3.
    assert draft.confidence == pytest.approx((1 / 2 + 1 / 3) / (1 + 1 / 2 + 1 / 3), abs=1e-6)


def test_a_supporter_backs_an_answer_by_half() -> None:
    positions = (
        make_position("Cy Roe", 1, 0.5, contradicts=("Ada Vale",)),
        make_position("Ada Vale", 2, 0.4),
        make_position("Bo Hill", 3, 0.1, supports=("Ada Vale",)),
    )
    assert aggregate(*positions).short_answer == "Ada Vale"


def test_weak_readings_can_be_left_out() -> None:
    positions = (make_position("Ada Vale", 1, 0.8), make_position("Bo Hill", 2, 0.1))
    assert len(aggregate(*positions).alternatives) == 1
    assert aggregate(*positions, share=0.2).alternatives == ()


def test_agents_without_an_answer_lower_the_agreement() -> None:
    draft = aggregate(make_position("", 1), make_position("Ada Vale", 2))
    assert draft.confidence == pytest.approx(1 / 3, abs=1e-6)
    assert draft.claims[0].text == "1 of 2 chunks says: Ada Vale."


def test_if_all_are_unknown_so_is_the_aggregate() -> None:
    assert aggregate(make_position("", 1), make_position("", 2)) == Draft()
    assert aggregate() == compose_draft(Question(WHO), (), ()) == Draft()
    assert compute_share("Ada Vale", Question(WHO), ()) == 0.0


def test_copied_quotes_are_one_voice_against_another() -> None:
    text = "The mill of Merrow was built by Cy Roe and his sons."
    copies = [
        Position(
            hit=hit, answer="Cy Roe", evidence=Evidence(hit=hit, span=Span(0, 52), support=0.2)
        )
        for hit in (hit_of(text, document=f"c{rank}", rank=rank) for rank in (1, 2, 3))
    ]
    copies = [replace(copy, score=0.2) for copy in copies]
    draft = aggregate(*copies, make_position("Ada Vale", 4, 0.9))
    assert draft.short_answer == "Ada Vale"


def test_a_reading_that_a_debate_lost_stays_as_a_refuted_one() -> None:
    before = aggregate(make_position("Ada Vale", 1), make_position("Bo Hill", 2))
    after = aggregate(make_position("Bo Hill", 2))
    draft = keep_readings(Question(WHO), after, before)
    assert draft.short_answer == "Bo Hill"
    (lost,) = draft.alternatives
    assert (lost.text, lost.refuted) == ("Ada Vale", True)
    assert draft.evidence[lost.evidence[0]].quote == "It was Ada Vale."
    assert keep_readings(Question(WHO), Draft(), before) == Draft()
    assert keep_readings(Question(WHO), before, before) == before


def test_a_reading_stays_that_has_most_words_of_the_one_that_won() -> None:
    """Twins are long answers with another value in them, which count as alike otherwise."""
    before = aggregate(make_position("the BBC affiliate KSEE", 1))
    twin = make_position("the BBC affiliate Vale", 2).evidence
    assert twin
    denied = replace(
        before,
        evidence=(*before.evidence, twin),
        alternatives=(Alternative(text="the BBC affiliate Vale", evidence=(1,)),),
    )
    (lost,) = keep_readings(Question(WHO), before, denied).alternatives
    assert (lost.text, lost.refuted) == ("the BBC affiliate Vale", True)
    # The same reading in other words is there already.
    other_words = replace(before, short_answer="the affiliate BBC KSEE")
    assert keep_readings(Question(WHO), other_words, before) == other_words
