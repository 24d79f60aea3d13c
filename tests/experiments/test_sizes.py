"""Quality and time over the size of the corpus."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from experiments.lab.plan import Arm
from experiments.lab.renderers.sizes import show_sizes
from experiments.lab.results import Results
from tests.evaluation.factories import make_ranking
from tests.experiments.climbs import observe_arms

from fathom.evaluation.records import Record
from fathom.evaluation.report.blocks import Figure, ReportTable

pytest.importorskip("matplotlib")


def make_rankings(documents: int, hits: Sequence[bool], seconds: float) -> list[Record]:
    """Return rankings of q0, q1, ..., which found the relevant document or not."""
    return [
        make_ranking(
            f"q{n}",
            documents=documents,
            evidence=("d1",) if hit else ("d2",),
            seconds=seconds,
        )
        for n, hit in enumerate(hits)
    ]


def make_results(folder: Path) -> Results:
    """Return two arms at two sizes; at one of them one more question was asked."""
    keyword, vector = (
        [Arm(name=name, retriever=name, corpus=f"cut-{n}") for n in (10, 100)]
        for name in ("keyword", "vector")
    )
    return observe_arms(
        folder,
        [
            (keyword[1], make_rankings(100, (True, False, True), 0.02)),
            (keyword[0], make_rankings(10, (True, True), 0.01)),
            (vector[0], make_rankings(10, (True, False), 0.01)),
            (vector[1], make_rankings(100, (False, False), 0.04)),
        ],
    )


def test_each_arm_and_size_has_a_line_over_the_same_questions(tmp_path: Path) -> None:
    table, *figures = show_sizes(
        make_results(tmp_path), measures=["Hit@10", "p50 ms"], caption="Flat is good"
    )
    assert isinstance(table, ReportTable)
    assert table.head == ("documents", "system", "questions", "Hit@10", "p50 ms")
    lines = [(*row[:3], row[3].split()[0], row[4]) for row in table.rows]
    assert lines == [
        ("10", "keyword", "2", "1.000", "10"),
        ("100", "keyword", "2", "0.500", "20"),
        ("10", "vector", "2", "0.500", "10"),
        ("100", "vector", "2", "0.000", "40"),
    ]
    names = []
    for figure in figures:
        assert isinstance(figure, Figure)
        assert all(name in figure.svg for name in ("keyword", "vector", "documents"))
        names.append((figure.name, figure.caption))
    assert names == [
        ("sizes-Hit@10-toy", "Hit@10: Flat is good"),
        ("sizes-p50-ms-toy", "p50 ms: Flat is good"),
    ]


def test_an_inapplicable_measure_is_not_drawn(tmp_path: Path) -> None:
    blocks = list(show_sizes(make_results(tmp_path), measures=["EM"], caption="C", arms=["vector"]))
    (table,) = blocks
    assert isinstance(table, ReportTable)
    assert [row[1:] for row in table.rows] == [("vector", "2", ""), ("vector", "2", "")]
