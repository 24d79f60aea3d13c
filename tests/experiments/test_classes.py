"""The class of a question follows from its text; each class has its mean and its failures."""

from pathlib import Path

import pytest
from experiments.lab.renderers.classes import list_class_failures, map_classes
from tests.evaluation.factories import make_record
from tests.experiments.climbs import make_climbs, observe

from fathom.evaluation.report.blocks import Figure, ReportTable


def test_failures_are_counted_by_class(tmp_path: Path) -> None:
    (table,) = list_class_failures(observe(tmp_path, maf=make_climbs()), of="EM", title="T")
    assert isinstance(table, ReportTable)
    assert table.rows == (
        ("toy", "maf", "Procedure", "2", "50.0%", "100.0% (2/2)"),
        ("toy", "maf", "Cost", "2", "50.0%", "66.7% (2/3)"),
    )
    (other,) = list_class_failures(
        observe(tmp_path, maf=make_climbs()), of="EM", domain="licensing-id"
    )
    assert isinstance(other, ReportTable)
    assert {row[2] for row in other.rows} == {"Procedure", "General"}


def test_without_failures_there_is_no_share_of_them(tmp_path: Path) -> None:
    (table,) = list_class_failures(observe(tmp_path, maf=[make_record()]), of="EM")
    assert isinstance(table, ReportTable)
    assert table.rows == (("toy", "maf", "Cost", "0", "-", "0.0% (0/1)"),)
    assert list(list_class_failures(observe(tmp_path, maf=[make_record()]), of="RAMDocs-EM")) == []


def test_a_map_shows_the_number_of_questions_per_class(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = observe(tmp_path, maf=make_climbs(), other=make_climbs()[:1])
    (figure,) = map_classes(results, of="EM", caption="Higher is better")
    assert isinstance(figure, Figure)
    assert figure.name == "classes-EM-toy"
    assert figure.caption == "Higher is better (toy; questions: Procedure 2, Cost 3)"
    assert all(text in figure.svg for text in ("Procedure", "0.33", "1.00"))
    assert list(map_classes(results, of="RAMDocs-EM", caption="C")) == []
