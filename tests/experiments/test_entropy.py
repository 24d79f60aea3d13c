"""Entropy is 0 for one workflow, log2 n for n equally frequent ones."""

from pathlib import Path

import pytest
from experiments.lab.oracle_router import ORACLE, TOGETHER
from experiments.lab.renderers.entropy import compute_entropy, measure_entropy
from tests.experiments.workflows import LONG, PLANNER, SHORT, make_results

from fathom.evaluation.report.blocks import Figure, ReportTable, Sentences


@pytest.mark.parametrize(
    ("chosen", "bits"), [("aaaa", 0.0), ("ab", 1.0), ("abcd", 2.0), ("aaab", 0.811278)]
)
def test_entropy_is_in_bits(chosen: str, bits: float) -> None:
    assert compute_entropy(chosen) == pytest.approx(bits, abs=1e-6)


def test_it_is_computed_within_each_data_set(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    table, sentences, figure = measure_entropy(make_results(tmp_path), planners=[PLANNER])
    assert isinstance(table, ReportTable)
    lines = {row[:2]: row[2:] for row in table.rows}
    assert set(lines) == {
        (name, who) for name in ("easy", "hard", TOGETHER) for who in (PLANNER, ORACLE)
    }
    different, bits, many, most = lines["easy", PLANNER][1:]
    assert (different, bits[:5], many, most) == ("2", "0.81 ", "1.8", "QDS (75%)")
    assert lines["easy", ORACLE][1:] == ("1", "0.00 [0.00, 0.00]", "1.0", "R,AG (100%)")
    assert isinstance(sentences, Sentences)
    of_planner, of_oracle, *matters = sentences.lines
    assert of_planner == (
        "rules: 0.81 bits over all questions, 0.81 where the data set is known; "
        "it explains 0% of the choice"
    )
    # right on `hard` only with the longer one, four times
    assert of_oracle.startswith(f"{ORACLE}: 0.81 bits over all questions, 0.50 where")
    assert matters == [
        "easy: workflows differ in F1 on 2 of 8 questions",
        "hard: workflows differ in F1 on 4 of 8 questions",
    ]
    assert isinstance(figure, Figure)
    assert all(name in figure.svg for name in (SHORT, LONG, "hard: rules"))


def test_a_constant_choice_is_called_constant(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    _, sentences, _ = measure_entropy(make_results(tmp_path), planners=[SHORT])
    assert isinstance(sentences, Sentences)
    assert sentences.lines[0] == "R,AG: always the same workflow"


def test_one_data_set_allows_no_statement_about_others(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    _, sentences, _ = measure_entropy(make_results(tmp_path, "easy"), planners=[PLANNER])
    assert isinstance(sentences, Sentences)
    assert sentences.lines == ("easy: workflows differ in F1 on 2 of 8 questions",)
