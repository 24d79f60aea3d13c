"""The blocks of a report: sentences, tables and figures under headings.

The blocks contain names and errors unchanged; renderers escape them, so that they are never read as
markup.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows of text under a head.

    Attributes:
        title: The title; may be empty.
        head: The names of the columns.
        rows: The rows. The first cell of each is its name; `0.5 [0.4, 0.6]` is a number with its
            interval.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStatement:
    """A single statement between other blocks.

    Attributes:
        tone: `good` or `bad` for a verdict, else empty.
    """

    text: str
    tone: Literal["", "good", "bad"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """A list of sentences."""

    title: str = ""
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot.

    Attributes:
        name: The name of the file without ending; unique in its report.
        title: The title, a few words; may be empty.
        caption: A sentence that explains the plot, and says which direction is better.
        svg: The plot as a part of a page; `svg.make_standalone` makes a separate file.
    """

    name: str
    title: str = ""
    caption: str
    svg: str


ReportBlock = ReportTable | ReportStatement | Sentences | Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """Blocks under a heading; the first section may have no heading."""

    title: str = ""
    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """A whole report.

    Attributes:
        title: The title of the page.
        sections: The sections.
        foot: The version and the setups of the runs.
    """

    title: str
    sections: tuple[ReportSection, ...]
    foot: str = ""

    @property
    def blocks(self) -> tuple[ReportBlock, ...]:
        """The blocks of all sections."""
        return tuple(block for section in self.sections for block in section.blocks)
