"""A recommendation only for a proven advantage; otherwise the number of questions required."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fathom.errors import UsageError
from fathom.evaluation.records import Record
from fathom.evaluation.rows import score_system
from fathom.evaluation.tuning import Tuning, compare_trials


def make_records(
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


def draw_share(of: float, count: int, seed: int) -> list[bool]:
    draw = random.Random(seed)
    return [draw.random() < of for _ in range(count)]


def compare_three(count: int) -> Tuning:
    return compare_trials(
        [
            make_records("naive", draw_share(0.4, count, 1)),
            make_records("maf", draw_share(0.7, count, 2), seconds=3.0),
            make_records("mao", draw_share(0.5, count, 3), seconds=2.0),
        ],
        "naive",
    )


def test_intervals_are_those_of_an_evaluation() -> None:
    records = make_records("naive", draw_share(0.7, 24, 4))
    random.Random(5).shuffle(records)
    (trial,) = compare_trials([records], "naive").trials
    assert trial.quality_interval == score_system(records).intervals["F1"]


def test_a_proven_advantage_is_recommended_with_its_settings() -> None:
    comparison = compare_three(200)
    assert comparison.recommendation is not None
    assert comparison.recommendation.assignments == {"ask.strategy": "maf"}
    assert comparison.verdict == "recommended instead of naive: ask.strategy=maf"
    assert {test.second for test in comparison.tests} == {"naive"}
    assert all(test.p_holm >= test.p for test in comparison.tests)


def test_within_noise_the_required_number_of_questions_is_reported() -> None:
    comparison = compare_three(12)
    assert comparison.recommendation is None
    assert comparison.needed is not None
    assert comparison.needed > 12
    assert (
        f"about {comparison.needed} questions would show it (these were 12)" in comparison.verdict
    )


def test_without_a_better_system_this_is_stated() -> None:
    right = draw_share(0.6, 50, 1)
    comparisons = compare_trials(
        [make_records("naive", right), make_records("maf", [False] * 50)], "naive"
    )
    assert (comparisons.recommendation, comparisons.needed) == (None, None)
    assert "nothing has a higher mean on these 50 questions" in comparisons.verdict


def test_the_only_system_stays_the_default() -> None:
    comparisons = compare_trials([make_records("naive", [True] * 5)], "naive")
    assert (comparisons.recommendation, comparisons.tests) == (None, ())


def test_the_best_of_two_proven_systems_is_recommended() -> None:
    base = [at % 4 == 0 for at in range(200)]
    some = [at % 4 < 2 for at in range(200)]
    most = [at % 4 < 3 for at in range(200)]
    groups = [make_records("naive", base), make_records("maf", some), make_records("mao", most)]
    comparisons = compare_trials(groups, "naive")
    assert comparisons.recommendation is not None
    assert comparisons.recommendation.strategy == "mao"


def test_the_front_holds_the_systems_unbeaten_in_quality_and_cost() -> None:
    good, bad = [True] * 40, [False] * 40
    groups = [
        make_records("naive", bad, tokens=1),
        make_records("maf", good, tokens=9),
        make_records("mao", bad, tokens=5),
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


def test_without_tokens_and_money_the_cost_is_time() -> None:
    comparison = compare_three(20)
    assert comparison.unit == "seconds"
    assert [trial.cost for trial in comparison.trials] == [1.0, 3.0, 2.0]


def test_money_is_the_cost_only_where_it_is_known_of_all_systems() -> None:
    def price(records: list[Record], cost_usd: float | None) -> list[Record]:
        return [replace(entry, usage={**entry.usage, "cost_usd": cost_usd}) for entry in records]

    paid = price(make_records("naive", [True] * 5, tokens=1), 0.01)
    free, unknown = (price(make_records("maf", [True] * 5, tokens=9), cost) for cost in (0.0, None))
    assert compare_trials([paid, free], "naive").unit == "US dollars"
    comparisons = compare_trials([paid, unknown], "naive")
    assert comparisons.unit == "tokens"
    assert [trial.best for trial in comparisons.trials] == [True, False]


def test_a_combination_of_settings_is_a_system() -> None:
    groups = [
        make_records("naive", [at % 3 == 0 for at in range(90)]),
        make_records("naive", [True] * 90, varied={"retrieval.k": "20"}),
    ]
    comparisons = compare_trials(groups, "naive")
    assert comparisons.recommendation is not None
    assert comparisons.recommendation.name == "naive (retrieval.k=20)"
    assert comparisons.recommendation.assignments == {"ask.strategy": "naive", "retrieval.k": "20"}


def test_a_measure_where_lower_is_better_is_reversed() -> None:
    groups = [make_records("naive", [False] * 60), make_records("maf", [True] * 60)]
    comparisons = compare_trials(groups, "naive", measure="wrong-on-answerable")
    assert comparisons.recommendation is not None
    assert comparisons.recommendation.strategy == "maf"


def test_an_unknown_or_inapplicable_measure_is_refused() -> None:
    groups = [make_records("naive", [True] * 5)]
    with pytest.raises(UsageError, match="measure 'nice': choose from EM"):
        compare_trials(groups, "naive", measure="nice")
    with pytest.raises(UsageError, match="no question has R@5 of every system"):
        compare_trials(groups, "naive", measure="R@5")


def test_synthetic_questions_are_marked_everywhere() -> None:
    groups = [make_records("naive", [True] * 5, synthetic=True)]
    comparisons = compare_trials(groups, "naive")
    assert comparisons.to_dict()["synthetic"] == 5
    assert "5 of the 5 questions are synthetic" in comparisons.to_text()
    assert "5 of the 5 questions are synthetic" in comparisons.to_markdown()


def test_only_synthetic_questions_that_have_the_measure_are_counted() -> None:
    first, *others = make_records("naive", [True] * 4, synthetic=True)
    group = [replace(first, answerable=False, gold=()), *others]
    comparisons = compare_trials([group], "naive", measure="abstention-recall")
    assert "1 of the 1 questions are synthetic" in comparisons.to_text()


def test_the_json_contains_everything() -> None:
    exported = compare_three(200).to_dict()
    assert exported["recommended"] == {"ask.strategy": "maf"}
    assert [system["name"] for system in exported["systems"]] == ["naive", "maf", "mao"]
    assert [system["default"] for system in exported["systems"]] == [True, False, False]
    assert all("sentence" in test for test in exported["tests"])


def test_partial_measures_are_compared_on_the_questions_of_all_systems() -> None:
    silent = [replace(entry, status="abstained") for entry in make_records("naive", [True] * 4)]
    other = make_records("maf", [True] * 4)
    groups = [silent, [*other[:1], *(replace(entry, status="abstained") for entry in other[1:])]]
    comparisons = compare_trials(groups, "naive", measure="abstention-precision")
    assert comparisons.questions == 3
