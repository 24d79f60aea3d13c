"""Hindsight is an upper bound; what is chosen on one half is paid on the other."""

from pathlib import Path

import pytest
from experiments.lab.oracle_router import (
    FIXED,
    ORACLE,
    ROUTER,
    TOGETHER,
    Choice,
    by_halves,
    choices,
    measure_named,
    open_questions,
    oracle,
    planned,
)
from tests.evaluation.making import abstained, failed, record
from tests.experiments.workflows import LONG, PLANNER, SHORT, seen, without

from fathom.errors import UsageError
from fathom.evaluation.records import Record
from fathom.evaluation.rows import score_system

F1 = measure_named("F1")


def gained(choice: Choice) -> float:
    return score_system(choice.records).measures["F1"]


def known(**right: str) -> dict[str, list[Record]]:
    """The records of workflows: 1 is a right answer, 0 is none."""
    return {
        name: [
            record(f"q{n}") if told == "1" else abstained(f"q{n}") for n, told in enumerate(all_)
        ]
        for name, all_ in right.items()
    }


def test_the_oracle_takes_what_is_right() -> None:
    made = oracle(known(a="1010", b="0011"), F1)
    assert made.workflows == ("a", "a", "a", "b")
    assert gained(made) == 0.75


def test_of_equally_good_ones_the_oracle_takes_the_cheapest_then_the_first() -> None:
    dear = [record("q0", usage={**record().usage, "retrievals": 5})]
    cheap = [record("q0")]
    assert oracle({"dear": dear, "cheap": cheap, "too": cheap}, F1).workflows == ("cheap",)


def test_what_did_best_on_one_half_answers_the_other() -> None:
    # `a` is right in all places of one half and nowhere else, `b` the other way round
    made = by_halves("fixed", {"toy": known(a="1010", b="0101")}, F1)["toy"]
    assert made.workflows == ("b", "a", "b", "a")
    assert gained(made) == 0


def test_a_workflow_for_several_data_sets_is_good_on_their_mean() -> None:
    sets = {
        "one": known(a="1111", b="0000"),
        "two": known(a="00", b="11"),
        "three": known(a="11", b="00"),
    }
    made = by_halves("fixed", sets, F1)
    assert {name for choice in made.values() for name in choice.workflows} == {"a"}
    routed = by_halves("router", {"two": sets["two"]}, F1)["two"]
    assert routed.workflows == ("b", "b")


def test_it_matters_where_values_differ() -> None:
    assert open_questions(known(a="1010", b="0110"), F1) == 2


def test_one_question_cannot_be_halved() -> None:
    with pytest.raises(UsageError, match="two questions"):
        by_halves("fixed", {"toy": known(a="1")}, F1)


def test_a_planner_is_known_by_its_first_turn() -> None:
    made = planned("rules", [record("q0", actions=("QDS", "R,AG")), failed("q1")])
    assert (made.who, made.workflows) == ("rules", ("QDS", "-"))
    assert {each.strategy for each in made.records} == {"rules"}


def test_everyone_chooses_on_each_data_set_and_on_all_together(tmp_path: Path) -> None:
    found = choices(seen(tmp_path), [PLANNER], F1)
    assert list(found) == ["easy", "hard", TOGETHER]
    figures = {name: {each.who: gained(each) for each in made} for name, made in found.items()}
    assert figures["easy"] == {PLANNER: 1.0, FIXED: 0.75, ROUTER: 1.0, ORACLE: 1.0}
    assert figures["hard"] == {PLANNER: 0.25, FIXED: 0.5, ROUTER: 0.5, ORACLE: 0.5}
    assert figures[TOGETHER] == {PLANNER: 0.625, FIXED: 0.625, ROUTER: 0.75, ORACLE: 0.75}
    assert {each.dataset for made in found[TOGETHER] for each in made.records} == {TOGETHER}
    assert found["easy"][0].workflows == (SHORT,) * 2 + (LONG,) * 6


def test_without_fixed_workflows_only_planners_choose(tmp_path: Path) -> None:
    found = choices(without(seen(tmp_path, "easy"), SHORT, LONG), [PLANNER], F1)
    assert {name: [each.who for each in made] for name, made in found.items()} == {
        "easy": [PLANNER]
    }


def test_an_unknown_planner_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no arm is called 'ppo'"):
        choices(seen(tmp_path), ["ppo"], F1)
