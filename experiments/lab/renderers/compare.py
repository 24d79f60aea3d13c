"""Arms tested against each other, question by question."""

from collections.abc import Iterator, Sequence

from experiments.lab.renderers.contrasts import contrasts, table_of
from experiments.lab.results import Results

from fathom.evaluation.comparison import SIGNIFICANT, PairedTest
from fathom.evaluation.report.blocks import ReportBlock, Sentences

FEW = 6
"""So many tests are all told in sentences."""


def compared(
    seen: Results,
    *,
    pairs: Sequence[Sequence[str]],
    measures: Sequence[str],
    title: str = "Tested",
) -> Iterator[ReportBlock]:
    """Sentences for what can be told apart, and a table of all tests where there are many.

    Args:
        seen: What is shown.
        pairs: Names of two arms each; the first is compared with the second.
        measures: What is tested; p is corrected over all of them, pairs and data sets.
        title: Of the sentences.
    """
    yield from told(contrasts(seen, pairs, measures), title)


def told(made: Sequence[PairedTest], title: str) -> Iterator[ReportBlock]:
    """The same of tests that were made already."""
    if len(made) <= FEW:
        yield Sentences(title=title, lines=tuple(each.sentence for each in made))
        return
    apart = [each for each in made if each.p_holm < SIGNIFICANT]
    lines = [*(each.sentence for each in apart), _rest(made, len(apart))]
    yield Sentences(title=title, lines=tuple(lines))
    yield table_of(made, f"All {len(made)} tests")


def _rest(made: Sequence[PairedTest], apart: int) -> str:
    if not apart:
        return f"None of {len(made)} tests tells two systems apart."
    return f"{len(made) - apart} of {len(made)} tests tell nothing apart."
