"""Tests of two arms: the package's own beside the paired t-test that papers report."""

from collections.abc import Iterator, Sequence
from math import inf, sqrt

from experiments.lab.quality import measure_quality
from experiments.lab.results import Cell, Results

from fathom.evaluation.comparison import PairedTest, contrast, correct_for_all
from fathom.evaluation.report.blocks import ReportBlock, ReportTable

HEAD = (
    "data set", "first", "second", "measure", "questions", "difference", "p", "p by Holm",
    "t-test", "effect size", "would have been seen",
)  # fmt: skip


def contrast_arms(
    results: Results,
    *,
    pairs: Sequence[Sequence[str]],
    measures: Sequence[str],
    against: str = "",
    title: str = "",
) -> Iterator[ReportBlock]:
    """Yield one line for each measure, pair and data set, with Holm's correction over all of them.

    Args:
        results: What is shown.
        pairs: Names of two arms each; the first is compared with the second.
        measures: See `quality`.
        against: The arm that retrieves alone.
        title: Of the table.
    """
    yield make_table(make_contrasts(results, pairs, measures, against), title)


def make_contrasts(
    results: Results, pairs: Sequence[Sequence[str]], measures: Sequence[str], against: str = ""
) -> list[PairedTest]:
    """Return the tests themselves; the arguments are those of `contrast_arms`."""
    tests = [
        contrast(ours.set, of, (ours.arm.name, theirs.arm.name), both)
        for first, second in pairs
        for ours, theirs in results.pair_arms(first, second)
        for of in measures
        if (both := _pair_values(results, (ours, theirs), of, against))
    ]
    return correct_for_all(tests)


def make_table(tests: Sequence[PairedTest], title: str) -> ReportTable:
    """Return one line for each test."""
    return ReportTable(title=title, head=HEAD, rows=tuple(map(_format_row, tests)))


def _pair_values(
    results: Results, cells: tuple[Cell, Cell], of: str, against: str
) -> list[tuple[float, float]]:
    ours, theirs = (measure_quality(results, cell, of, against) for cell in cells)
    return [(value, theirs[question]) for question, value in ours.items() if question in theirs]


def _format_row(test: PairedTest) -> tuple[str, ...]:
    low, high = test.interval
    return (
        test.dataset,
        test.first,
        test.second,
        test.measure,
        str(test.queries),
        f"{test.difference:+.3f} [{low:+.3f}, {high:+.3f}]",
        f"{test.p:.3g} ({test.test})",
        f"{test.p_holm:.3g}",
        f"p = {test.p_t:.3g}" if test.effect is None else _compute_student(test, test.effect),
        "" if test.effect is None else f"{test.effect:+.2f}",
        f"{test.detectable:.3f}" if 0 < test.detectable < inf else "",
    )


def _compute_student(test: PairedTest, effect: float) -> str:
    return f"t = {effect * sqrt(test.queries):.2f}, p = {test.p_t:.3g}"
