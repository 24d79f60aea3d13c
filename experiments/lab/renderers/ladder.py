"""Where the ladder of MAF-RAG ended, and how good what ended there was."""

from collections.abc import Iterator, Sequence
from itertools import chain

from experiments.lab.quality import Qualities, accepted, quality
from experiments.lab.renderers.successes import COUNTED, counted
from experiments.lab.results import Cell, Results

from fathom.evaluation.records import Record
from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Heat

NOTHING = "nothing accepted"
"""The paper asks the web then; here no search of the web is configured."""
ENDS = ("vor", "evr", "debate", "web", NOTHING, "failed")


def utilised(
    seen: Results, *, arms: Sequence[str] = (), title: str = "", caption: str = ""
) -> Iterator[ReportBlock]:
    """The share of questions that ended in each phase (its Table VII).

    Args:
        seen: What is shown.
        arms: Only these.
        title: Of the table.
        caption: Of bars of the same (its Figures 8 to 10); none where it is empty.
    """
    chosen = seen.find_system(arms)
    ends = _there(chain.from_iterable(cell.records for cell in chosen.cells))
    rows = []
    for name in chosen.sets:
        heat = _heat(chosen.on(name), ends)
        for system, shares in zip(heat.rows, heat.cells, strict=True):
            rows.append((name, system, *(f"{share or 0.0:.1%}" for share in shares)))
        if caption:
            svg = plots.draw_shares(heat)
            yield Figure(name=f"ends-{name}", caption=f"{caption} ({name})", svg=svg)
    yield ReportTable(title=title, head=("data set", "system", *ends), rows=tuple(rows))


def by_end(
    seen: Results, *, of: str, against: str = "", arms: Sequence[str] = (), title: str = ""
) -> Iterator[ReportBlock]:
    """One line for each phase in which questions of an arm ended (its Table VIII).

    Args:
        seen: What is shown.
        of: What success is, see `quality`: more than 0 of it.
        against: The arm that retrieves alone.
        arms: Only these.
        title: Of the table.
    """
    chosen = seen.find_system(arms)
    rows = tuple(
        (cell.set, cell.arm.name, *row)
        for cell in chosen.by_set
        for row in _rows(cell, quality(seen, cell, of, against))
    )
    head = ("data set", "system", "phase", "questions", "share", of, *COUNTED)
    if rows:
        yield ReportTable(title=title, head=head, rows=rows)


def ended(record: Record) -> str:
    """The phase that accepted, in the words of `ENDS`."""
    if record.status == "failed":
        return "failed"
    return record.phase.partition(",")[0] if accepted(record) else NOTHING


def _rows(cell: Cell, values: Qualities) -> Iterator[tuple[str, ...]]:
    for end in _there(cell.records):
        records = [record for record in cell.records if ended(record) == end]
        found = [values[record.question] for record in records if record.question in values]
        if found:
            share = f"{len(records) / len(cell.records):.1%}"
            yield end, str(len(records)), share, *counted(found)


def _heat(cells: Sequence[Cell], ends: Sequence[str]) -> Heat:
    found = [[ended(record) for record in cell.records] for cell in cells]
    return Heat(
        rows=tuple(cell.arm.name for cell in cells),
        columns=tuple(ends),
        cells=tuple(tuple(each.count(end) / len(each) for end in ends) for each in found),
    )


def _there(records: Iterator[Record] | Sequence[Record]) -> list[str]:
    """The ends that occur, in the order of the ladder."""
    found = {ended(record) for record in records}
    return [end for end in ENDS if end in found]
