"""The text of what came of an experiment: its figures are filled in from the published rows.

`{F1 of naive on squad-fresh}` stands for a mean, `{F1 of A minus naive on squad-fresh}` for a
difference of two means, `{tokens of A over naive on squad-fresh}` for their ratio. `, %` at the end
gives whole percent. A variant of a corpus follows its data set after a slash (`on toy/cut-10`);
`on all` is the mean over the questions of all data sets. A column of a table on the page is named
likewise.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from experiments.lab.clean import Published
from experiments.lab.renderers.table import TIMES

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import ReportBlock, ReportTable

ALL = "all"
_BRACED = re.compile(r"\{[^{}]*\}")
_FIGURE = re.compile(
    r"\{(?P<measure>.+?) of (?P<arm>.+?)(?: (?P<operator>minus|over) (?P<other>.+?))?"
    r" on (?P<place>[^\s,]+)(?P<percent>, %)?\}"
)
_PERCENT = re.compile(r"([\d.]+)%")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFigure:
    """A figure that a text names.

    Attributes:
        measure: A measure, a mean of usage or a time, named as in tables.
        operator: `minus` or `over` another arm; empty if one arm is named.
        place: The data set, with the variant of its corpus after a slash, or `all`.
        percent: Whether it is shown in whole percent.
    """

    measure: str
    arm: str
    operator: str
    other: str
    place: str
    percent: bool

    @classmethod
    def parse(cls, braced: str) -> "NamedFigure":
        """Parse a name in braces.

        Raises:
            UsageError: If it is malformed.
        """
        match = _FIGURE.fullmatch(" ".join(braced.split()))
        if not match:
            raise UsageError(f"{braced} names no figure; write {{MEASURE of ARM on SET}}")
        return cls(
            measure=match["measure"],
            arm=match["arm"],
            operator=match["operator"] or "",
            other=match["other"] or "",
            place=match["place"],
            percent=bool(match["percent"]),
        )


def fill_figures(published: Published) -> str:
    """Return the outcome of an experiment with the published figures in place of their names.

    Raises:
        UsageError: If a name is malformed, or no row has such a figure.
    """
    return _BRACED.sub(lambda match: _fill(match[0], published), published.experiment.outcome)


def find_unknown_figures(published: Published) -> Iterator[str]:
    """Yield a fault for each figure of the outcome that cannot be filled in."""
    for braced in dict.fromkeys(_BRACED.findall(published.experiment.outcome)):
        try:
            _fill(braced, published)
        except UsageError as error:
            yield f"{published.experiment.id}: {error}"


def _fill(braced: str, published: Published) -> str:
    figure = NamedFigure.parse(braced)
    value = _find_value(published, figure, figure.arm)
    if not figure.operator:
        return f"{value * 100:.0f} %" if figure.percent else _format_value(value, figure.measure)
    other = _find_value(published, figure, figure.other)
    if figure.operator == "over":
        return f"{value / other:.2f}"
    return f"{(value - other) * 100:+.0f} points" if figure.percent else f"{value - other:+.3f}"


def _find_value(published: Published, figure: NamedFigure, arm: str) -> float:
    """Return the value of an arm.

    Raises:
        UsageError: If no row has it.
    """
    average = _average_all(published, figure.measure, arm) if figure.place == ALL else None
    if average is not None:
        return average
    name, _, corpus = figure.place.partition("/")
    for row in published.summary.rows:
        if (row["set"], row["system"]) == (name, arm) and corpus in {"", row["corpus"]}:
            value = _read_value(row, figure.measure)
            if value is not None:
                return value
    for block in published.summary.blocks:
        value = None if corpus else _read_cell(_find_cell(block, name, arm, figure.measure))
        if value is not None:
            return value
    raise UsageError(f"no row has the {figure.measure} of {arm} on {figure.place}; mend the name")


def _average_all(published: Published, measure: str, arm: str) -> float | None:
    """Return the mean over the questions of all data sets; `None` where they do not have it."""
    rows = [row for row in published.summary.rows if row["system"] == arm]
    # The scores of a question leave out what it did not spend, so usage is that of the rows.
    if rows and all(measure in row["usage"] for row in rows):
        weights = [row["queries"] for row in rows]
        return fmean((row["usage"][measure] for row in rows), weights=weights)
    values = [
        score[measure]
        for question in published.questions
        for score in question.scores
        if score["system"] == arm and score.get(measure) is not None
    ]
    return fmean(values) if values else None


def _read_value(row: Mapping[str, Any], measure: str) -> float | None:
    """Return a measure, a mean of usage or a time of a row, as tables show it."""
    if measure in TIMES:
        return float(row["latency_s"][TIMES[measure]]) * 1000
    value = row["measures"].get(measure, row["usage"].get(measure))
    return None if value is None else float(value)


def _find_cell(block: ReportBlock, name: str, arm: str, column: str) -> str:
    """Return the cell of a table whose lines begin with the data set and the arm; else nothing."""
    if isinstance(block, ReportTable) and block.head[0] == "data set":
        for line in block.rows:
            if line[:2] == (name, arm) and column in block.head:
                return line[block.head.index(column)]
    return ""


def _read_cell(cell: str) -> float | None:
    """Return the share of a cell such as `58.0%` or `29 (58.0%)`, or else its first number."""
    if share := _PERCENT.search(cell):
        return float(share[1]) / 100
    number = _NUMBER.search(cell)
    return float(number[0]) if number else None


def _format_value(value: float, measure: str) -> str:
    """Format times whole, counts with one digit after the point, and shares with three."""
    if measure in TIMES:
        return f"{value:.0f}"
    return f"{value:.1f}" if value > 1 else f"{value:.3f}"
