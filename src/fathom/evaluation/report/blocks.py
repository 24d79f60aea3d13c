"""What a report is made of: sentences, tables and figures under headings; renderers give it a form.

What others wrote, such as names and errors, stands in it as it is; renderers see to it that it is
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
    """Something said at the place where it belongs.

    Attributes:
        tone: Whether it is what was hoped for, where anything was.
    """

    text: str
    tone: Literal["", "good", "bad"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """A list of findings in plain words."""

    title: str = ""
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot.

    Attributes:
        name: Of its file, without ending; unique in its report.
        title: In a few words; a caption may do without.
        caption: What it shows, and which direction is better.
        svg: A part of a page; see `svg.standalone` for a file of its own.
    """

    name: str
    title: str = ""
    caption: str
    svg: str


ReportBlock = ReportTable | ReportStatement | Sentences | Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """Blocks under a heading; without a heading they stand at the beginning."""

    title: str = ""
    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """A whole report.

    Attributes:
        title: Of the window or the file.
        foot: What it was made by.
    """

    title: str
    sections: tuple[ReportSection, ...]
    foot: str = ""

    @property
    def blocks(self) -> tuple[ReportBlock, ...]:
        """Of all sections."""
        return tuple(block for section in self.sections for block in section.blocks)
