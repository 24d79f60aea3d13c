"""The study's own examples, section by section: the questions for which the gate was made."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.factories import hit_of

from fathom.agents.short_answer import fill_short_answer
from fathom.control.gate import GateProgress, GateThresholds, decide
from fathom.question.anchors import find_anchors
from fathom.question.form import detect_form, parse_count
from fathom.question.question import Question
from fathom.question.requirements import Requirements
from fathom.retrieval.context_selection import Selection
from fathom.settings.anchor import AnchorSettings
from fathom.strategies.anchor_signals import RoundEvidence, measure_signals
from fathom.text.content_words import ContentTerms
from fathom.types import Claim, Draft, Evidence, Hit, Span

LAST = GateProgress(retried=True, reflections=1)
"""Nothing more can be tried."""


def judge_draft(question: str, text: str, short: str, progress: GateProgress = LAST) -> str:
    """Return the gate's decision on a confident draft that quotes all of a text."""
    hit = hit_of(text)
    evidence = Evidence(hit=hit, span=Span(0, len(text)), support=0.95)
    draft = Draft(evidence=(evidence,), short_answer=short, confidence=0.95)
    required = Requirements.of(Question(question), least=AnchorSettings().required_score)
    round_evidence = RoundEvidence(
        requirements=required, hits=[hit], read_ids=frozenset(), before=None, progress=progress
    )
    return decide(
        measure_signals(Question(question), draft, round_evidence, like_weight=0.9),
        GateThresholds(),
    ).reason


@pytest.mark.parametrize(
    ("question", "text", "short", "reason"),
    [
        # 3: neither "2017" nor "US Open" may be missing
        ("Siapa juara US Open 2017?", "Juara US Open 2017 ialah Nadal.", "Nadal",
         "STOP_OVERLAP_OK"),
        ("Siapa juara US Open 2017?", "Juara US Open 2018 ialah Djokovic.", "Djokovic",
         "ABSTAIN_MISSING_ANCHOR"),
        # 4: unit and time of a number
        ("Berapa pendapatan Q1 2024 perusahaan Apple?",
         "Pendapatan Apple pada Q1 2024 adalah 119 miliar dolar.", "119 miliar dolar",
         "STOP_OVERLAP_OK"),
        ("Berapa pendapatan Q1 2024 perusahaan Apple?",
         "Pendapatan Apple pada Q1 2024 naik 119 poin.", "119 poin", "ABSTAIN_MISSING_UNIT"),
        ("Berapa pendapatan Q1 2024 perusahaan Apple?",
         "Pendapatan Apple pada Q1 2023 adalah 117 miliar dolar.", "117 miliar dolar",
         "ABSTAIN_MISSING_ANCHOR"),
        ("Berapa persen penduduk Jawa?", "Penduduk Jawa 56 persen.", "56 persen",
         "STOP_OVERLAP_OK"),
        ("Berapa persen penduduk Jawa?", "Penduduk Jawa 151 juta.", "151 juta",
         "ABSTAIN_MISSING_UNIT"),
        # 4: two of three is part of the answer
        ("Sebutkan 3 gunung tertinggi di dunia", "Everest dan K2.", "Everest, K2",
         "STOP_PARTIAL_LIST"),
        ("Sebutkan 3 gunung tertinggi di dunia", "Everest, K2, Lhotse.", "Everest, K2, Lhotse",
         "STOP_OVERLAP_OK"),
        # 5: faithful to the wrong anchor
        ("Who won the AO 2019?", "Osaka won the Australian Open 2019.", "Osaka",
         "STOP_OVERLAP_OK"),
        ("Who won the Australian Open 2019?", "Nadal won the US Open 2019.", "Nadal",
         "ABSTAIN_MISSING_ANCHOR"),
    ],
)  # fmt: skip
def test_the_gate_stops_as_in_the_examples(
    question: str, text: str, short: str, reason: str
) -> None:
    assert judge_draft(question, text, short) == reason


def test_a_missing_year_is_searched_for_before_abstaining() -> None:
    reason = judge_draft(
        "Siapa juara US Open 2017?", "Juara US Open 2018: Djokovic.", "Djokovic", GateProgress()
    )
    assert reason == "RETRY_MISSING_ANCHOR"


