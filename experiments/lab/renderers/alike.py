"""Systems that differ in name only: they answered every question alike."""

from collections.abc import Iterator, Sequence

from experiments.lab.renderers.table import format_cell
from experiments.lab.results import Results

from fathom.evaluation.report.blocks import ReportBlock, ReportTable, Sentences


def group_alike(
    results: Results, *, measures: Sequence[str], arms: Sequence[str] = (), title: str = ""
) -> Iterator[ReportBlock]:
    """Yield one line for all arms whose answers and searches were the same on every data set.

    Args:
        results: What is shown.
        measures: See `table.measured`; the first with its interval.
        arms: Only these.
        title: Of the table.
    """
    chosen = results.select_arms(arms)
    groups = _group_arms(chosen)
    rows = []
    for name in chosen.sets:
        cells = {cell.arm.name: cell for cell in chosen.select_set(name)}
        for group in groups:
            row = cells[group[0]].row
            texts = (format_cell(row, name, interval=at == 0) for at, name in enumerate(measures))
            rows.append((name, "; ".join(group), str(row.queries), *texts))
    head = ("data set", "answered alike", "questions", *measures)
    yield ReportTable(title=title, head=head, rows=tuple(rows))
    count = sum(map(len, groups))
    yield Sentences(
        title="", lines=(f"{count} systems gave {len(groups)} different sets of answers.",)
    )


def _group_arms(results: Results) -> list[list[str]]:
    """Return the groups of equal arms, in the order of the first of each."""
    answers: dict[str, list[object]] = {}
    for cell in results.cells:
        answers.setdefault(cell.arm.name, []).append(
            [
                (r.question, r.status, r.compared_text, r.usage.get("retrievals"))
                for r in cell.records
            ]
        )
    groups: list[list[str]] = []
    for name, answer in answers.items():
        same = next((group for group in groups if answers[group[0]] == answer), None)
        if same is None:
            groups.append([name])
        else:
            same.append(name)
    return groups
