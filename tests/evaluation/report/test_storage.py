"""Reports beside an index: stored whole, listed newest first, and only reports can be opened."""

import json
from pathlib import Path

from fathom.evaluation.report.blocks import (
    EvaluationReport,
    Figure,
    ReportBlock,
    ReportSection,
    ReportStatement,
    ReportTable,
)
from fathom.evaluation.report.storage import (
    FOLDER,
    list_reports,
    load_report,
    report_to_json,
    save_report,
)

SVG = '<svg viewBox="0 0 4 2"><g id="a"/></svg>'
TABLE = ReportTable(title="Answers", head=("", "naive"), rows=(("F1", "0.5 [0.4, 0.6]"),))


def make_report(title: str, *blocks: ReportBlock) -> EvaluationReport:
    return EvaluationReport(
        title=title, sections=(ReportSection(title="S", blocks=blocks),), foot="F"
    )


def test_a_report_is_plain_json_with_its_plots_on_paper() -> None:
    figure = Figure(name="time", title="Time", caption="Less is better.", svg=SVG)
    stored = report_to_json(
        make_report("T", TABLE, ReportStatement(text="good", tone="good"), figure)
    )
    table, statement, drawn = stored["sections"][0]["blocks"]
    assert table["kind"] == "ReportTable"
    assert [list(row) for row in table["rows"]] == [["F1", "0.5 [0.4, 0.6]"]]
    assert (statement["text"], statement["tone"]) == ("good", "good")
    assert "<rect" in drawn["svg"]
    assert json.loads(json.dumps(stored))["foot"] == "F"


def test_the_newest_report_is_listed_first(tmp_path: Path) -> None:
    assert list_reports(tmp_path) == []
    names = [save_report(make_report(title, TABLE), tmp_path).stem for title in ("one", "two")]
    assert [(listed.name, listed.title) for listed in list_reports(tmp_path)] == [
        (names[1], "two"),
        (names[0], "one"),
    ]
    opened = load_report(tmp_path, names[0])
    assert opened is not None
    assert opened["sections"][0]["title"] == "S"
    assert [path.suffix for path in (tmp_path / FOLDER).iterdir()] == [".json", ".json"]


def test_only_reports_can_be_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    kept_as = save_report(make_report("one"), tmp_path)
    broken = kept_as.with_stem("20260101T000000.000000Z")
    broken.write_text("{")
    for name in ("../secret", "secret", "", "..", "20260101T000000.000001Z", broken.stem):
        assert load_report(tmp_path, name) is None
    assert [listed.name for listed in list_reports(tmp_path)] == [kept_as.stem]
