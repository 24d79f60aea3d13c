"""The table of measures with those that judges give, as far as they need no language model."""

from collections.abc import Iterator, Sequence

from experiments.lab.blocks import Block, Table
from experiments.lab.local_grades import graded
from experiments.lab.seen import Seen
from experiments.lab.shows.table import value


def judged(
    seen: Seen,
    *,
    measures: Sequence[str],
    arms: Sequence[str] = (),
    intervals: int = 1,
    title: str = "",
) -> Iterator[Block]:
    """One line for each arm on each data set (RRF paper, Tables I and II).

    Args:
        seen: What is shown.
        measures: As in `table.measured`; also `similarity` and `words`, see `local_grades`.
        arms: Only these.
        intervals: The first so many measures are shown with their 95 % intervals.
        title: Of the table.
    """
    chosen = seen.named(arms)
    lines = []
    for cell in (cell for name in chosen.sets for cell in chosen.on(name)):
        row = graded(cell)
        told = [value(row, name, interval=at < intervals) for at, name in enumerate(measures)]
        lines.append((cell.set, cell.arm.name, str(len(cell.records)), *told))
    head = ("data set", "system", "questions", *measures)
    yield Table(title=title, head=head, rows=tuple(lines))
