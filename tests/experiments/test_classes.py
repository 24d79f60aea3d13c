"""A question's class is told by its text; each class has its mean and its failures."""

from pathlib import Path

import pytest
from experiments.lab.renderers.classes import by_class, failures
from tests.evaluation.making import record
from tests.experiments.climbs import climbed, saw

from fathom.evaluation.report.blocks import Figure, ReportTable


def test_failures_of_each_class(tmp_path: Path) -> None:
    (table,) = failures(saw(tmp_path, maf=climbed()), of="EM", title="T")
    assert isinstance(table, ReportTable)
    assert table.rows == (
        ("toy", "maf", "Procedure", "2", "50.0%", "100.0% (2/2)"),
        ("toy", "maf", "Cost", "2", "50.0%", "66.7% (2/3)"),
    )
    (other,) = failures(saw(tmp_path, maf=climbed()), of="EM", domain="licensing-id")
    assert isinstance(other, ReportTable)
    assert {row[2] for row in other.rows} == {"Procedure", "General"}


def test_where_nothing_fails_there_is_no_share_of_it(tmp_path: Path) -> None:
    (table,) = failures(saw(tmp_path, maf=[record()]), of="EM")
    assert isinstance(table, ReportTable)
    assert table.rows == (("toy", "maf", "Cost", "0", "-", "0.0% (0/1)"),)
    assert list(failures(saw(tmp_path, maf=[record()]), of="RAMDocs-EM")) == []


def test_a_map_tells_how_many_questions_each_class_has(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    seen = saw(tmp_path, maf=climbed(), other=climbed()[:1])
    (figure,) = by_class(seen, of="EM", caption="Higher is better")
    assert isinstance(figure, Figure)
    assert figure.name == "classes-EM-toy"
    assert figure.caption == "Higher is better (toy; questions: Procedure 2, Cost 3)"
    assert all(text in figure.svg for text in ("Procedure", "0.33", "1.00"))
    assert list(by_class(seen, of="RAMDocs-EM", caption="C")) == []
