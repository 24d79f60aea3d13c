"""How good arms are on each class of questions, and where one of them fails."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from experiments.lab.quality import quality
from experiments.lab.results import Cell, Results

from fathom.agents.classifier import Classifier
from fathom.domains.domain import load_domain
from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Heat
from fathom.question.question import Question

Grouped = Mapping[str, Sequence[float]]
"""Class -> values of its questions, in the order of the domain."""


def by_class(
    seen: Results,
    *,
    of: str,
    caption: str,
    against: str = "",
    arms: Sequence[str] = (),
    domain: str = "generic",
) -> Iterator[ReportBlock]:
    """A map of means for each data set: systems and classes (MAF-RAG, its Figures 5 and 11).

    Args:
        seen: What is shown.
        of: See `quality`.
        caption: What it shows; the numbers of questions are added.
        against: The arm that retrieves alone.
        arms: Only these.
        domain: Whose classes; a question's class is told by its text.
    """
    chosen = seen.find_system(arms)
    for name in chosen.sets:
        cells = chosen.on(name)
        found = [_grouped(seen, cell, of, against, domain) for cell in cells]
        classes = _most(found)
        if classes:
            counts = ", ".join(f"{each} {count}" for each, count in classes.items())
            heat = Heat(
                rows=tuple(cell.arm.name for cell in cells),
                columns=tuple(classes),
                cells=tuple(tuple(_mean(group, each) for each in classes) for group in found),
            )
            told = f"{caption} ({name}; questions: {counts})"
            svg = plots.draw_heat(heat)
            yield Figure(name=f"classes-{of}-{name}", caption=told, svg=svg)


def failures(
    seen: Results,
    *,
    of: str,
    against: str = "",
    arms: Sequence[str] = (),
    domain: str = "generic",
    title: str = "",
) -> Iterator[ReportBlock]:
    """The questions of each class that came to nothing (its Table VI).

    Args:
        seen: What is shown.
        of: Failed is a question that has 0 of it, see `quality`.
        against: The arm that retrieves alone.
        arms: Only these.
        domain: Whose classes.
        title: Of the table.
    """
    chosen = seen.find_system(arms)
    rows = tuple(
        (cell.set, cell.arm.name, *row)
        for cell in chosen.by_set
        for row in _failed(_grouped(seen, cell, of, against, domain))
    )
    head = ("data set", "system", "class", "failures", "of all failures", "failure rate")
    if rows:
        yield ReportTable(title=title, head=head, rows=rows)


def _failed(grouped: Grouped) -> Iterator[tuple[str, ...]]:
    counts = {name: sum(value == 0.0 for value in values) for name, values in grouped.items()}
    whole = sum(counts.values())
    for name, count in counts.items():
        asked = len(grouped[name])
        part = f"{count / whole:.1%}" if whole else "-"
        yield name, str(count), part, f"{count / asked:.1%} ({count}/{asked})"


def _grouped(seen: Results, cell: Cell, of: str, against: str, domain: str) -> Grouped:
    classifier = Classifier(domain=load_domain(domain))
    values = quality(seen, cell, of, against)
    told = {
        record.question: classifier.find_class(Question(record.text)).question_class.name
        for record in cell.records
        if record.question in values
    }
    there = {
        known.name: [values[question] for question, name in told.items() if name == known.name]
        for known in classifier.domain.classes
    }
    return {name: found for name, found in there.items() if found}


def _most(found: Sequence[Grouped]) -> dict[str, int]:
    """How many questions each class has."""
    names = dict.fromkeys(name for group in found for name in group)
    return {name: max(len(group.get(name, ())) for group in found) for name in names}


def _mean(grouped: Grouped, name: str) -> float | None:
    return fmean(grouped[name]) if name in grouped else None
