"""The last phase of the ladder of MAF-RAG, and the quality of the answers there."""

from collections.abc import Iterator, Sequence
from itertools import chain

from experiments.lab.quality import Qualities, is_accepted, measure_quality
from experiments.lab.renderers.successes import COUNTED, count_successes
from experiments.lab.results import Cell, Results

from fathom.evaluation.records import Record
from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Heat

NOTHING = "nothing accepted"
"""The paper asks the web then; here no search of the web is configured."""
ENDS = ("vor", "evr", "debate", "web", NOTHING, "failed")


def show_utilisation(
    results: Results, *, arms: Sequence[str] = (), title: str = "", caption: str = ""
) -> Iterator[ReportBlock]:
    """Yield the share of questions that ended in each phase (its Table VII).

    Args:
        results: What is shown.
        arms: Only these.
        title: Of the table.
        caption: Of bars of the same (its Figures 8 to 10); none where it is empty.
    """
    chosen = results.select_arms(arms)
    ends = _list_ends(chain.from_iterable(cell.records for cell in chosen.cells))
    rows = []
    for name in chosen.sets:
        heat = _make_heat(chosen.select_set(name), ends)
        for system, shares in zip(heat.rows, heat.cells, strict=True):
            rows.append((name, system, *(f"{share or 0.0:.1%}" for share in shares)))
        if caption:
            svg = plots.draw_shares(heat)
            yield Figure(name=f"ends-{name}", caption=f"{caption} ({name})", svg=svg)
    yield ReportTable(title=title, head=("data set", "system", *ends), rows=tuple(rows))


def tabulate_by_end(
    results: Results, *, of: str, against: str = "", arms: Sequence[str] = (), title: str = ""
) -> Iterator[ReportBlock]:
    """Yield one line for each phase in which questions of an arm ended (its Table VIII).

    Args:
        results: What is shown.
        of: What success is, see `quality`: more than 0 of it.
        against: The arm that retrieves alone.
        arms: Only these.
        title: Of the table.
    """
    chosen = results.select_arms(arms)
    rows = tuple(
        (cell.set, cell.arm.name, *row)
        for cell in chosen.by_set
        for row in _list_rows(cell, measure_quality(results, cell, of, against))
    )
    head = ("data set", "system", "phase", "questions", "share", of, *COUNTED)
    if rows:
        yield ReportTable(title=title, head=head, rows=rows)


def name_end(record: Record) -> str:
    """Return the phase that accepted, in the words of `ENDS`."""
    if record.status == "failed":
        return "failed"
    return record.phase.partition(",")[0] if is_accepted(record) else NOTHING


def _list_rows(cell: Cell, values: Qualities) -> Iterator[tuple[str, ...]]:
    for end in _list_ends(cell.records):
        records = [record for record in cell.records if name_end(record) == end]
        known_values = [values[record.question] for record in records if record.question in values]
        if known_values:
            share = f"{len(records) / len(cell.records):.1%}"
            yield end, str(len(records)), share, *count_successes(known_values)


def _make_heat(cells: Sequence[Cell], ends: Sequence[str]) -> Heat:
    ends_by_cell = [[name_end(record) for record in cell.records] for cell in cells]
    return Heat(
        rows=tuple(cell.arm.name for cell in cells),
        columns=tuple(ends),
        cells=tuple(
            tuple(cell_ends.count(end) / len(cell_ends) for end in ends)
            for cell_ends in ends_by_cell
        ),
    )


def _list_ends(records: Iterator[Record] | Sequence[Record]) -> list[str]:
    """Return the ends that occur, in the order of the ladder."""
    occurring = {name_end(record) for record in records}
    return [end for end in ENDS if end in occurring]
