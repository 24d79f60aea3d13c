"""Arms tested against each other, question by question."""

from collections.abc import Iterator, Sequence

from experiments.lab.renderers.contrasts import make_contrasts, make_table
from experiments.lab.results import Results

from fathom.evaluation.comparison import PairedTest
from fathom.evaluation.report.blocks import ReportBlock, Sentences
from fathom.evaluation.statistics import SIGNIFICANT

FEW = 6
"""So many tests are all told in sentences."""


def compare_arms(
    results: Results,
    *,
    pairs: Sequence[Sequence[str]],
    measures: Sequence[str],
    title: str = "Tested",
) -> Iterator[ReportBlock]:
    """Yield sentences for differences, and a table of all tests if there are many.

    Args:
        results: What is shown.
        pairs: Names of two arms each; the first is compared with the second.
        measures: What is tested; p is corrected over all of them, pairs and data sets.
        title: Of the sentences.
    """
    yield from describe_tests(make_contrasts(results, pairs, measures), title)


def describe_tests(tests: Sequence[PairedTest], title: str) -> Iterator[ReportBlock]:
    """Yield the same blocks for finished tests."""
    if len(tests) <= FEW:
        yield Sentences(title=title, lines=tuple(test.sentence for test in tests))
        return
    apart = [test for test in tests if test.p_holm < SIGNIFICANT]
    lines = [*(test.sentence for test in apart), _describe_rest(tests, len(apart))]
    yield Sentences(title=title, lines=tuple(lines))
    yield make_table(tests, f"All {len(tests)} tests")


def _describe_rest(tests: Sequence[PairedTest], apart: int) -> str:
    if not apart:
        return f"None of {len(tests)} tests tells two systems apart."
    return f"{len(tests) - apart} of {len(tests)} tests tell nothing apart."
