"""Each measure by hand: right, wrong, abstained, failed, and not measurable."""

from dataclasses import replace
from typing import Any

import pytest
from tests.evaluation.factories import (
    make_abstention,
    make_citation,
    make_failure,
    make_ranking,
    make_record,
)

from fathom.evaluation.ir_metrics import MEASURES
from fathom.evaluation.measures import (
    DRAFT_MEASURES,
    GROUP_SCORES,
    LOWER_IS_BETTER,
    SCORES,
    GradedAnswer,
)
from fathom.evaluation.records import Record

RIGHT = make_record()
WITHHELD = {"answer": RIGHT.answer, "short_answer": RIGHT.short_answer}
WRONG = make_record(
    short_answer="5 gulden", answer="It costs 5 gulden. [1]", citations=(make_citation("d9"),)
)
NONE: dict[str, Any] = {"answerable": False, "gold": (), "relevant": {}}
UNJUDGED: dict[str, Any] = {"gold": (), "relevant": {}}


@pytest.mark.parametrize(
    ("graded", "expected"),
    [
        (RIGHT, {"EM": 1, "F1": 1, "wrong-on-answerable": 0, "CRAG-truthfulness": 1, "right": 1}),
        (WRONG, {"EM": 0, "F1": 0, "wrong-on-answerable": 1, "CRAG-truthfulness": -1, "right": 0}),
        (
            make_abstention(),
            {"EM": 0, "F1": 0, "wrong-on-answerable": 0, "CRAG-truthfulness": 0, "abstained": 1,
             "abstention-precision": 0, "abstention-recall": None},
        ),
        (
            replace(RIGHT, tentative=True),
            {"F1": 1, "right": 1, "CRAG-truthfulness": 0, "tentative": 1, "abstained": 0,
             "right-tentative": 1, "right-shown": 0, "wrong-tentative": 0},
        ),
        (
            replace(WRONG, tentative=True),
            {"F1": 0, "CRAG-truthfulness": 0, "wrong-on-answerable": 0, "wrong-tentative": 1,
             "wrong-shown": 0},
        ),
        (
            make_record(**NONE, tentative=True),
            {"no-answer-F1": 0, "abstention-recall": 0, "CRAG-truthfulness": 0,
             "wrong-tentative": 1},
        ),
        (
            make_abstention(withheld=WITHHELD),
            {"F1": 0, "CRAG-truthfulness": 0, "right": 0, "right-withheld": 1,
             "wrong-withheld": 0},
        ),
        (
            make_abstention(withheld=WITHHELD, **NONE),
            {"F1": 1, "right-withheld": 0, "wrong-withheld": 1},
        ),
        (
            make_abstention(),
            dict.fromkeys(DRAFT_MEASURES, 0),
        ),
        (
            make_failure(),
            {"EM": 0, "F1": 0, "wrong-on-answerable": 1, "CRAG-truthfulness": -1, "R@5": 0,
             "failed": 1, "abstained": 0, "support": None},
        ),
        (
            make_abstention(**NONE),
            {"EM": 1, "F1": 1, "no-answer-F1": 1, "has-answer-F1": None, "R@5": None,
             "CRAG-truthfulness": 0, "wrong-on-answerable": None,
             "abstention-precision": 1, "abstention-recall": 1},
        ),
        (
            make_record(**NONE),
            {"EM": 0, "F1": 0, "no-answer-F1": 0, "CRAG-truthfulness": -1,
             "abstention-precision": None, "abstention-recall": 0},
        ),
        (make_failure(**NONE), {"EM": 0, "no-answer-F1": 0, "CRAG-truthfulness": -1}),
        (
            make_record(**UNJUDGED),
            {"EM": None, "F1": None, "CRAG-truthfulness": None, "citation-precision": None,
             "citation-recall": None, "nDCG@10": None,
             "answered": 1, "support": 0.8, "answer-in-citation": None},
        ),
        (
            make_record(citations=(make_citation("d1"), make_citation("d7", "Nothing.", 0.4))),
            {"support": pytest.approx(0.6), "support-overlap": 0.5, "citation-precision": 0.5,
             "citation-recall": 1, "answer-in-citation": 1},
        ),
        (
            make_record(
                citations=(make_citation("d1"), make_citation("d1")),
                relevant={"d1": 1, "d2": 1, "d3": 2},
            ),
            {"citation-precision": 1, "citation-recall": pytest.approx(1 / 3)},
        ),
        (WRONG, {"citation-precision": 0, "citation-recall": 0, "answer-in-citation": 1}),
        (
            make_record(citations=()),
            {"support": None, "support-overlap": None, "citation-precision": None,
             "citation-recall": None},
        ),
        (
            make_abstention(citations=(make_citation(),)),
            {"support": None, "citation-precision": None},
        ),
        (
            make_record(
                gold=("on 4 May 1890 in the old mill by the lake of Elm",),
                short_answer="4 May 1890",
                answer="It fell on 4 May 1890 in the old mill by the lake of Elm. [1]",
            ),
            {"right": 1, "EM": 0},
        ),
        (
            make_record(
                gold=("on 4 May 1890 in the old mill by the lake of Elm",),
                short_answer="4 May 1890",
                answer="It fell on 4 May 1890. [1]",
            ),
            {"right": 0},
        ),
        (
            make_record(
                gold=("on 4 May 1890 in the old mill by the lake of Elm",),
                wrong=("4 May 1890",),
                short_answer="4 May 1890",
                answer="It fell on 4 May 1890 in the old mill by the lake of Elm. [1]",
            ),
            {"right": 0},
        ),
        (
            make_record(short_answer=""),
            {"EM": 0, "F1": pytest.approx(2 / 3), "short-F1": 0, "text-F1": pytest.approx(2 / 3)},
        ),
    ],
)  # fmt: skip
def test_scores_are_as_computed_by_hand(graded: Record, expected: dict[str, object]) -> None:
    assert {name: SCORES[name](graded) for name in expected} == expected


