"""Hindsight is an upper bound; a choice made on one half is paid on the other."""

from pathlib import Path

import pytest
from experiments.lab.oracle_router import (
    FIXED,
    ORACLE,
    ROUTER,
    TOGETHER,
    Choice,
    choose_by_halves,
    choose_by_oracle,
    collect_planned,
    compare_choices,
    count_open_questions,
    get_measure,
)
from tests.evaluation.factories import make_abstention, make_failure, make_record
from tests.experiments.workflows import LONG, PLANNER, SHORT, drop_arms, make_results

from fathom.errors import UsageError
from fathom.evaluation.records import Record
from fathom.evaluation.rows import score_system

F1 = get_measure("F1")


def list_gains(choice: Choice) -> float:
    return score_system(choice.records).measures["F1"]


def make_workflow_records(**right: str) -> dict[str, list[Record]]:
    """Return the records of workflows: 1 is a right answer, 0 is an abstention."""
    return {
        name: [
            make_record(f"q{n}") if mark == "1" else make_abstention(f"q{n}")
            for n, mark in enumerate(all_)
        ]
        for name, all_ in right.items()
    }


def test_the_oracle_takes_the_right_answer() -> None:
    choice = choose_by_oracle(make_workflow_records(a="1010", b="0011"), F1)
    assert choice.workflows == ("a", "a", "a", "b")
    assert list_gains(choice) == 0.75


def test_among_equals_the_oracle_takes_the_cheapest_then_the_first() -> None:
    dear = [make_record("q0", usage={**make_record().usage, "retrievals": 5})]
    cheap = [make_record("q0")]
    assert choose_by_oracle({"dear": dear, "cheap": cheap, "too": cheap}, F1).workflows == (
        "cheap",
    )


def test_the_best_of_one_half_answers_the_other() -> None:
    # `a` is right in all places of one half and nowhere else, `b` the other way round
    choice = choose_by_halves("fixed", {"toy": make_workflow_records(a="1010", b="0101")}, F1)[
        "toy"
    ]
    assert choice.workflows == ("b", "a", "b", "a")
    assert list_gains(choice) == 0


def test_a_workflow_for_several_data_sets_is_chosen_by_their_mean() -> None:
    sets = {
        "one": make_workflow_records(a="1111", b="0000"),
        "two": make_workflow_records(a="00", b="11"),
        "three": make_workflow_records(a="11", b="00"),
    }
    chosen_halves = choose_by_halves("fixed", sets, F1)
    assert {name for choice in chosen_halves.values() for name in choice.workflows} == {"a"}
    routed = choose_by_halves("router", {"two": sets["two"]}, F1)["two"]
    assert routed.workflows == ("b", "b")


def test_only_differing_values_matter() -> None:
    assert count_open_questions(make_workflow_records(a="1010", b="0110"), F1) == 2


def test_one_question_cannot_be_halved() -> None:
    with pytest.raises(UsageError, match="two questions"):
        choose_by_halves("fixed", {"toy": make_workflow_records(a="1")}, F1)


def test_a_planner_is_identified_by_its_first_turn() -> None:
    choice = collect_planned(
        "rules", [make_record("q0", actions=("QDS", "R,AG")), make_failure("q1")]
    )
    assert (choice.who, choice.workflows) == ("rules", ("QDS", "-"))
    assert {entry.strategy for entry in choice.records} == {"rules"}


def test_every_chooser_chooses_per_data_set_and_overall(tmp_path: Path) -> None:
    all_choices = compare_choices(make_results(tmp_path), [PLANNER], F1)
    assert list(all_choices) == ["easy", "hard", TOGETHER]
    figures = {
        name: {entry.who: list_gains(entry) for entry in group}
        for name, group in all_choices.items()
    }
    assert figures["easy"] == {PLANNER: 1.0, FIXED: 0.75, ROUTER: 1.0, ORACLE: 1.0}
    assert figures["hard"] == {PLANNER: 0.25, FIXED: 0.5, ROUTER: 0.5, ORACLE: 0.5}
    assert figures[TOGETHER] == {PLANNER: 0.625, FIXED: 0.625, ROUTER: 0.75, ORACLE: 0.75}
    assert {entry.dataset for group in all_choices[TOGETHER] for entry in group.records} == {
        TOGETHER
    }
    assert all_choices["easy"][0].workflows == (SHORT,) * 2 + (LONG,) * 6


def test_without_fixed_workflows_only_planners_choose(tmp_path: Path) -> None:
    all_choices = compare_choices(
        drop_arms(make_results(tmp_path, "easy"), SHORT, LONG), [PLANNER], F1
    )
    assert {name: [entry.who for entry in group] for name, group in all_choices.items()} == {
        "easy": [PLANNER]
    }


def test_an_unknown_planner_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no arm is called 'ppo'"):
        compare_choices(make_results(tmp_path), ["ppo"], F1)
