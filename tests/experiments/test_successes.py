"""Successes are values above 0, failures are 0; nothing is left out."""

from pathlib import Path

import pytest
from experiments.lab.renderers.successes import (
    count_successes,
    draw_success_bars,
    tabulate_successes,
)
from tests.experiments.climbs import ALONE, list_rows, make_climbs, make_rankings, observe

from fathom.evaluation.report.blocks import Figure, ReportTable


def test_each_arm_has_a_line(tmp_path: Path) -> None:
    results = observe(tmp_path, maf=make_climbs(), alone=make_rankings())
    (table,) = tabulate_successes(
        results,
        of="self_retrieval_f1",
        against=ALONE,
        arms=["maf"],
        also=["self_retrieval_recall"],
        title="T",
    )
    assert isinstance(table, ReportTable)
    assert table.head[3:8] == (
        "self_retrieval_f1", "= 1.0", "success (> 0)", "failed (= 0)", "self_retrieval_recall",
    )  # fmt: skip
    (row,) = list_rows(table).values()
    assert row[1].startswith("0.300 [")
    assert row[2:] == ("1 (20.0%)", "2 (40.0%)", "3 (60.0%)", "0.300", "0.46")


def test_a_measure_without_values_shows_nothing(tmp_path: Path) -> None:
    results = observe(tmp_path, maf=make_climbs())
    assert list(tabulate_successes(results, of="RAMDocs-EM")) == []
    assert list(draw_success_bars(results, of="RAMDocs-EM", caption="C")) == []


def test_bars_show_success_and_failure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = observe(tmp_path, maf=make_climbs(), other=make_climbs()[:1])
    (figure,) = draw_success_bars(results, of="EM", caption="Higher is better")
    assert isinstance(figure, Figure)
    assert (figure.name, figure.caption) == ("success-EM-toy", "Higher is better (toy)")
    assert "failed" in figure.svg
    assert "other" in figure.svg


def test_successes_are_counted() -> None:
    assert count_successes([1.0, 1.0]) == (
        "1.000 [0.158, 1.000]", "2 (100.0%)", "2 (100.0%)", "0 (0.0%)",
    )  # fmt: skip
