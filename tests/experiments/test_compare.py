"""What can be told apart is told in sentences; where there are many, all stand in a table."""

from pathlib import Path

from experiments.lab.renderers.compare import compared
from tests.experiments.test_show import seen

from fathom.evaluation.report.blocks import ReportTable, Sentences

MANY = ("F1", "EM", "right", "answered", "abstained", "failed", "R@5")


def test_few_tests_are_all_sentences(tmp_path: Path) -> None:
    wanted = '[[show]]\nkind = "table"\nmeasures = ["F1"]'
    (told,) = compared(seen(tmp_path, wanted), pairs=[("good", "bad")], measures=["F1", "R@5"])
    assert isinstance(told, Sentences)
    assert len(told.lines) == 2


def test_of_many_only_what_differs_is_a_sentence(tmp_path: Path) -> None:
    wanted = '[[show]]\nkind = "table"\nmeasures = ["F1"]'
    many = seen(tmp_path, wanted, count=12)
    told, table = compared(many, pairs=[("good", "bad")], measures=MANY)
    assert isinstance(told, Sentences)
    assert isinstance(table, ReportTable)
    assert told.lines[0].startswith("good is better than bad in F1 on toy: +1.000")
    assert told.lines[-1] == "2 of 7 tests tell nothing apart."
    assert len(table.rows) == 7
    same, _ = compared(many, pairs=[("good", "good")], measures=MANY)
    assert isinstance(same, Sentences)
    assert same.lines == ("None of 7 tests tells two systems apart.",)
