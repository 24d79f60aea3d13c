"""Questions end in the phase that accepts them; unaccepted and failed ones are shown."""

from pathlib import Path

import pytest
from experiments.lab.renderers.ladder import name_end, show_utilisation, tabulate_by_end
from tests.evaluation.factories import make_record
from tests.experiments.climbs import list_rows, make_climbs, observe

from fathom.evaluation.report.blocks import Figure, ReportTable


def test_the_last_phase_is_found() -> None:
    ends = [name_end(climb) for climb in make_climbs()]
    assert ends == ["vor", "evr", "debate", "nothing accepted", "failed"]
    assert name_end(make_record(phase="web, low confidence")) == "web"


def test_shares_of_the_phases_are_shown(tmp_path: Path) -> None:
    results = observe(
        tmp_path, maf=make_climbs(), base=[make_record(phase="evr"), make_record(phase="vor")]
    )
    (table,) = show_utilisation(results, title="T")
    assert isinstance(table, ReportTable)
    assert table.head[2:] == ("vor", "evr", "debate", "nothing accepted", "failed")
    assert list_rows(table) == {
        "maf": ("20.0%", "20.0%", "20.0%", "20.0%", "20.0%"),
        "base": ("50.0%", "50.0%", "0.0%", "0.0%", "0.0%"),
    }


def test_bars_of_the_phases_are_shown(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure, _ = show_utilisation(
        observe(tmp_path, maf=make_climbs()), caption="Where questions ended"
    )
    assert isinstance(figure, Figure)
    assert (figure.name, figure.caption) == ("ends-toy", "Where questions ended (toy)")
    assert "nothing accepted" in figure.svg


def test_quality_is_shown_by_phase(tmp_path: Path) -> None:
    (table,) = tabulate_by_end(observe(tmp_path, maf=make_climbs()), of="EM", arms=["maf"])
    assert isinstance(table, ReportTable)
    ends = {row[2]: row[3:] for row in table.rows}
    assert list(ends) == ["vor", "evr", "debate", "nothing accepted", "failed"]
    count = ("1", "20.0%")
    assert ends["vor"] == (*count, "1.000 [0.025, 1.000]", "1 (100.0%)", "1 (100.0%)", "0 (0.0%)")
    assert ends["failed"] == (*count, "0.000 [0.000, 0.975]", "0 (0.0%)", "0 (0.0%)", "1 (100.0%)")
    assert list(tabulate_by_end(observe(tmp_path, maf=make_climbs()), of="RAMDocs-EM")) == []
