import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from tests.making import hit_of

from fathom.control.gate import GateProgress
from fathom.question.requirements import Requirements
from fathom.runs.context import RunContext
from fathom.strategies.anchor_signals import (
    RoundEvidence,
    TokenAllowance,
    judge_draft,
    measure_signals,
)
from fathom.testing.doubles import run_context
from fathom.types import Alternative, Claim, Draft, Evidence, Hit, Span

HIT = hit_of("In 2019 a mooring permit in Oslo cost 40 crowns.")
EVIDENCE = Evidence(hit=HIT, span=Span(0, 10), support=0.8)
DRAFT = Draft(evidence=(EVIDENCE,), confidence=0.7)


def seen(question: str, hits: Sequence[Hit] = (HIT,), **values: Any) -> RoundEvidence:
    own = {
        "requirements": Requirements.of(question, least=0.6),
        "read_ids": frozenset(),
        "before": None,
    }
    return RoundEvidence(hits=hits, progress=GateProgress(), **{**own, **values})


def signals(question: str, draft: Draft = DRAFT, **values: Any) -> Any:
    return measure_signals(question, draft, seen(question, **values), like_weight=0.9)


def test_support_coverage_and_new_hits() -> None:
    found = signals("How much was a permit in Oslo?")
    assert (found.answered, found.support, found.coverage, found.new_hits) == (True, 0.7, 1, 1)
    assert signals("How much was a permit in Rome?").coverage == 0
    assert signals("How much was it in Oslo for Rome?").coverage == 0.5
    assert signals("How much?", read_ids=frozenset({HIT.chunk.id})).new_hits == 0
    assert signals("How much?", Draft(), hits=()).new_hits == 0
    assert not signals("How much?", Draft()).answered


def test_changes_are_against_the_round_before() -> None:
    before = signals("How much was it in Oslo for Rome?", replace(DRAFT, confidence=0.4))
    after = signals("How much was it in Oslo?", before=before)
    assert after.support_change == pytest.approx(0.3)
    assert after.coverage_change == 0.5


@pytest.mark.parametrize(
    ("question", "unit", "coverage", "contradicted"),
    [
        ("How many crowns was it in 2019?", True, 1, False),
        ("How many crowns was it in 2020?", True, 0, True),
        ("How many percent was it?", False, 1, False),
        ("Berapa harganya pada 2019?", True, 1, False),
        ("Who was it in 2020?", True, 0, True),
    ],
)
def test_unit_and_time(question: str, *, unit: bool, coverage: float, contradicted: bool) -> None:
    found = signals(question)
    assert (found.unit, found.coverage, found.contradicted) == (unit, coverage, contradicted)


def test_fewer_things_than_asked_for_are_no_whole_list() -> None:
    draft = replace(DRAFT, short_answer="Oslo, Bergen")
    assert signals("Sebutkan 2 kota!", draft).whole
    assert not signals("Sebutkan 3 kota!", draft).whole
    assert signals("Sebutkan kota!", draft).whole


def test_what_another_hit_holds_can_be_mended() -> None:
    other = hit_of("In 2020 a mooring permit in Oslo cost 41 crowns.", document="d2", rank=2)
    asked = "How much was a permit in Oslo in 2020?"
    assert signals(asked, hits=(HIT, other)).mendable
    assert not signals(asked).mendable
    assert not signals("How much was a permit in Oslo in 2021?", hits=(HIT, other)).mendable


@pytest.mark.parametrize(("support", "conflict"), [(0.8, True), (0.75, True), (0.5, False)])
def test_another_answer_of_like_weight_is_a_conflict(support: float, *, conflict: bool) -> None:
    other = replace(EVIDENCE, support=support)
    draft = Draft(evidence=(EVIDENCE, other), alternatives=(Alternative(text="50", evidence=(1,)),))
    assert signals("How much?", draft).conflict is conflict


def test_forms() -> None:
    assert signals("Who is it?").factoid
    assert not signals("Sebutkan semua biaya.").factoid


class Judge:
    async def score_support(
        self, pairs: Sequence[tuple[str, str]], context: RunContext
    ) -> tuple[float, ...]:
        return tuple(len(claim) / 10 for claim, _ in pairs)


def test_the_judge_hears_what_the_draft_says() -> None:
    claims = tuple(Claim(text=text, evidence=(0,)) for text in ("four", "sixsix"))
    with run_context() as context:

        def heard(draft: Draft) -> float | None:
            return asyncio.run(judge_draft("How?", draft, Judge(), context))

        assert heard(replace(DRAFT, claims=claims)) == 0.5
        assert heard(DRAFT) is None  # it says nothing but what stands there
        assert heard(replace(DRAFT, short_answer="40")) == len("How? 40") / 10


def allowance(*, metered: bool) -> TokenAllowance:
    return TokenAllowance(metered=metered, count_tokens=len, chunks=1, overhead=100, ceiling=1.2)


def test_without_a_language_model_everything_is_affordable() -> None:
    with run_context() as context:
        free = allowance(metered=False)
        assert (
            free.estimate_baseline([HIT]),
            free.count_spent(context),
            free.compute_tokens_left(0, 0),
        ) == (0, 0, inf)
    found = signals("How much?")
    assert (found.reserved, found.baseline, found.left) == (0, 0, inf)


def test_with_one_the_baseline_bounds_what_is_left() -> None:
    size = len(HIT.chunk.context)
    with run_context() as context:
        paid = allowance(metered=True)
        assert paid.estimate_baseline([HIT, HIT]) == 100 + size
        assert paid.count_spent(context) == 0
        assert paid.compute_tokens_left(200, 40) == 100
        assert paid.compute_tokens_left(200, 400) == 0
    found = signals("How much?", baseline=200, spent=40, left=60, context=900, overhead=100)
    assert (found.reserved, found.left) == (160, 60)