@pytest.mark.parametrize(
    ("question", "form", "count"),
    [
        ("Sebutkan negara dengan populasi terbesar di Eropa", "several", None),
        ("Sebutkan 3 gunung tertinggi di dunia", "several", 3),
        ("Daftar anggota ASEAN", "several", None),
        ("Apa saja syaratnya?", "several", None),
        ("Which countries are members of ASEAN?", "several", None),
        ("siapa pemenang Best Animated Feature 2004", "one", None),
        ("Berapa rata-rata usia pemain?", "one", None),
    ],
)
def test_lists_are_distinguished_from_single_facts(
    question: str, form: str, count: int | None
) -> None:
    assert (detect_form(question), parse_count(question)) == (form, count)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("siapa pemenang Best Animated Feature 2004", ["Best Animated Feature", "2004"]),
        ("Siapa juara US Open 2017?", ["US Open", "2017"]),
        ("Apa yang terjadi pada Q1 2024?", ["Q1 2024"]),
        ("How many points per game did LeBron James average?", ["LeBron James", "per game"]),
    ],
)
def test_anchors_are_found_as_in_the_examples(question: str, expected: Sequence[str]) -> None:
    assert [anchor.text for anchor in find_anchors(question)] == expected


@pytest.mark.parametrize(
    ("question", "sentence", "short"),
    [
        ("Siapa pemenang Best Animated Feature 2004?",
         "Pemenangnya adalah Film X pada Academy Awards 2004.", "Film X"),
        ("Berapa rata-rata pendapatan?",
         "Rata-rata pendapatan adalah 5 juta USD per kuartal.", "5 juta USD"),
        ("Berapa rata-rata usia pemain?",
         "Dengan usia 22, 25, 30 tahun, rata-rata usia 25.7 tahun.", "25.7"),
        ("Berapa rata-rata kasus per tahun?",
         "2018: 50 kasus, 2019: 55 kasus, rata-rata \u224852.5 kasus per tahun.", "52.5"),
        ("Berapa total kasus?", "Sebanyak 50 kasus pada 2018, total 105 kasus.", "105"),
    ],
)  # fmt: skip
def test_a_short_answer_that_equals_the_outcome_is_complete(
    question: str, sentence: str, short: str
) -> None:
    evidence = Evidence(hit=hit_of(sentence), span=Span(0, len(sentence)), support=0.9)
    draft = Draft(evidence=(evidence,), claims=(Claim(text=sentence, evidence=(0,)),))
    assert fill_short_answer(Question(question), draft).short_answer == short


def make_titled_hit(text: str, title: str, document: str, rank: int) -> Hit:
    hit = hit_of(text, document=document, rank=rank)
    return replace(hit, score=0.5, chunk=replace(hit.chunk, title=title))


def test_equal_hits_are_ordered_by_their_titles() -> None:
    plain = make_titled_hit("The winner of Best Animated Feature was told.", "News", "d1", 1)
    named = make_titled_hit(
        "The winner of Best Animated Feature was told.", "Academy Awards 2004", "d2", 2
    )
    question = "Academy Awards 2004 winner of Best Animated Feature"
    chosen = Selection(extract_terms=ContentTerms())(Question(question), [plain, named])
    assert [hit.chunk.document_id for hit in chosen] == ["d2", "d1"]


def test_a_title_alone_does_not_raise_a_hit() -> None:
    car = make_titled_hit("The dealer has many colours.", "Jaguar", "car", 2)
    animal = make_titled_hit("The cat reaches a speed of 80 km/h, jaguar or not.", "Cats", "cat", 1)
    chosen = Selection(extract_terms=ContentTerms())(Question("Jaguar speed"), [animal, car])
    assert [hit.chunk.document_id for hit in chosen] == ["cat", "car"]


def test_at_most_two_hits_of_a_site_are_kept() -> None:
    hits = [make_titled_hit(f"Text {n}.", "T", f"https://wiki.example/{n}", n) for n in range(1, 5)]
    assert len(Selection(extract_terms=ContentTerms())(Question("text"), hits)) == 2
