"""All data sets as one."""

from pathlib import Path

from experiments.lab.pooled import pooled
from experiments.lab.results import Cell, Results
from experiments.lab.show import shown
from tests.evaluation.making import ranked
from tests.experiments.climbs import rows_of, saw_arms
from tests.experiments.toy import TOML, experiment

QUESTIONS = ("q1", "q2")


def two_sets(folder: Path) -> Results:
    """Arms `both` and `one`, which was asked on the data set `toy` only; ids come twice."""
    seen = saw_arms(
        folder,
        [(arm, [ranked(q) for q in QUESTIONS]) for arm in experiment(folder).arms[:2]],
    )
    first, second = seen.cells
    worse = tuple(ranked(q, dataset="other", evidence=("d7",)) for q in QUESTIONS)
    other = Cell(set="other", arm=first.arm, records=worse, commits=("abc",))
    return Results(experiment=seen.experiment, cells=(first, second, other))


def test_records_stand_together_and_questions_apart(tmp_path: Path) -> None:
    (cell,) = pooled(two_sets(tmp_path)).cells
    assert (cell.set, cell.arm.name, cell.commits) == ("all", "naive", ("abc",))
    assert {record.dataset for record in cell.records} == {"all"}
    questions = [record.question for record in cell.records]
    assert questions == ["toy/q1", "toy/q2", "other/q1", "other/q2"]


def test_any_kind_of_showing_may_take_all_sets_as_one(tmp_path: Path) -> None:
    head, _, _ = TOML.partition("[[show]]")
    wanted = '[[show]]\nkind = "table"\npooled = true\nmeasures = ["Hit@10"]\nintervals = 0\n'
    made = experiment(tmp_path, head + wanted)
    (table,) = shown(Results(experiment=made, cells=two_sets(tmp_path).cells))
    assert rows_of(table) == {"naive": ("4", "0.500")}
