"""The forms of a report: text for a terminal, Markdown, and one file of HTML."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import (
    EvaluationReport,
    Figure,
    ReportBlock,
    ReportStatement,
    ReportTable,
    Sentences,
)
from fathom.evaluation.report.canvas import check_drawing
from fathom.evaluation.report.svg import told_apart

if TYPE_CHECKING:
    from markupsafe import Markup

LONG = 60
"""Tables with more lines are folded in Markdown."""
WIDE = 100
"""Letters of a line; a wider table with few rows is turned in a terminal."""
FEWEST_SECTIONS = 4
"""With so many sections a page has a table of contents."""
_WITH_INTERVAL = re.compile(r"(\S+) (\[.+\])")


def as_text(report: EvaluationReport) -> str:
    """For a terminal: columns side by side; a table that is too wide has its rows as columns."""
    return "\n\n".join(
        "\n".join(lines)
        for section in report.sections
        for lines in (
            *([[section.title.upper()]] if section.title else ()),
            *(_text(block) for block in section.blocks),
        )
    )


def as_markdown(report: EvaluationReport) -> str:
    """As Markdown; figures are only named, as their files lie elsewhere."""
    return "\n\n".join(
        "\n".join(lines)
        for section in report.sections
        for lines in (
            *([[f"## {section.title}"]] if section.title else ()),
            *(markdown(block) for block in section.blocks),
        )
    )


def markdown(block: ReportBlock) -> Iterator[str]:
    """The lines of a block."""
    if isinstance(block, ReportTable):
        return _markdown_table(block)
    if isinstance(block, Sentences):
        title = [f"**{block.title}**", ""] if block.title else []
        return iter([*title, *(f"- {line}" for line in block.lines)])
    return iter([block.text if isinstance(block, ReportStatement) else f"*{_named(block)}*"])


def _markdown_table(table: ReportTable) -> Iterator[str]:
    folded = len(table.rows) > LONG
    if folded:
        title = table.title or f"{len(table.rows)} lines"
        yield from (f"<details><summary>{title}</summary>", "")
    elif table.title:
        yield from (f"**{table.title}**", "")
    yield "| " + " | ".join(table.head) + " |"
    yield "|" + "---|" * len(table.head)
    for row in table.rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    if folded:
        yield from ("", "</details>")


def _text(block: ReportBlock) -> Iterator[str]:
    if isinstance(block, ReportTable):
        yield from [block.title] if block.title else []
        yield from _columns([block.head, *block.rows])
    elif isinstance(block, Sentences):
        yield from [block.title] if block.title else []
        yield from (f"- {line}" for line in block.lines)
    else:
        yield block.text if isinstance(block, ReportStatement) else f"[{_named(block)}]"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if _width(rows) > WIDE and len(rows[0]) > len(rows):
        rows = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for place, row in enumerate(rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
        if place == 0:
            yield "  ".join("-" * width for width in widths)


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in zip(*rows, strict=True))


def _named(figure: Figure) -> str:
    return figure.title or figure.caption


def check_html() -> None:
    """See to it that a page with plots can be made.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise UsageError("a page needs the eval extra: pip install 'fathom-qa[eval]'") from None
    check_drawing()


def as_html(report: EvaluationReport) -> str:
    """One file without script, font or other server; the same report gives the same bytes.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    check_html()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fathom.evaluation.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = [block for block in report.blocks if isinstance(block, Figure)]
    numbers = {id(figure): number for number, figure in enumerate(figures, start=1)}
    titled = [section for section in report.sections if section.title]
    return environment.get_template("page.html.jinja").render(
        report=report,
        titled=titled,
        contents=titled if len(titled) >= FEWEST_SECTIONS else (),
        kind=lambda block: type(block).__name__,
        with_interval=_with_interval,
        together=_together,
        drawn=lambda figure: _labelled(figure, f"p{numbers[id(figure)]}"),
    )


def _with_interval(cell: str) -> tuple[str, str]:
    """A number and its interval, which a page shows below it."""
    found = _WITH_INTERVAL.fullmatch(cell)
    return (found[1], found[2]) if found else (cell, "")


def _together(blocks: Sequence[ReportBlock]) -> list[tuple[bool, list[ReportBlock]]]:
    """Blocks that follow each other, figures apart from all else."""
    return [
        (are_figures, list(group))
        for are_figures, group in groupby(blocks, lambda block: isinstance(block, Figure))
    ]


def _labelled(figure: Figure, name: str) -> "Markup":
    """The plot, with ids that no other of the page has, and with words for who cannot see it."""
    from markupsafe import Markup, escape

    label = escape(f"{figure.title}. {figure.caption}")
    svg = told_apart(figure.svg, name)
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))  # noqa: S704
