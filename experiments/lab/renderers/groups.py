"""Tables by the phase in which questions ended, or by the kind of question."""

from collections.abc import Iterator, Sequence
from typing import Literal

from experiments.lab.renderers.table import format_cell
from experiments.lab.results import Results

from fathom.evaluation.report.blocks import ReportBlock, ReportTable
from fathom.evaluation.rows import score_subgroups


def tabulate_groups(
    results: Results,
    *,
    field: Literal["phase", "kind"],
    measures: Sequence[str],
    arms: Sequence[str] = (),
    title: str = "",
) -> Iterator[ReportBlock]:
    """Yield one line for each phase or kind of each arm; `share` is that of the questions.

    Args:
        results: What is shown.
        field: By what the questions are grouped.
        measures: See `table.measured`; the first with its interval.
        arms: Only these.
        title: Of the table.
    """
    chosen = results.select_arms(arms)
    lines = []
    for cell in chosen.by_set:
        for row in score_subgroups(cell.records, field):
            share = f"{row.queries / len(cell.records):.3f}"
            cells = [format_cell(row, name, interval=at == 0) for at, name in enumerate(measures)]
            group = row.system.removeprefix(f"{cell.records[0].system}: ")
            lines.append((cell.set, cell.arm.name, group, str(row.queries), share, *cells))
    head = ("data set", "system", field, "questions", "share", *measures)
    yield ReportTable(title=title, head=head, rows=tuple(lines))
