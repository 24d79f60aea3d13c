"""Synonyms, KeyMatch and pseudo-relevance feedback, on numbers worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hypothesis_settings import CALM
from tests.retrieval.hits import make_hit, split_words

from fathom.domains.domain import load_domain
from fathom.retrieval.expansion import (
    EnhancedScore,
    RelevanceFeedback,
    expand_query,
    measure_key_match,
)

SYNONYMS = {
    "siup": ("Surat Izin Usaha Perdagangan",),
    "surat izin usaha perdagangan": ("SIUP",),
    "oss": ("Online Single Submission",),
    "oss rba": ("OSS berbasis risiko",),
    "c++": ("cpp",),
}


@pytest.mark.parametrize(
    ("query", "whole"),
    [
        ("Apa itu SIUP?", "Apa itu SIUP? Surat Izin Usaha Perdagangan"),
        ("apa itu siup", "apa itu siup Surat Izin Usaha Perdagangan"),
        ("surat  izin usaha\nperdagangan", "surat  izin usaha\nperdagangan SIUP"),
        ("OSS RBA", "OSS RBA OSS berbasis risiko"),  # the longer term hides the shorter
        ("OSS dan SIUP", "OSS dan SIUP Online Single Submission Surat Izin Usaha Perdagangan"),
        ("SIUP siup SIUP", "SIUP siup SIUP Surat Izin Usaha Perdagangan"),
        ("SIUP (Surat Izin Usaha Perdagangan)", "SIUP (Surat Izin Usaha Perdagangan)"),
        ("a C++ file", "a C++ file cpp"),
        ("SIUPAL", "SIUPAL"),
        ("nothing of it", "nothing of it"),
        ("\u017fiup", "\u017fiup"),
        ("", ""),
    ],
)
def test_synonyms_are_appended_to_the_query(query: str, whole: str) -> None:
    assert expand_query(query, SYNONYMS) == whole


def test_a_domain_without_synonyms_adds_nothing() -> None:
    assert expand_query("Apa itu SIUP?", {}) == "Apa itu SIUP?"


@CALM
@given(query=st.text(max_size=60) | st.sampled_from(["SIUP NIB OSS", "IMB?", "apa itu kbli"]))
def test_adding_twice_adds_a_domain_once(query: str) -> None:
    synonyms = load_domain("licensing-id").synonyms
    once = expand_query(query, synonyms)
    assert once.startswith(query)
    assert len(expand_query(once, synonyms)) <= len(once) + 200


def test_key_match_is_a_share_of_the_distinct_words() -> None:
    chunk = make_hit("surat izin usaha", title="SIUP").chunk
    assert measure_key_match("siup surat tanda SIUP", chunk, split_words) == pytest.approx(2 / 3)
    assert measure_key_match("", chunk, split_words) == 0.0


def test_the_enhanced_score_combines_its_parts() -> None:
    hits = [
        make_hit("nothing", document="dropped", score=0.5, rank=1),  # 0.35 is not above the floor
        make_hit("surat izin", document="second", score=0.5, rank=2),  # 0.35 + 0.3 * 2 / 3
        make_hit("siup surat izin", document="first", score=0.45, rank=3),  # 0.315 + 0.3
        make_hit("siup", document="third", score=0.5, rank=4),  # 0.35 + 0.3 / 3
    ]
    ranked = EnhancedScore(extract_terms=split_words)("siup surat izin", hits)
    assert [
        (ranked_hit.chunk.document_id, ranked_hit.rank, ranked_hit.score, ranked_hit.retriever)
        for ranked_hit in ranked
    ] == [
        ("first", 1, 0.615, "evr"),
        ("second", 2, 0.55, "evr"),
        ("third", 3, 0.45, "evr"),
    ]


def test_equal_scores_keep_their_order() -> None:
    hits = [
        make_hit("siup", document=name, score=0.5, rank=n) for n, name in enumerate("ba", start=1)
    ]
    ranked = EnhancedScore(extract_terms=split_words)("siup", hits)
    assert [ranked_hit.chunk.document_id for ranked_hit in ranked] == ["b", "a"]


FEEDBACK = RelevanceFeedback(extract_words=str.split)
BEST = (
    make_hit("b c c d", document="x", score=3.0),
    make_hit("d e", document="y", score=1.0, rank=2),
)


def test_rm3_is_as_computed_by_hand() -> None:
    # Query: a 1/2, b 1/2, times 0.5. First hit: b 1/4, c 1/2, d 1/4, times 0.5 * 3/4. Second:
    # d 1/2, e 1/2, times 0.5 * 1/4.
    assert FEEDBACK.build_model("a b", BEST) == {
        "b": 0.34375,
        "a": 0.25,
        "c": 0.1875,
        "d": 0.15625,
        "e": 0.0625,
    }
    assert list(FEEDBACK.build_model("a b", BEST)) == ["b", "a", "c", "d", "e"]
    assert FEEDBACK.select_terms("a b", BEST) == ("c", "d", "e")
    assert FEEDBACK("a b", BEST) == "a b c d e"


def test_rm3_is_bounded() -> None:
    assert RelevanceFeedback(extract_words=str.split, count=1)("a b", BEST) == "a b c"
    assert RelevanceFeedback(extract_words=str.split, hits=1)("a b", BEST) == "a b c d"


def test_rm3_without_hits_or_words_adds_nothing() -> None:
    assert FEEDBACK("a b", ()) == "a b"
    assert FEEDBACK("a b", (make_hit("", score=1.0),)) == "a b"


def test_nonpositive_scores_count_alike() -> None:
    negative = [make_hit("c", score=-1.0), make_hit("d", document="e", score=-9.0, rank=2)]
    assert FEEDBACK.build_model("a", negative) == {"a": 0.5, "c": 0.25, "d": 0.25}
    mixed = [make_hit("c", score=1.0), make_hit("d", document="e", score=-9.0, rank=2)]
    assert FEEDBACK.select_terms("a", mixed) == ("c",)


@CALM
@given(texts=st.lists(st.text("abc ", max_size=12), max_size=5), query=st.text("abc ", max_size=8))
def test_the_model_is_a_distribution(texts: list[str], query: str) -> None:
    hits = [make_hit(text, document=f"d{n}", score=1.0, rank=n + 1) for n, text in enumerate(texts)]
    model = FEEDBACK.build_model(query, hits)
    assert sum(model.values()) <= 1 + 1e-9
    assert all(0 <= weight <= 1 for weight in model.values())
    assert list(model.values()) == sorted(model.values(), reverse=True)
