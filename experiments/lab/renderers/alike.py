"""Systems that cannot differ by more than their names: they answered every question alike."""

from collections.abc import Iterator, Sequence

from experiments.lab.renderers.table import value
from experiments.lab.results import Results

from fathom.evaluation.report.blocks import ReportBlock, ReportTable, Sentences


def alike(
    seen: Results, *, measures: Sequence[str], arms: Sequence[str] = (), title: str = ""
) -> Iterator[ReportBlock]:
    """One line for all arms whose answers and searches were the same on every data set.

    Args:
        seen: What is shown.
        measures: See `table.measured`; the first with its interval.
        arms: Only these.
        title: Of the table.
    """
    chosen = seen.find_system(arms)
    groups = _groups(chosen)
    rows = []
    for name in chosen.sets:
        cells = {cell.arm.name: cell for cell in chosen.on(name)}
        for group in groups:
            row = cells[group[0]].row
            told = (value(row, each, interval=at == 0) for at, each in enumerate(measures))
            rows.append((name, "; ".join(group), str(row.queries), *told))
    head = ("data set", "answered alike", "questions", *measures)
    yield ReportTable(title=title, head=head, rows=tuple(rows))
    count = sum(map(len, groups))
    yield Sentences(
        title="", lines=(f"{count} systems gave {len(groups)} different sets of answers.",)
    )


def _groups(seen: Results) -> list[list[str]]:
    """The names of those that are alike, in the order of the first of each."""
    answers: dict[str, list[object]] = {}
    for cell in seen.cells:
        answers.setdefault(cell.arm.name, []).append(
            [
                (r.question, r.status, r.compared_text, r.usage.get("retrievals"))
                for r in cell.records
            ]
        )
    found: list[list[str]] = []
    for name, told in answers.items():
        same = next((group for group in found if answers[group[0]] == told), None)
        if same is None:
            found.append([name])
        else:
            same.append(name)
    return found
