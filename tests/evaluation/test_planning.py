from dataclasses import replace

import numpy as np
import pytest
from tests.planner.worlds import make_question, make_questions

from fathom.errors import UsageError
from fathom.evaluation.planning import (
    BEST,
    ORACLE,
    ROUTER,
    RULES,
    FixedSequences,
    PlannerTable,
    cross_fit,
    name_ppo,
    run_systems,
)
from fathom.evaluation.statistics import FOLDS
from fathom.planner.environment import Environment, RecordedQuestion, Reward
from fathom.planner.ppo import Training
from fathom.planner.process import LOOK

REWARD = Reward(alpha=0.05)
QUICK = Training(updates=40, episodes=256, noise=0.0, prior=0.0)


def make_routed(count: int = 30) -> list[RecordedQuestion]:
    """Return two data sets, each answered by its own executor, except every fifth question."""
    return [
        make_question(number, kind=3 if number % 5 == 0 else number % 2) for number in range(count)
    ]


@pytest.fixture(scope="module")
def progress() -> list[tuple[str, int, int]]:
    return []


@pytest.fixture(scope="module")
def planner_table(progress: list[tuple[str, int, int]]) -> PlannerTable:
    tell = lambda what, done, total: progress.append((what, done, total))  # noqa: E731
    return cross_fit(make_questions(60), REWARD, QUICK, alphas=(0.05,), on_progress=tell)


@pytest.mark.usefixtures("planner_table")
def test_each_measured_fold_is_reported(progress: list[tuple[str, int, int]]) -> None:
    assert progress == [("folds measured", number, FOLDS) for number in range(1, FOLDS + 1)]


def get_earned(table: PlannerTable, name: str) -> float:
    return float(np.mean(table.find_system(name).earned))


def test_fixed_sequences_are_the_best_of_all_and_of_each_data_set() -> None:
    fixed = FixedSequences.of(make_routed(), REWARD)
    assert fixed.routes == {"even": ("bridge",), "odd": ("split",)}
    assert set(fixed.overall) == {"bridge", "split"}


def test_a_router_takes_the_best_of_the_data_set_or_else_of_all() -> None:
    fixed = FixedSequences.of(make_routed(), REWARD)
    strange = replace(make_question(0), dataset="another")
    world = Environment.from_questions([make_question(0), make_question(1), strange], REWARD)
    sequences = world.follow(fixed.route(world)).sequences
    assert sequences == (("bridge", "stop"), ("split", "stop"), (*fixed.overall, "stop"))


def test_no_system_is_measured_on_its_training_questions() -> None:
    """Among the training questions bridges help, among the others splitting: all must be misled."""
    learning = [make_question(number, kind=0) for number in range(10)]
    held_out = [make_question(number, kind=1) for number in range(10, 20)]
    for system in run_systems(learning, held_out, REWARD, QUICK, alphas=(0.0,)):
        assert {outcome.question for outcome in system.questions} == {
            f"q{at}" for at in range(10, 20)
        }
        if system.name in {BEST, ROUTER}:
            assert set(system.sequences) == {("bridge", "stop")}


def test_every_system_is_asked_every_question_once(planner_table: PlannerTable) -> None:
    names = [BEST, ROUTER, RULES, LOOK, ORACLE, name_ppo(0.05)]
    assert sorted(system.name for system in planner_table.systems) == sorted(names)
    expected = [outcome.question for outcome in planner_table.systems[0].questions]
    assert sorted(expected) == sorted(f"q{at}" for at in range(60))
    assert all(
        [outcome.question for outcome in system.questions] == expected
        for system in planner_table.systems
    )


def test_ppo_beats_systems_blind_to_the_question_and_hindsight_is_the_best(
    planner_table: PlannerTable,
) -> None:
    assert get_earned(planner_table, name_ppo(0.05)) > get_earned(planner_table, BEST) + 0.1
    assert get_earned(planner_table, name_ppo(0.05)) > get_earned(planner_table, ROUTER) + 0.1
    best = planner_table.find_system(ORACLE).earned
    for system in planner_table.systems:
        assert all(earned <= most + 1e-9 for earned, most in zip(system.earned, best, strict=True))


def test_rows_show_earnings_costs_and_gaps_of_each_system(planner_table: PlannerTable) -> None:
    rows = {row["system"]: row for row in planner_table.rows()}
    oracle, look = rows[ORACLE], rows[LOOK]
    assert oracle["measures"]["regret"] == 0
    assert look["measures"]["retrievals"] == 1
    assert look["measures"]["entropy"] == 0  # every question goes one way
    assert oracle["measures"]["entropy"] > 1
    gap = oracle["measures"]["reward"] - look["measures"]["reward"]
    assert look["measures"]["regret"] == pytest.approx(gap, abs=1e-3)
    low, high = look["intervals"]["regret"]
    assert low <= look["measures"]["regret"] <= high
    # A fifth is answered by the first look, a fifth has no answer, three fifths are wrong.
    assert look["measures"]["F1"] == pytest.approx(0.2)
    assert look["measures"]["CRAG-truthfulness"] == pytest.approx(0.2 - 0.8)


def test_differences_are_tested_and_stated_in_words(planner_table: PlannerTable) -> None:
    tests = {test["against"]: test for test in planner_table.compare_with_baselines()}
    assert set(tests) == {BEST, ROUTER, RULES}
    assert tests[BEST]["p"] < 0.05
    text = planner_table.to_text()
    assert f"{name_ppo(0.05)} earns more than {BEST}" in text
    assert ORACLE in text


def test_indistinguishable_systems_are_reported_as_such() -> None:
    first, other = (
        Environment.from_questions(make_questions(10), REWARD).follow(
            Environment.from_questions(make_questions(10), REWARD).choose_sequence(sentence)
        )
        for sentence in ((), ())
    )
    from fathom.evaluation.planning import SystemRun

    systems = [SystemRun.of(name_ppo(0.05), first)]
    systems += [SystemRun.of(name, other) for name in (BEST, ROUTER, RULES, ORACLE)]
    sentences = list(PlannerTable(reward=REWARD, systems=tuple(systems)).verdict())
    assert all("does not differ significantly from" in sentence for sentence in sentences)


def test_too_few_questions_are_refused() -> None:
    with pytest.raises(UsageError, match="9 recorded questions are too few"):
        cross_fit(make_questions(9), REWARD, QUICK)
