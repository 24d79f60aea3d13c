"""What a page of results is made of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under a head."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """Findings in plain words."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot.

    Attributes:
        name: Of its file, without ending; unique in the experiment.
        caption: What it shows, and which direction is better.
        svg: Standalone.
    """

    name: str
    caption: str
    svg: str


Block = Table | Sentences | Figure
