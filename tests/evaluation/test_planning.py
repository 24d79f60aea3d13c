from dataclasses import replace

import numpy as np
import pytest
from tests.planner.worlds import make_question, make_questions

from fathom.errors import UsageError
from fathom.evaluation.planning import (
    BEST,
    FOLDS,
    LOOK,
    ORACLE,
    ROUTER,
    RULES,
    FixedSequences,
    PlannerTable,
    cross_fit,
    name_ppo,
    run_systems,
)
from fathom.planner.environment import Environment, RecordedQuestion, Reward
from fathom.planner.ppo import Training

REWARD = Reward(alpha=0.05)
QUICK = Training(updates=40, episodes=256, noise=0.0, prior=0.0)


def routed(count: int = 30) -> list[RecordedQuestion]:
    """Two data sets; each is answered by its own executor, but for every fifth question."""
    return [
        make_question(number, kind=3 if number % 5 == 0 else number % 2) for number in range(count)
    ]


@pytest.fixture(scope="module")
def told() -> list[tuple[str, int, int]]:
    return []


@pytest.fixture(scope="module")
def table(told: list[tuple[str, int, int]]) -> PlannerTable:
    tell = lambda what, done, total: told.append((what, done, total))  # noqa: E731
    return cross_fit(make_questions(60), REWARD, QUICK, alphas=(0.05,), on_progress=tell)


@pytest.mark.usefixtures("table")
def test_each_fold_that_is_measured_is_told(told: list[tuple[str, int, int]]) -> None:
    assert told == [("folds measured", number, FOLDS) for number in range(1, FOLDS + 1)]


def earned(table: PlannerTable, name: str) -> float:
    return float(np.mean(table.find_system(name).earned))


def test_fixed_sequences_are_the_best_of_all_and_of_each_data_set() -> None:
    fixed = FixedSequences.of(routed(), REWARD)
    assert fixed.routes == {"even": ("bridge",), "odd": ("split",)}
    assert set(fixed.overall) == {"bridge", "split"}


def test_a_router_goes_the_way_of_the_data_set_and_elsewhere_the_best_of_all() -> None:
    fixed = FixedSequences.of(routed(), REWARD)
    strange = replace(make_question(0), dataset="another")
    world = Environment.from_questions([make_question(0), make_question(1), strange], REWARD)
    sequences = world.follow(fixed.route(world)).sequences
    assert sequences == (("bridge", "stop"), ("split", "stop"), (*fixed.overall, "stop"))


def test_nobody_is_measured_on_what_it_learned_from() -> None:
    """Among the known ones bridges help, among the asked ones splitting: all must be misled."""
    known = [make_question(number, kind=0) for number in range(10)]
    asked = [make_question(number, kind=1) for number in range(10, 20)]
    for each in run_systems(known, asked, REWARD, QUICK, alphas=(0.0,)):
        assert {one.question for one in each.questions} == {f"q{at}" for at in range(10, 20)}
        if each.name in {BEST, ROUTER}:
            assert set(each.sequences) == {("bridge", "stop")}


def test_every_question_is_asked_once_by_every_system(table: PlannerTable) -> None:
    names = [BEST, ROUTER, RULES, LOOK, ORACLE, name_ppo(0.05)]
    assert sorted(system.name for system in table.systems) == sorted(names)
    asked = [one.question for one in table.systems[0].questions]
    assert sorted(asked) == sorted(f"q{at}" for at in range(60))
    assert all([one.question for one in system.questions] == asked for system in table.systems)


def test_ppo_beats_what_does_not_look_at_the_question_and_nobody_beats_hindsight(
    table: PlannerTable,
) -> None:
    assert earned(table, name_ppo(0.05)) > earned(table, BEST) + 0.1
    assert earned(table, name_ppo(0.05)) > earned(table, ROUTER) + 0.1
    best = table.find_system(ORACLE).earned
    for system in table.systems:
        assert all(own <= most + 1e-9 for own, most in zip(system.earned, best, strict=True))


def test_rows_say_what_each_system_earns_costs_and_lacks(table: PlannerTable) -> None:
    rows = {row["system"]: row for row in table.rows()}
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


def test_differences_are_tested_and_told_in_words(table: PlannerTable) -> None:
    tests = {test["against"]: test for test in table.compare_with_baselines()}
    assert set(tests) == {BEST, ROUTER, RULES}
    assert tests[BEST]["p"] < 0.05
    text = table.to_text()
    assert f"{name_ppo(0.05)} earns more than {BEST}" in text
    assert ORACLE in text


def test_what_cannot_be_told_apart_is_said_so() -> None:
    own, other = (
        Environment.from_questions(make_questions(10), REWARD).follow(
            Environment.from_questions(make_questions(10), REWARD).choose_sequence(each)
        )
        for each in ((), ())
    )
    from fathom.evaluation.planning import SystemRun

    systems = [SystemRun.of(name_ppo(0.05), own)]
    systems += [SystemRun.of(name, other) for name in (BEST, ROUTER, RULES, ORACLE)]
    said = list(PlannerTable(reward=REWARD, systems=tuple(systems)).verdict())
    assert all("cannot be told from" in each for each in said)


def test_too_few_questions_are_no_measure() -> None:
    with pytest.raises(UsageError, match="9 recorded questions are too few"):
        cross_fit(make_questions(9), REWARD, QUICK)
