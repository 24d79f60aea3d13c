"""The scores of every question give the means of the summary, and contain no text."""

from pathlib import Path
from statistics import fmean

from experiments.lab.scores import load_scores, save_scores, score_experiment
from tests.experiments.toy import bench, experiment

from fathom.evaluation.measures import SCORES


def test_the_means_of_the_scores_are_the_rows(tmp_path: Path) -> None:
    at = bench(tmp_path)
    results = at.collect_results(experiment(tmp_path))
    questions = tuple(score_experiment(results, {"toy": at.read_prints("toy")}))
    names = [record.question for record in results.cells[0].records]
    assert [(question.set, question.question) for question in questions] == [
        ("toy", name) for name in names
    ]
    assert {question.systems for question in questions} == {frozenset({"naive", "rrf"})}
    for place, cell in enumerate(results.cells):
        values = [question.scores[place] for question in questions]
        assert {score["system"] for score in values} == {cell.arm.name}
        means = {name: value for name, value in cell.row.measures.items() if name in SCORES}
        assert means.keys() == values[0].keys() & SCORES.keys()
        for name, value in means.items():
            assert abs(fmean(score[name] for score in values) - value) < 1e-6, name
    assert questions[0].scores[0]["retrievals"] == 1
    assert 0 <= questions[0].scores[0]["confidence"] <= 1


def test_scores_are_read_as_they_were_saved(tmp_path: Path) -> None:
    at = bench(tmp_path)
    questions = tuple(
        score_experiment(at.collect_results(experiment(tmp_path)), {"toy": at.read_prints("toy")})
    )
    first = save_scores(tmp_path / "a", "toy/table", questions).read_bytes()
    assert load_scores(tmp_path / "a", "toy/table") == questions
    assert save_scores(tmp_path / "b", "toy/table", questions).read_bytes() == first
    assert load_scores(tmp_path / "b", "toy/other") == ()
