"""A recommendation only where it is surely better; else how many questions would be needed."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fathom.errors import UsageError
from fathom.evaluation.records import Record
from fathom.evaluation.tuning import Tuning, compare_trials


def records(
    strategy: str,
    right: Sequence[bool],
    *,
    seconds: float = 1.0,
    tokens: float = 0.0,
    varied: dict[str, str] | None = None,
    synthetic: bool = False,
) -> list[Record]:
    return [
        Record(
            dataset="mine",
            strategy=strategy,
            question=f"q{at}",
            text="?",
            gold=("yes",),
            status="answered",
            answer="yes" if good else "no",
            usage={"prompt_tokens": tokens, "completion_tokens": 0.0},
            seconds=seconds,
            varied=varied or {},
            synthetic=synthetic,
        )
        for at, good in enumerate(right)
    ]


def share(of: float, count: int, seed: int) -> list[bool]:
    draw = random.Random(seed)
    return [draw.random() < of for _ in range(count)]


def three(count: int) -> Tuning:
    return compare_trials(
        [
            records("naive", share(0.4, count, 1)),
            records("maf", share(0.7, count, 2), seconds=3.0),
            records("mao", share(0.5, count, 3), seconds=2.0),
        ],
        "naive",
    )


def test_what_is_surely_better_is_recommended_with_its_settings() -> None:
    found = three(200)
    assert found.recommendation is not None
    assert found.recommendation.assignments == {"ask.strategy": "maf"}
    assert found.verdict == "recommended instead of naive: ask.strategy=maf"
    assert {test.second for test in found.tests} == {"naive"}
    assert all(test.p_holm >= test.p for test in found.tests)


def test_within_noise_nothing_is_recommended_and_the_questions_needed_are_told() -> None:
    found = three(12)
    assert found.recommendation is None
    assert found.needed is not None
    assert found.needed > 12
    assert f"about {found.needed} questions would show it (these were 12)" in found.verdict


def test_where_nothing_looks_better_it_is_said() -> None:
    right = share(0.6, 50, 1)
    comparisons = compare_trials([records("naive", right), records("maf", [False] * 50)], "naive")
    assert (comparisons.recommendation, comparisons.needed) == (None, None)
    assert "none even looks better on these 50 questions" in comparisons.verdict


def test_where_there_is_only_the_default_it_stays() -> None:
    comparisons = compare_trials([records("naive", [True] * 5)], "naive")
    assert (comparisons.recommendation, comparisons.tests) == (None, ())


def test_of_two_that_are_surely_better_the_best_is_taken() -> None:
    base = [at % 4 == 0 for at in range(200)]
    some = [at % 4 < 2 for at in range(200)]
    most = [at % 4 < 3 for at in range(200)]
    groups = [records("naive", base), records("maf", some), records("mao", most)]
    comparisons = compare_trials(groups, "naive")
    assert comparisons.recommendation is not None
    assert comparisons.recommendation.strategy == "mao"


def test_the_front_holds_what_nothing_beats_in_quality_and_cost() -> None:
    good, bad = [True] * 40, [False] * 40
    groups = [
        records("naive", bad, tokens=1),
        records("maf", good, tokens=9),
        records("mao", bad, tokens=5),
    ]
    comparisons = compare_trials(groups, "naive")
    assert comparisons.unit == "tokens"
    assert {trial.name: trial.best for trial in comparisons.trials} == {
        "naive": True,
        "maf": True,
        "mao": False,
    }
    assert [trial.on_front for trial in comparisons.trials] == [1.0, 1.0, 0.0]
    assert (
        comparisons.trials[1].quality_interval[0]
        <= 1.0
        == comparisons.trials[1].quality_interval[1]
    )


def test_without_tokens_and_money_a_question_costs_time() -> None:
    found = three(20)
    assert found.unit == "seconds"
    assert [trial.cost for trial in found.trials] == [1.0, 3.0, 2.0]


def test_a_choice_of_settings_is_a_system_of_its_own() -> None:
    groups = [
        records("naive", [at % 3 == 0 for at in range(90)]),
        records("naive", [True] * 90, varied={"retrieval.k": "20"}),
    ]
    comparisons = compare_trials(groups, "naive")
    assert comparisons.recommendation is not None
    assert comparisons.recommendation.name == "naive (retrieval.k=20)"
    assert comparisons.recommendation.assignments == {"ask.strategy": "naive", "retrieval.k": "20"}


def test_a_measure_of_which_less_is_better_counts_the_other_way_round() -> None:
    groups = [records("naive", [False] * 60), records("maf", [True] * 60)]
    comparisons = compare_trials(groups, "naive", measure="wrong-on-answerable")
    assert comparisons.recommendation is not None
    assert comparisons.recommendation.strategy == "maf"


def test_a_measure_that_is_unknown_or_that_no_question_has_is_refused() -> None:
    groups = [records("naive", [True] * 5)]
    with pytest.raises(UsageError, match="measure 'nice': choose of EM"):
        compare_trials(groups, "naive", measure="nice")
    with pytest.raises(UsageError, match="no question has R@5 of every system"):
        compare_trials(groups, "naive", measure="R@5")


def test_that_questions_are_synthetic_is_said_everywhere() -> None:
    groups = [records("naive", [True] * 5, synthetic=True)]
    comparisons = compare_trials(groups, "naive")
    assert comparisons.to_dict()["synthetic"] == 5
    assert "5 of the 5 questions are synthetic" in comparisons.to_text()
    assert "5 of the 5 questions are synthetic" in comparisons.to_markdown()


def test_what_programs_are_given_holds_all_of_it() -> None:
    told = three(200).to_dict()
    assert told["recommended"] == {"ask.strategy": "maf"}
    assert [system["name"] for system in told["systems"]] == ["naive", "maf", "mao"]
    assert [system["default"] for system in told["systems"]] == [True, False, False]
    assert all("sentence" in test for test in told["tests"])


def test_what_some_questions_have_is_compared_on_those_that_have_it_of_every_system() -> None:
    silent = [replace(each, status="abstained") for each in records("naive", [True] * 4)]
    other = records("maf", [True] * 4)
    groups = [silent, [*other[:1], *(replace(each, status="abstained") for each in other[1:])]]
    comparisons = compare_trials(groups, "naive", measure="abstention-precision")
    assert comparisons.questions == 3