def test_ramdocs_counts_the_other_readings_too() -> None:
    both: dict[str, Any] = {"gold": ("40 crowns", "30 crowns"), "wrong": ("5 gulden",)}
    score = SCORES["RAMDocs-EM"]
    assert score(make_record()) is None
    assert score(make_record(**both)) == 0
    assert score(make_record(**both, conflicts=("30 crowns",))) == 1
    assert score(make_record(**both, conflicts=("30 crowns", "5 gulden"))) == 0
    assert score(make_abstention(**both)) == score(make_failure(**both)) == 0
    without_gold: dict[str, Any] = {**both, "gold": ()}
    assert score(make_abstention(**without_gold, answerable=False)) is None
    assert score(make_record(**without_gold)) is None
    # Of a disputed answer the readings count that no debate refuted.
    named = make_record(**both, disputed=True, short_answer="30 crowns, 40 crowns or 5 gulden")
    assert score(replace(named, conflicts=("30 crowns", "40 crowns"))) == 1
    assert score(replace(named, conflicts=("30 crowns", "40 crowns", "5 gulden"))) == 0


def test_a_ranking_has_no_measures_of_answers() -> None:
    for ranking in (
        make_ranking(),
        make_failure(depth=100),
        make_ranking(**NONE),
        make_ranking(wrong=("5",)),
    ):
        of_answers = {name for name in SCORES if name not in {*MEASURES, "failed"}}
        assert {SCORES[name](ranking) for name in of_answers} == {None}
    assert [SCORES["failed"](ranking) for ranking in (make_ranking(), make_failure(depth=100))] == [
        0,
        1,
    ]


def test_ranking_measures_are_taken_on_evidence() -> None:
    ranking = make_ranking(relevant={"b": 1, "d": 2}, evidence=("a", "b", "c", "d"))
    for name, measure in MEASURES.items():
        assert SCORES[name](ranking) == measure(ranking.evidence, ranking.relevant)
    assert (SCORES["R@2"](ranking), SCORES["Hit@1"](ranking)) == (0.5, 0)
    assert {SCORES[name](make_ranking(relevant={})) for name in MEASURES} == {None}
    assert {SCORES[name](make_failure(depth=100)) for name in MEASURES} == {0}


def test_a_shallow_ranking_has_no_deep_measure() -> None:
    assert SCORES["R@100"](make_ranking()) == 1
    assert SCORES["R@100"](make_ranking(depth=10)) is SCORES["R@100"](make_record()) is None


def score_group(name: str, *records: Record) -> float | None:
    return GROUP_SCORES[name]([GradedAnswer.of(graded) for graded in records])


def test_confidence_is_measured_on_given_answers() -> None:
    wrong = make_record("q2", short_answer="5 gulden", confidence=0.3)
    assert score_group("AUROC", make_record(), wrong, make_abstention("q3")) == 1.0
    assert score_group("AUROC", make_record(), make_abstention()) is None
    assert score_group("AUROC-answerable", make_record(), make_abstention("q2", **NONE)) == 1.0
    assert score_group("ECE", make_record(confidence=0.5)) == 0.5
    assert score_group("ECE", make_abstention()) is None


def test_an_abstention_counts_as_the_least_confident_answer() -> None:
    unsure = make_record("q2", short_answer="5 gulden", confidence=0.3)
    answers_all = score_group("AURC", make_record(), unsure)
    assert answers_all == score_group("AURC", make_record(), make_abstention("q2")) == 0.25
    assert score_group("AURC", make_record(), make_failure("q2")) == 0.25
    assert score_group("AURC", make_record(**UNJUDGED)) is None


def test_rankings_have_no_group_measures() -> None:
    assert {
        score_group(name, make_ranking(), make_ranking("q2", **NONE)) for name in GROUP_SCORES
    } == {None}


def test_measures_where_lower_is_better_exist() -> None:
    assert {*SCORES, *GROUP_SCORES} >= LOWER_IS_BETTER
