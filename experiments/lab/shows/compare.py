"""Arms tested against each other, question by question."""

from collections.abc import Iterator, Sequence

from experiments.lab.blocks import Block, Sentences
from experiments.lab.seen import Seen

from fathom.evaluation.comparison import compare


def compared(
    seen: Seen,
    *,
    pairs: Sequence[Sequence[str]],
    measures: Sequence[str],
    title: str = "Tested",
) -> Iterator[Block]:
    """A sentence for each measure, pair and data set; p is corrected over all of them.

    Args:
        seen: What is shown.
        pairs: Names of two arms each; the first is compared with the second.
        measures: What is tested.
        title: Of the sentences.
    """
    chosen = [
        (ours.records, theirs.records)
        for first, second in pairs
        for ours, theirs in seen.pairs(first, second)
    ]
    yield Sentences(title=title, lines=tuple(each.sentence for each in compare(chosen, measures)))
