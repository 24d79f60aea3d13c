import json
from dataclasses import replace

import numpy as np
import pytest
from tests.factories import hit_of

from fathom.agents.complexity import ComplexityLevel
from fathom.errors import UsageError
from fathom.evaluation.branch_weights import (
    BY_COMPLEXITY,
    GRID,
    LEARNED,
    PRIOR,
    JudgedLists,
    LearnedWeights,
    learn_pairs,
)
from fathom.strategies.branch_lists import BranchLists
from fathom.types import Hit


def rank_hits(*documents: str) -> tuple[Hit, ...]:
    return tuple(hit_of(document=name, rank=rank) for rank, name in enumerate(documents, start=1))


def make_lists(
    number: int, *, good: str, level: ComplexityLevel = "simple", dataset: str = "toy"
) -> JudgedLists:
    """Return a question whose relevant document only one of the branches puts first."""
    lists = (rank_hits("right", "other"), rank_hits("a wrong one", "other"))
    branches = BranchLists(
        level=level,
        usual=(0.5, 0.5),
        lists=lists if good == "keyword" else lists[::-1],
        factors=(1.0, 1.0),
    )
    return JudgedLists(
        dataset=dataset, question=f"q{number}", branches=branches, grades={"right": 1}
    )


def test_the_score_is_that_of_the_ranking_by_the_weights() -> None:
    asked = make_lists(1, good="keyword")
    assert asked.score((1.0, 0.0), "Hit@1") == 1.0
    assert asked.score((0.2, 0.8), "Hit@1") == 0.0
    doubted = replace(asked, branches=replace(asked.branches, factors=(1.0, 0.1)))
    assert doubted.score((0.2, 0.8), "Hit@1") == 1.0


def test_the_branch_that_ranks_right_is_learned_for_each_level() -> None:
    lists = [make_lists(n, good="keyword") for n in range(100)]
    lists += [make_lists(n, good="semantic", level="complex", dataset="more") for n in range(100)]
    learned = LearnedWeights.learn(lists)
    assert learned.weights["simple"][0] > 0.5 > learned.weights["complex"][0]
    assert (learned.levels, learned.datasets) == (
        {"complex": 100, "simple": 100},
        {"more": 100, "toy": 100},
    )
    assert np.mean(learned.scores[LEARNED]) == 1.0
    assert np.mean(learned.scores["bm25"]) < 1.0
    assert "better than complexity" in learned.verdict
    rows = {row["system"]: row for row in learned.rows()}
    assert rows["bm25"]["gain"] == pytest.approx(1.0 - rows["bm25"]["mean"], abs=1e-3)
    assert rows["bm25"]["interval"][0] > 0
    assert rows["bm25"]["p"] < 0.05


def test_a_question_is_not_ranked_by_what_it_taught() -> None:
    """Whatever is learned of questions that nothing unites is worth nothing to the others."""
    values = np.zeros((10, len(GRID)))
    lists = [make_lists(n, good="keyword" if n % 2 else "semantic") for n in range(10)]
    learned = LearnedWeights.learn(lists)
    in_sample = max(np.mean([item.score(pair, "nDCG@10") for item in lists]) for pair in GRID)
    assert np.mean(learned.scores[LEARNED]) <= in_sample
    assert "not significantly different" in learned.verdict
    assert learn_pairs(["simple"] * 10, values)["simple"] == GRID[0]


def test_a_level_of_few_questions_leans_on_all() -> None:
    levels: list[ComplexityLevel] = ["simple" for _ in range(200)]
    levels += ["complex", "complex"]
    values = np.zeros((len(levels), len(GRID)))
    values[:200, 12] = 1.0
    values[200:, 3] = 1.0
    pairs = learn_pairs(levels, values)
    assert pairs["complex"] == pairs["moderate"] == pairs["simple"] == GRID[12]
    values[:, 12] /= PRIOR
    assert learn_pairs(levels, values)["complex"] == GRID[3]


def test_the_file_holds_the_weights_and_their_origin() -> None:
    learned = LearnedWeights.learn([make_lists(n, good="keyword") for n in range(10)], "Hit@1")
    written = json.loads(learned.to_json())
    assert written["weights"] == {level: list(pair) for level, pair in learned.weights.items()}
    assert written["origin"] == {
        "datasets": {"toy": 10},
        "levels": {"simple": 10},
        "measure": "Hit@1",
    }
    text = learned.to_text()
    assert BY_COMPLEXITY in text
    assert learned.verdict in text


@pytest.mark.parametrize(("count", "measure"), [(9, "nDCG@10"), (10, "F1")])
def test_too_few_questions_and_unknown_measures_are_refused(count: int, measure: str) -> None:
    with pytest.raises(UsageError, match="too few" if count < 10 else "measure 'F1'"):
        LearnedWeights.learn([make_lists(n, good="keyword") for n in range(count)], measure)
