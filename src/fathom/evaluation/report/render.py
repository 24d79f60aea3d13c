"""The renderers of a report: text for a terminal, Markdown, and one file of HTML."""

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
from fathom.evaluation.report.svg import prefix_ids

if TYPE_CHECKING:
    from markupsafe import Markup

LONG_TABLE = 60
"""The number of lines above which a table in Markdown is folded."""
MAX_WIDTH = 100
"""The width in letters above which a table with few rows is transposed in a terminal."""
MIN_FOR_CONTENTS = 4
"""The number of sections from which on a page has a table of contents."""
_LINE_BREAKS = re.compile(r"(?<!\s)\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
"""A `<` that begins a tag in Markdown, unlike that of "p < 0.05"."""
_ACTIVE = re.compile(
    r"""
    \\(?=[!-/:-@\[-`{-~])  # would escape the next sign
    | (?<=\])[(:\[]         # a link, an image, the definition of one
    | &(?=\#?\w+;)          # an entity
    | [`*]
    | (?<!\w)_ | _(?!\w)
    """,
    re.VERBOSE,
)
"""The signs that Markdown would read as markup."""
_WITH_INTERVAL = re.compile(r"(\S+) (\[.+\])")


def render_text(report: EvaluationReport) -> str:
    """Render a report for a terminal with aligned columns; transpose tables that are too wide."""
    return "\n\n".join(
        "\n".join(lines)
        for section in report.sections
        for lines in (
            *([[_join_lines(section.title.upper())]] if section.title else ()),
            *(_render_text_block(block) for block in section.blocks),
        )
    )


def render_markdown(report: EvaluationReport) -> str:
    """Render a report as Markdown, which only names figures."""
    return "\n\n".join(
        "\n".join(lines)
        for section in report.sections
        for lines in (
            *([[f"## {_escape(section.title)}"]] if section.title else ()),
            *(render_block(block) for block in section.blocks),
        )
    )


def render_block(block: ReportBlock) -> Iterator[str]:
    """Render a block as lines of Markdown."""
    if isinstance(block, ReportTable):
        return _render_table(block)
    if isinstance(block, Sentences):
        title = [f"**{_escape(block.title)}**", ""] if block.title else []
        return iter([*title, *(f"- {_escape(line)}" for line in block.lines)])
    if isinstance(block, ReportStatement):
        return iter([_escape(block.text)])
    return iter([f"*{_escape(_name_figure(block))}*"])


def _render_table(table: ReportTable) -> Iterator[str]:
    folded = len(table.rows) > LONG_TABLE
    if folded:
        # Inside of HTML nothing but a tag is markup.
        title = _escape_tags(table.title) or f"{len(table.rows)} lines"
        yield from (f"<details><summary>{title}</summary>", "")
    elif table.title:
        yield from (f"**{_escape(table.title)}**", "")
    yield "| " + " | ".join(map(_escape_cell, table.head)) + " |"
    yield "|" + "---|" * len(table.head)
    for row in table.rows:
        yield "| " + " | ".join(map(_escape_cell, row)) + " |"
    if folded:
        yield from ("", "</details>")


def _escape_cell(text: str) -> str:
    return _escape(text).replace("|", "\\|")


def _escape(text: str) -> str:
    """Return a text as one line of Markdown with all markup escaped."""
    return _TAG_START.sub("&lt;", _ACTIVE.sub(r"\\\g<0>", _join_lines(text)))


def _escape_tags(text: str) -> str:
    """Return a text as one line in which no sign opens a tag."""
    return _TAG_START.sub("&lt;", _join_lines(text))


def _join_lines(text: str) -> str:
    """Return a text as one line."""
    return _LINE_BREAKS.sub(" ", text)


def _render_text_block(block: ReportBlock) -> Iterator[str]:
    if isinstance(block, ReportTable):
        yield from [_join_lines(block.title)] if block.title else []
        yield from _align_columns([block.head, *block.rows])
    elif isinstance(block, Sentences):
        yield from [_join_lines(block.title)] if block.title else []
        yield from (f"- {_join_lines(line)}" for line in block.lines)
    elif isinstance(block, ReportStatement):
        yield _join_lines(block.text)
    else:
        yield f"[{_join_lines(_name_figure(block))}]"


def _align_columns(table: Sequence[Sequence[str]]) -> Iterator[str]:
    rows = [tuple(map(_join_lines, row)) for row in table]
    # A wide table with few rows becomes narrow when it is transposed.
    if _compute_width(rows) > MAX_WIDTH and len(rows[0]) > len(rows):
        rows = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for place, row in enumerate(rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
        if place == 0:
            yield "  ".join("-" * width for width in widths)


def _compute_width(rows: Sequence[Sequence[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in zip(*rows, strict=True))


def _name_figure(figure: Figure) -> str:
    return figure.title or figure.caption


def check_html() -> None:
    """Check that a page with plots can be made.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise UsageError("a page needs the eval extra: pip install 'fathom-qa[eval]'") from None
    check_drawing()


def render_html(report: EvaluationReport) -> str:
    """Render a report as one HTML file, which loads nothing and has no script.

    Equal reports give equal bytes.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    check_html()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fathom.evaluation.report", "."),
        # Names and errors come from data and must not become markup.
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = [block for block in report.blocks if isinstance(block, Figure)]
    # Equal figures need different ids, so the key is the identity of the object.
    numbers = {id(figure): number for number, figure in enumerate(figures, start=1)}
    titled = [section for section in report.sections if section.title]
    return environment.get_template("page.html.jinja").render(
        report=report,
        titled=titled,
        contents=titled if len(titled) >= MIN_FOR_CONTENTS else (),
        kind=lambda block: type(block).__name__,
        split_interval=_split_interval,
        group_blocks=_group_blocks,
        draw_figure=lambda figure: _label_figure(figure, f"p{numbers[id(figure)]}"),
    )


def _split_interval(cell: str) -> tuple[str, str]:
    """Split a cell into a number and its interval, which a page shows below the number."""
    match = _WITH_INTERVAL.fullmatch(cell)
    return (match[1], match[2]) if match else (cell, "")


def _group_blocks(blocks: Sequence[ReportBlock]) -> list[tuple[bool, list[ReportBlock]]]:
    """Group successive blocks into figures and other blocks; the flag is true for figures."""
    return [
        (are_figures, list(group))
        for are_figures, group in groupby(blocks, lambda block: isinstance(block, Figure))
    ]


def _label_figure(figure: Figure, name: str) -> "Markup":
    """Return the plot with unique ids, and with a label for readers who cannot see it."""
    from markupsafe import Markup, escape

    label = escape(f"{figure.title}. {figure.caption}")
    svg = prefix_ids(figure.svg, name)
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))  # noqa: S704
