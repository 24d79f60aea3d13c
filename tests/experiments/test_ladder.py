"""Questions end in the phase that accepts; what none accepts and what breaks is shown."""

from pathlib import Path

import pytest
from experiments.lab.renderers.ladder import by_end, ended, utilised
from tests.evaluation.making import record
from tests.experiments.climbs import climbed, rows_of, saw

from fathom.evaluation.report.blocks import Figure, ReportTable


def test_ends() -> None:
    ends = [ended(each) for each in climbed()]
    assert ends == ["vor", "evr", "debate", "nothing accepted", "failed"]
    assert ended(record(phase="web, low confidence")) == "web"


def test_shares_of_the_phases(tmp_path: Path) -> None:
    seen = saw(tmp_path, maf=climbed(), base=[record(phase="evr"), record(phase="vor")])
    (table,) = utilised(seen, title="T")
    assert isinstance(table, ReportTable)
    assert table.head[2:] == ("vor", "evr", "debate", "nothing accepted", "failed")
    assert rows_of(table) == {
        "maf": ("20.0%", "20.0%", "20.0%", "20.0%", "20.0%"),
        "base": ("50.0%", "50.0%", "0.0%", "0.0%", "0.0%"),
    }


def test_bars_of_the_phases(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure, _ = utilised(saw(tmp_path, maf=climbed()), caption="Where questions ended")
    assert isinstance(figure, Figure)
    assert (figure.name, figure.caption) == ("ends-toy", "Where questions ended (toy)")
    assert "nothing accepted" in figure.svg


def test_quality_by_phase(tmp_path: Path) -> None:
    (table,) = by_end(saw(tmp_path, maf=climbed()), of="EM", arms=["maf"])
    assert isinstance(table, ReportTable)
    ends = {row[2]: row[3:] for row in table.rows}
    assert list(ends) == ["vor", "evr", "debate", "nothing accepted", "failed"]
    one = ("1", "20.0%")
    assert ends["vor"] == (*one, "1.000 [0.025, 1.000]", "1 (100.0%)", "1 (100.0%)", "0 (0.0%)")
    assert ends["failed"] == (*one, "0.000 [0.000, 0.975]", "0 (0.0%)", "0 (0.0%)", "1 (100.0%)")
    assert list(by_end(saw(tmp_path, maf=climbed()), of="RAMDocs-EM")) == []
