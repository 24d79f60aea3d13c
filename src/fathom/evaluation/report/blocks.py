"""The blocks of a report: sentences, tables and figures under headings; renderers give it a form.

Texts of others, such as names and errors, stand in it unchanged; renderers make sure that they are
never taken for markup.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows of text under a head.

    Attributes:
        rows: The first cell of each is its name. `0.5 [0.4, 0.6]` is a number with its interval.
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
    """A list of findings in plain sentences."""

    title: str = ""
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot.

    Attributes:
        name: The name of its file, without ending; unique in its report.
        title: A title of a few words; a figure with a caption may omit it.
        caption: A sentence on what the plot shows, and which direction is better.
        svg: A part of a page; `svg.make_standalone` makes it a file of its own.
    """

    name: str
    title: str = ""
    caption: str
    svg: str


ReportBlock = ReportTable | ReportStatement | Sentences | Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """Blocks under a heading; a section without one stands at the beginning."""

    title: str = ""
    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """A whole report.

    Attributes:
        title: The title of the window or the file.
        foot: The version and the setups that made it.
    """

    title: str
    sections: tuple[ReportSection, ...]
    foot: str = ""

    @property
    def blocks(self) -> tuple[ReportBlock, ...]:
        """The blocks of all sections."""
        return tuple(block for section in self.sections for block in section.blocks)
