"""A planner beside the best possible choice of its workflows."""

from pathlib import Path

from experiments.lab.oracle_router import FIXED, ORACLE, ROUTER, TOGETHER
from experiments.lab.renderers.oracle import compare_with_oracle
from tests.experiments.workflows import PLANNER, drop_arms, make_results

from fathom.evaluation.report.blocks import ReportTable, Sentences


def test_every_way_to_choose_has_a_line(tmp_path: Path) -> None:
    table, sentences, tests = compare_with_oracle(
        make_results(tmp_path), planners=[PLANNER], measures=["F1", "retrievals"]
    )
    assert isinstance(table, ReportTable)
    lines = {row[:2]: row[2:] for row in table.rows}
    assert len(lines) == len(table.rows) == 12
    assert [at for at, _ in lines] == ["easy"] * 4 + ["hard"] * 4 + [TOGETHER] * 4
    assert lines["easy", PLANNER] == (
        "8",
        "1.000 [0.631, 1.000]",
        "2.5",
        "2.5",
        "QDS (6); R,AG (2)",
    )
    assert lines["easy", ROUTER][2:] == ("1.0", "1.0", "R,AG (8)")
    assert lines["hard", FIXED][3:] == ("3.0", "QDS (8)")
    assert lines[TOGETHER, ORACLE][0] == "16"
    assert isinstance(sentences, Sentences)
    assert sentences.lines == ("None of 9 tests tells two systems apart.",)
    assert isinstance(tests, ReportTable)
    first, _, third, *_ = tests.rows
    assert first[:6] == ("easy", PLANNER, FIXED, "F1", "8", first[5])
    assert first[5].startswith("+0.250 [")
    assert third[:3] == ("easy", ORACLE, ROUTER)


def test_planners_without_fixed_workflows_are_only_shown(tmp_path: Path) -> None:
    alone = drop_arms(make_results(tmp_path, "hard"), "R,AG", "QDS")
    table, sentences = compare_with_oracle(alone, planners=[PLANNER], measures=["F1"])
    assert isinstance(table, ReportTable)
    assert isinstance(sentences, Sentences)
    assert ([row[1] for row in table.rows], sentences.lines) == ([PLANNER], ())
