"""Tables, tests and plots are made from records only."""

from pathlib import Path

import pytest
from experiments.lab.plan import Arm
from experiments.lab.results import Cell, Results
from experiments.lab.show import render_blocks
from tests.evaluation.factories import make_abstention, make_failure, make_record
from tests.experiments.toy import TOML, experiment

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import Figure, ReportTable, Sentences

ARMS = {name: Arm(name=name, strategy="naive") for name in ("good", "bad")}


def make_results(folder: Path, shows: str, count: int = 8) -> Results:
    head, _, rest = TOML.partition("[[show]]")
    toy = experiment(folder, head + shows + rest[rest.index("\n[printed]") :])
    questions = [f"q{n}" for n in range(count)]
    good = [make_record(q, strategy="good", phase="read", kind="how") for q in questions]
    bad = [make_abstention(q, strategy="bad", phase="gate", kind="how") for q in questions[:-1]]
    bad.append(make_failure(questions[-1], strategy="bad", kind="why"))
    cells = (
        Cell(set="toy", arm=ARMS["good"], records=tuple(good)),
        Cell(set="toy", arm=ARMS["bad"], records=tuple(bad)),
    )
    return Results(experiment=toy, cells=cells)


def test_a_table_has_a_line_for_each_arm(tmp_path: Path) -> None:
    shows = '[[show]]\nkind = "table"\nmeasures = ["F1", "failed", "retrievals", "p50 ms", "none"]'
    table, _ = render_blocks(make_results(tmp_path, shows))
    assert isinstance(table, ReportTable)
    assert table.head == (
        "data set", "system", "questions", "F1", "failed", "retrievals", "p50 ms", "none",
    )  # fmt: skip
    assert table.rows == (
        ("toy", "good", "8", "1.000 [0.631, 1.000]", "0.000", "1.0", "500", ""),
        ("toy", "bad", "8", "0.000 [0.000, 0.369]", "0.125", "1.0", "500", ""),
    )


def test_arms_can_be_selected(tmp_path: Path) -> None:
    shows = '[[show]]\nkind = "table"\nmeasures = ["F1"]\narms = ["bad"]'
    table, _ = render_blocks(make_results(tmp_path, shows))
    assert isinstance(table, ReportTable)
    assert [row[1] for row in table.rows] == ["bad"]
    with pytest.raises(UsageError, match="no arm is called 'ugly'"):
        render_blocks(make_results(tmp_path, shows.replace("bad", "ugly")))


def test_groups_show_their_share(tmp_path: Path) -> None:
    shows = '[[show]]\nkind = "by"\nfield = "phase"\nmeasures = ["answered"]\narms = ["bad"]'
    table, _ = render_blocks(make_results(tmp_path, shows))
    assert isinstance(table, ReportTable)
    assert [row[2:5] for row in table.rows] == [("gate", "7", "0.875"), ("failed", "1", "0.125")]


def test_a_comparison_names_the_differences(tmp_path: Path) -> None:
    shows = '[[show]]\nkind = "compare"\npairs = [["good", "bad"]]\nmeasures = ["F1"]'
    section, _ = render_blocks(make_results(tmp_path, shows))
    assert isinstance(section, Sentences)
    assert section.lines[0].startswith("good is better than bad in F1 on toy: +1.000")


def test_plots_are_separate_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = "".join(
        f'[[show]]\nkind = "figure"\nof = "{of}"\ncaption = "What it is"\n'
        for of in ("front", "risk", "recall", "seconds", "phases", "kinds")
    )
    blocks = render_blocks(make_results(tmp_path, text))
    figures = [block for block in blocks if isinstance(block, Figure)]
    assert len(figures) == len(blocks) - 1  # and what broke
    assert {"front-toy", "seconds-toy", "phases-toy", "kinds-toy"} <= {f.name for f in figures}
    for figure in figures:
        assert figure.svg.lstrip().startswith(("<?xml", "<svg"))
        assert figure.caption == "What it is"


@pytest.mark.parametrize(
    ("shows", "message"),
    [
        ('[[show]]\nkind = "tabel"', "no kind 'tabel'; there are table"),
        ('[[show]]\nkind = "table"', "measures"),
        ('[[show]]\nkind = "table"\nmeasures = []\nmore = 1', "more"),
    ],
)
def test_an_invalid_block_is_refused(tmp_path: Path, shows: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        render_blocks(make_results(tmp_path, shows))
