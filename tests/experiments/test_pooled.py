"""Results with all data sets taken as one."""

from pathlib import Path

from experiments.lab.pooled import pool_results
from experiments.lab.results import Cell, Results
from experiments.lab.show import render_blocks
from tests.evaluation.factories import make_ranking
from tests.experiments.climbs import list_rows, observe_arms
from tests.experiments.toy import TOML, experiment

QUESTIONS = ("q1", "q2")


def make_two_sets(folder: Path) -> Results:
    """Return arms `both` and `one`, which was asked on the data set `toy` only; ids come twice."""
    results = observe_arms(
        folder,
        [(arm, [make_ranking(q) for q in QUESTIONS]) for arm in experiment(folder).arms[:2]],
    )
    first, second = results.cells
    worse = tuple(make_ranking(q, dataset="other", evidence=("d7",)) for q in QUESTIONS)
    other = Cell(set="other", arm=first.arm, records=worse, commits=("abc",))
    return Results(experiment=results.experiment, cells=(first, second, other))


def test_records_are_pooled_and_questions_stay_distinct(tmp_path: Path) -> None:
    (cell,) = pool_results(make_two_sets(tmp_path)).cells
    assert (cell.set, cell.arm.name, cell.commits) == ("all", "naive", ("abc",))
    assert {record.dataset for record in cell.records} == {"all"}
    questions = [record.question for record in cell.records]
    assert questions == ["toy/q1", "toy/q2", "other/q1", "other/q2"]


def test_every_kind_of_block_may_pool_the_sets(tmp_path: Path) -> None:
    head, _, _ = TOML.partition("[[show]]")
    shows = '[[show]]\nkind = "table"\npooled = true\nmeasures = ["Hit@10"]\nintervals = 0\n'
    toy = experiment(tmp_path, head + shows)
    (table,) = render_blocks(Results(experiment=toy, cells=make_two_sets(tmp_path).cells))
    assert list_rows(table) == {"naive": ("4", "0.500")}
