"""Each measure by hand: right, wrong, abstained, failed, and what cannot be measured."""

from typing import Any

import pytest
from tests.evaluation.making import abstained, cited, failed, ranked, record

from fathom.evaluation.ir_metrics import MEASURES
from fathom.evaluation.measures import GROUP_SCORES, LOWER_IS_BETTER, SCORES, GradedAnswer
from fathom.evaluation.records import Record

RIGHT = record()
WRONG = record(short_answer="5 gulden", answer="It costs 5 gulden. [1]", citations=(cited("d9"),))
NONE: dict[str, Any] = {"answerable": False, "gold": (), "relevant": {}}
UNJUDGED: dict[str, Any] = {"gold": (), "relevant": {}}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (RIGHT, {"EM": 1, "F1": 1, "wrong-on-answerable": 0, "CRAG-truthfulness": 1, "right": 1}),
        (WRONG, {"EM": 0, "F1": 0, "wrong-on-answerable": 1, "CRAG-truthfulness": -1, "right": 0}),
        (
            abstained(),
            {"EM": 0, "F1": 0, "wrong-on-answerable": 0, "CRAG-truthfulness": 0, "abstained": 1,
             "abstention-precision": 0, "abstention-recall": None},
        ),
        (
            failed(),
            {"EM": 0, "F1": 0, "wrong-on-answerable": 1, "CRAG-truthfulness": -1, "R@5": 0,
             "failed": 1, "abstained": 0, "support": None},
        ),
        (
            abstained(**NONE),
            {"EM": 1, "F1": 1, "no-answer-F1": 1, "has-answer-F1": None, "R@5": None,
             "CRAG-truthfulness": 0, "wrong-on-answerable": None,
             "abstention-precision": 1, "abstention-recall": 1},
        ),
        (
            record(**NONE),
            {"EM": 0, "F1": 0, "no-answer-F1": 0, "CRAG-truthfulness": -1,
             "abstention-precision": None, "abstention-recall": 0},
        ),
        (failed(**NONE), {"EM": 0, "no-answer-F1": 0, "CRAG-truthfulness": -1}),
        (
            record(**UNJUDGED),
            {"EM": None, "F1": None, "CRAG-truthfulness": None, "citation-precision": None,
             "citation-recall": None, "nDCG@10": None,
             "answered": 1, "support": 0.8, "answer-in-citation": None},
        ),
        (
            record(citations=(cited("d1"), cited("d7", "Nothing.", 0.4))),
            {"support": pytest.approx(0.6), "support-overlap": 0.5, "citation-precision": 0.5,
             "citation-recall": 1, "answer-in-citation": 1},
        ),
        (
            record(citations=(cited("d1"), cited("d1")), relevant={"d1": 1, "d2": 1, "d3": 2}),
            {"citation-precision": 1, "citation-recall": pytest.approx(1 / 3)},
        ),
        (WRONG, {"citation-precision": 0, "citation-recall": 0, "answer-in-citation": 1}),
        (
            record(citations=()),
            {"support": None, "support-overlap": None, "citation-precision": None,
             "citation-recall": None},
        ),
        (abstained(citations=(cited(),)), {"support": None, "citation-precision": None}),
        (
            record(
                gold=("on 4 May 1890 in the old mill by the lake of Elm",),
                short_answer="4 May 1890",
                answer="It fell on 4 May 1890 in the old mill by the lake of Elm. [1]",
            ),
            {"right": 1, "EM": 0},
        ),
        (
            record(
                gold=("on 4 May 1890 in the old mill by the lake of Elm",),
                short_answer="4 May 1890",
                answer="It fell on 4 May 1890. [1]",
            ),
            {"right": 0},
        ),
        (
            record(
                gold=("on 4 May 1890 in the old mill by the lake of Elm",),
                wrong=("4 May 1890",),
                short_answer="4 May 1890",
                answer="It fell on 4 May 1890 in the old mill by the lake of Elm. [1]",
            ),
            {"right": 0},
        ),
        (
            record(short_answer=""),
            {"EM": 0, "F1": pytest.approx(2 / 3), "short-F1": 0, "text-F1": pytest.approx(2 / 3)},
        ),
    ],
)  # fmt: skip
def test_scores_by_hand(made: Record, expected: dict[str, object]) -> None:
    assert {name: SCORES[name](made) for name in expected} == expected


def test_ramdocs_counts_the_other_readings_too() -> None:
    both: dict[str, Any] = {"gold": ("40 crowns", "30 crowns"), "wrong": ("5 gulden",)}
    score = SCORES["RAMDocs-EM"]
    assert score(record()) is None
    assert score(record(**both)) == 0
    assert score(record(**both, conflicts=("30 crowns",))) == 1
    assert score(record(**both, conflicts=("30 crowns", "5 gulden"))) == 0
    assert score(abstained(**both)) == score(failed(**both)) == 0


def test_of_a_ranking_there_is_no_answer_to_measure() -> None:
    for made in (ranked(), failed(depth=100), ranked(**NONE), ranked(wrong=("5",))):
        of_answers = {name for name in SCORES if name not in {*MEASURES, "failed"}}
        assert {SCORES[name](made) for name in of_answers} == {None}
    assert [SCORES["failed"](made) for made in (ranked(), failed(depth=100))] == [0, 1]


def test_measures_of_rankings_are_taken_on_evidence() -> None:
    made = ranked(relevant={"b": 1, "d": 2}, evidence=("a", "b", "c", "d"))
    for name, measure in MEASURES.items():
        assert SCORES[name](made) == measure(made.evidence, made.relevant)
    assert (SCORES["R@2"](made), SCORES["Hit@1"](made)) == (0.5, 0)
    assert {SCORES[name](ranked(relevant={})) for name in MEASURES} == {None}
    assert {SCORES[name](failed(depth=100)) for name in MEASURES} == {0}


def test_what_is_not_deep_has_no_measure_of_the_deep() -> None:
    assert SCORES["R@100"](ranked()) == 1
    assert SCORES["R@100"](ranked(depth=10)) is SCORES["R@100"](record()) is None


def whole(name: str, *records: Record) -> float | None:
    return GROUP_SCORES[name]([GradedAnswer.of(each) for each in records])


def test_confidence_is_measured_on_what_was_answered() -> None:
    wrong = record("q2", short_answer="5 gulden", confidence=0.3)
    assert whole("AUROC", record(), wrong, abstained("q3")) == 1.0
    assert whole("AUROC", record(), abstained()) is None
    assert whole("AUROC-answerable", record(), abstained("q2", **NONE)) == 1.0
    assert whole("ECE", record(confidence=0.5)) == 0.5
    assert whole("ECE", abstained()) is None


def test_to_abstain_is_to_answer_last() -> None:
    unsure = record("q2", short_answer="5 gulden", confidence=0.3)
    answers_all = whole("AURC", record(), unsure)
    assert answers_all == whole("AURC", record(), abstained("q2")) == 0.25
    assert whole("AURC", record(), failed("q2")) == 0.25
    assert whole("AURC", record(**UNJUDGED)) is None


def test_of_rankings_nothing_can_be_said_together() -> None:
    assert {whole(name, ranked(), ranked("q2", **NONE)) for name in GROUP_SCORES} == {None}


def test_what_is_better_when_lower_is_a_measure() -> None:
    assert {*SCORES, *GROUP_SCORES} >= LOWER_IS_BETTER
