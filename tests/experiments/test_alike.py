"""Arms that gave the same answers share a line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.lab.renderers.alike import group_alike
from experiments.lab.results import Results
from tests.experiments.workflows import LONG, PLANNER, SHORT, make_results

from fathom.evaluation.report.blocks import ReportTable, Sentences


def add_twin(whole: Results, name: str, twin: str, **fields: Any) -> Results:
    """Return the results with a twin of an arm, whose records differ in some fields."""
    twins = [
        replace(
            cell,
            arm=cell.arm.model_copy(update={"name": twin}),
            records=tuple(replace(record, strategy=twin, **fields) for record in cell.records),
        )
        for cell in whole.cells
        if cell.arm.name == name
    ]
    return replace(whole, cells=(*whole.cells, *twins))


def test_twins_share_a_line_on_each_data_set(tmp_path: Path) -> None:
    table, sentence = group_alike(
        add_twin(make_results(tmp_path), SHORT, "R,QR,AG"), measures=["F1", "retrievals"]
    )
    assert isinstance(table, ReportTable)
    assert [row[:2] for row in table.rows] == [
        (name, who) for name in ("easy", "hard") for who in (PLANNER, f"{SHORT}; R,QR,AG", LONG)
    ]
    assert table.rows[1][2:] == ("8", "1.000 [0.631, 1.000]", "1.0")
    assert isinstance(sentence, Sentences)
    assert sentence.lines == ("4 systems gave 3 different sets of answers.",)


def test_another_answer_or_another_search_separates_twins(tmp_path: Path) -> None:
    whole = make_results(tmp_path)
    others: list[dict[str, Any]] = [
        {"short_answer": "50 crowns"},
        {"status": "failed"},
        {"usage": {**whole.cells[1].records[0].usage, "retrievals": 9}},
    ]
    for fields in others:
        table, _ = group_alike(
            add_twin(whole, SHORT, "twin", **fields), measures=["F1"], arms=[SHORT, "twin"]
        )
        assert isinstance(table, ReportTable)
        assert len(table.rows) == 4
