import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from tests.factories import hit_of

from fathom.control.gate import GateProgress
from fathom.question.question import Question
from fathom.question.requirements import Requirements
from fathom.runs.context import RunContext
from fathom.strategies.anchor_signals import (
    RoundEvidence,
    TokenAllowance,
    judge_draft,
    measure_signals,
)
from fathom.testing.doubles import run_context
from fathom.types import Alternative, Claim, Draft, Evidence, Hit, SentenceCount, Span

HIT = hit_of("In 2019 a mooring permit in Oslo cost 40 crowns.")
EVIDENCE = Evidence(hit=HIT, span=Span(0, 10), support=0.8)
DRAFT = Draft(evidence=(EVIDENCE,), confidence=0.7)


def gather_evidence(question: str, hits: Sequence[Hit] = (HIT,), **values: Any) -> RoundEvidence:
    fields = {
        "requirements": Requirements.of(Question(question), least=0.6),
        "read_ids": frozenset(),
        "before": None,
    }
    return RoundEvidence(hits=hits, progress=GateProgress(), **{**fields, **values})


def collect_signals(question: str, draft: Draft = DRAFT, **values: Any) -> Any:
    return measure_signals(
        Question(question), draft, gather_evidence(question, **values), like_weight=0.9
    )


def test_support_coverage_and_new_hits() -> None:
    gathered = collect_signals("How much was a permit in Oslo?")
    assert (gathered.answered, gathered.support, gathered.coverage, gathered.new_hits) == (
        True,
        0.7,
        1,
        1,
    )
    assert collect_signals("How much was a permit in Rome?").coverage == 0
    assert collect_signals("How much was it in Oslo for Rome?").coverage == 0.5
    assert collect_signals("How much?", read_ids=frozenset({HIT.chunk.id})).new_hits == 0
    assert collect_signals("How much?", Draft(), hits=()).new_hits == 0
    assert not collect_signals("How much?", Draft()).answered


def test_support_is_the_share_of_the_written_sentences_whatever_the_confidence() -> None:
    half = replace(DRAFT, sentences=SentenceCount(written=2, supported=1))
    before = collect_signals("How much?", half)
    assert (before.support, before.confidence) == (0.5, 0.7)
    whole = replace(DRAFT, sentences=SentenceCount(written=1, supported=1))
    assert collect_signals("How much?", whole, before=before).support_change == 0.5


def test_changes_are_measured_against_the_round_before() -> None:
    before = collect_signals("How much was it in Oslo for Rome?", replace(DRAFT, confidence=0.4))
    after = collect_signals("How much was it in Oslo?", before=before)
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
def test_unit_and_time_are_checked(
    question: str, *, unit: bool, coverage: float, contradicted: bool
) -> None:
    gathered = collect_signals(question)
    assert (gathered.unit, gathered.coverage, gathered.contradicted) == (
        unit,
        coverage,
        contradicted,
    )


def test_fewer_things_than_asked_for_are_an_incomplete_list() -> None:
    draft = replace(DRAFT, short_answer="Oslo, Bergen")
    assert collect_signals("Sebutkan 2 kota!", draft).whole
    assert not collect_signals("Sebutkan 3 kota!", draft).whole
    assert collect_signals("Sebutkan kota!", draft).whole


def test_a_gap_that_another_hit_fills_can_be_mended() -> None:
    other = hit_of("In 2020 a mooring permit in Oslo cost 41 crowns.", document="d2", rank=2)
    question = "How much was a permit in Oslo in 2020?"
    assert collect_signals(question, hits=(HIT, other)).mendable
    assert not collect_signals(question).mendable
    assert not collect_signals("How much was a permit in Oslo in 2021?", hits=(HIT, other)).mendable


@pytest.mark.parametrize(("support", "conflict"), [(0.8, True), (0.75, True), (0.5, False)])
def test_another_answer_of_similar_weight_is_a_conflict(support: float, *, conflict: bool) -> None:
    other = replace(EVIDENCE, support=support)
    draft = Draft(evidence=(EVIDENCE, other), alternatives=(Alternative(text="50", evidence=(1,)),))
    assert collect_signals("How much?", draft).conflict is conflict


def test_a_refuted_answer_is_no_conflict() -> None:
    refuted = Alternative(text="50", evidence=(1,), refuted=True)
    draft = Draft(evidence=(EVIDENCE, EVIDENCE), alternatives=(refuted,))
    assert not collect_signals("How much?", draft).conflict
    open_too = replace(draft, alternatives=(refuted, replace(refuted, refuted=False)))
    assert collect_signals("How much?", open_too).conflict


def test_forms_of_questions_are_recognised() -> None:
    assert collect_signals("Who is it?").factoid
    assert not collect_signals("Sebutkan semua biaya.").factoid


class RecordingJudge:
    async def score_support(
        self, pairs: Sequence[tuple[str, str]], context: RunContext
    ) -> tuple[float, ...]:
        return tuple(len(claim) / 10 for claim, _ in pairs)


def test_the_judge_hears_the_claims_of_the_draft() -> None:
    claims = tuple(Claim(text=text, evidence=(0,)) for text in ("four", "sixsix"))
    with run_context() as context:

        def list_judged(draft: Draft) -> float | None:
            return asyncio.run(judge_draft(Question("How?"), draft, RecordingJudge(), context))

        assert list_judged(replace(DRAFT, claims=claims)) == 0.5
        assert list_judged(DRAFT) is None  # it says nothing but what stands there
        assert list_judged(replace(DRAFT, short_answer="40")) == len("How? 40") / 10


def make_allowance(*, metered: bool) -> TokenAllowance:
    return TokenAllowance(
        metered=metered, count_tokens=len, chunks=1, evidence=10_000, overhead=100, ceiling=1.2
    )


def test_without_a_language_model_everything_is_affordable() -> None:
    with run_context() as context:
        free = make_allowance(metered=False)
        assert (
            free.estimate_baseline([HIT]),
            free.count_spent(context),
            free.compute_tokens_left(0, 0),
        ) == (0, 0, inf)
    limits = collect_signals("How much?")
    assert (limits.reserved, limits.baseline, limits.left) == (0, 0, inf)


def test_with_a_language_model_the_baseline_bounds_the_rest() -> None:
    size = len(HIT.chunk.context)
    with run_context() as context:
        paid = make_allowance(metered=True)
        assert paid.estimate_baseline([HIT, HIT]) == 100 + size
        assert paid.count_spent(context) == 0
        assert paid.compute_tokens_left(200, 40) == 100
        assert paid.compute_tokens_left(200, 400) == 0
    limits = collect_signals(
        "How much?", baseline=200, spent=40, left=60, context=900, overhead=100
    )
    assert (limits.reserved, limits.left) == (160, 60)
