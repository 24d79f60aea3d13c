"""Differences are stated in sentences; many tests are shown in a table."""

from pathlib import Path

from experiments.lab.renderers.compare import compare_arms
from tests.experiments.test_show import make_results

from fathom.evaluation.report.blocks import ReportTable, Sentences

MANY = ("F1", "EM", "right", "answered", "abstained", "failed", "R@5")


def test_few_tests_are_all_sentences(tmp_path: Path) -> None:
    shows = '[[show]]\nkind = "table"\nmeasures = ["F1"]'
    (section,) = compare_arms(
        make_results(tmp_path, shows), pairs=[("good", "bad")], measures=["F1", "R@5"]
    )
    assert isinstance(section, Sentences)
    assert len(section.lines) == 2


def test_only_the_differences_among_many_tests_are_sentences(tmp_path: Path) -> None:
    shows = '[[show]]\nkind = "table"\nmeasures = ["F1"]'
    many = make_results(tmp_path, shows, count=12)
    section, table = compare_arms(many, pairs=[("good", "bad")], measures=MANY)
    assert isinstance(section, Sentences)
    assert isinstance(table, ReportTable)
    assert section.lines[0].startswith("good is better than bad in F1 on toy: +1.000")
    assert section.lines[-1] == "2 of 7 tests tell nothing apart."
    assert len(table.rows) == 7
    same, _ = compare_arms(many, pairs=[("good", "good")], measures=MANY)
    assert isinstance(same, Sentences)
    assert same.lines == ("None of 7 tests tells two systems apart.",)
