import math

import pytest
from training.cross_reader.squad import (
    compute_auroc,
    compute_balanced_accuracy,
    compute_exact,
    compute_f1,
    compute_ndcg,
    normalize_answer,
)


def test_articles_case_and_punctuation_do_not_count() -> None:
    assert normalize_answer("The  Old, (old) town's A-B") == "old old towns ab"


def test_exact_match_accepts_any_gold_answer() -> None:
    assert compute_exact("the Rhine.", ["Danube", "Rhine"]) == 1
    assert compute_exact("", [""]) == 1
    assert compute_exact("Rhine", [""]) == 0


def test_f1_is_the_overlap_of_words_with_the_best_gold() -> None:
    # 2 of 3 said words are right, 2 of 2 gold words are said: 2 * 2 / (3 + 2).
    assert compute_f1("big old town", ["old town", "city"]) == pytest.approx(0.8)
    assert compute_f1("city town", ["river"]) == 0
    assert compute_f1("", [""]) == 1
    assert compute_f1("town", [""]) == 0


def test_auroc_counts_pairs_and_half_of_ties() -> None:
    # 3 > 1, 3 > 2, 2 > 1 and one tie, of 4 pairs.
    assert compute_auroc([3, 2], [1, 2]) == 3.5 / 4


def test_balanced_accuracy_is_the_mean_over_the_labels() -> None:
    assert compute_balanced_accuracy([True, True, True, False], [True, False, False, False]) == (
        pytest.approx((1 + 1 / 3) / 2)
    )


def test_ndcg_is_as_computed_by_hand() -> None:
    best = 1 + 1 / math.log2(3)

    assert compute_ndcg(["a", "x", "b"], {"a", "b"}) == pytest.approx((1 + 1 / math.log2(4)) / best)
    assert compute_ndcg(["x"] * 10 + ["a"], {"a"}) == 0
