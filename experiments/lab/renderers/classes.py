"""The quality of arms on each class of questions, and the failures of one of them."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from experiments.lab.quality import measure_quality
from experiments.lab.results import Cell, Results

from fathom.agents.classifier import Classifier
from fathom.domains.domain import load_domain
from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.curves import Heat
from fathom.question.question import Question

Grouped = Mapping[str, Sequence[float]]
"""Class -> values of its questions, in the order of the domain."""


def map_classes(
    results: Results,
    *,
    of: str,
    caption: str,
    against: str = "",
    arms: Sequence[str] = (),
    domain: str = "generic",
) -> Iterator[ReportBlock]:
    """Yield a map of means for each data set: systems and classes (MAF-RAG, its Figures 5 and 11).

    Args:
        results: What is shown.
        of: See `quality`.
        caption: What it shows; the numbers of questions are added.
        against: The arm that retrieves alone.
        arms: Only these.
        domain: Whose classes; a question's class is told by its text.
    """
    chosen = results.select_arms(arms)
    for name in chosen.sets:
        cells = chosen.select_set(name)
        groups = [_group_questions(results, cell, of, against, domain) for cell in cells]
        classes = _count_largest(groups)
        if classes:
            counts = ", ".join(f"{name} {count}" for name, count in classes.items())
            heat = Heat(
                rows=tuple(cell.arm.name for cell in cells),
                columns=tuple(classes),
                cells=tuple(
                    tuple(_compute_mean(group, name) for name in classes) for group in groups
                ),
            )
            title = f"{caption} ({name}; questions: {counts})"
            svg = plots.draw_heat(heat)
            yield Figure(name=f"classes-{of}-{name}", caption=title, svg=svg)


def list_class_failures(
    results: Results,
    *,
    of: str,
    against: str = "",
    arms: Sequence[str] = (),
    domain: str = "generic",
    title: str = "",
) -> Iterator[ReportBlock]:
    """Yield the failed questions of each class (its Table VI).

    Args:
        results: What is shown.
        of: Failed is a question that has 0 of it, see `quality`.
        against: The arm that retrieves alone.
        arms: Only these.
        domain: Whose classes.
        title: Of the table.
    """
    chosen = results.select_arms(arms)
    rows = tuple(
        (cell.set, cell.arm.name, *row)
        for cell in chosen.by_set
        for row in _format_failures(_group_questions(results, cell, of, against, domain))
    )
    head = ("data set", "system", "class", "failures", "of all failures", "failure rate")
    if rows:
        yield ReportTable(title=title, head=head, rows=rows)


def _format_failures(grouped: Grouped) -> Iterator[tuple[str, ...]]:
    counts = {name: sum(value == 0.0 for value in values) for name, values in grouped.items()}
    whole = sum(counts.values())
    for name, count in counts.items():
        count_asked = len(grouped[name])
        part = f"{count / whole:.1%}" if whole else "-"
        yield name, str(count), part, f"{count / count_asked:.1%} ({count}/{count_asked})"


def _group_questions(results: Results, cell: Cell, of: str, against: str, domain: str) -> Grouped:
    classifier = Classifier(domain=load_domain(domain))
    values = measure_quality(results, cell, of, against)
    classes = {
        record.question: classifier.find_class(Question(record.text)).question_class.name
        for record in cell.records
        if record.question in values
    }
    there = {
        question_class.name: [
            values[question] for question, name in classes.items() if name == question_class.name
        ]
        for question_class in classifier.domain.classes
    }
    return {name: values for name, values in there.items() if values}


def _count_largest(groups: Sequence[Grouped]) -> dict[str, int]:
    """Return the number of questions of each class."""
    names = dict.fromkeys(name for group in groups for name in group)
    return {name: max(len(group.get(name, ())) for group in groups) for name in names}


def _compute_mean(grouped: Grouped, name: str) -> float | None:
    return fmean(grouped[name]) if name in grouped else None
