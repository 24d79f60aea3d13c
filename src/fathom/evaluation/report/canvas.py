"""What all plots have in common: size, style, colours and marks, and how they become text.

Equal drawings give equal bytes. The drawing library is imported when something is drawn.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

from fathom.errors import UsageError
from fathom.evaluation.report.svg import INK, inline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LineStyle = str | tuple[int, tuple[float, ...]]
WIDTH = 5.2
"""Inches: with letters of 10 points it reads well on a phone, and well in the text of a page."""
COLOURS = (
    "#1f9bd8", "#cf5a1e", "#0f8765", "#d070ab", "#b48f00", "#7153c6", "#bd3350", "#6f7f8c",
)  # fmt: skip
"""Legible on white and on black; those that a colour-blind reader takes for one another differ in
lightness, and are never alone: marks, dashes or words stand beside them."""
MIDDLE = 0.179
"""Of this luminance (WCAG 2) a colour is as far from black as from white."""
MARKS = "osD^vPX"
"""One fewer than colours: what has the same colour has another mark."""
DASHES: tuple[LineStyle, ...] = (
    "-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1, 1.5)), (0, (1, 2)), (0, (12, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
)  # fmt: skip
ACROSS = 60
"""Letters that stand side by side."""
LINE = 0.2
"""Inches of a line of names."""
LONGEST = 30
"""Letters of a name before it goes on in the next line."""
STYLE: Any = {
    "svg.fonttype": "none",
    # Names come from data: a dollar sign is no formula.
    "text.parse_math": False,
    "svg.hashsalt": "fathom",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def check_drawing() -> None:
    """See to it that something can be drawn.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("plots need the eval extra: pip install 'fathom-qa[eval]'") from None


class Drawing:
    """One plot; `svg` is filled when its `with` block ends."""

    def __init__(self, figure: "Figure") -> None:
        """On an empty figure."""
        self.figure = figure
        self.axes = figure.add_subplot()
        self.svg = ""

    def legend(self) -> None:
        """Name what was drawn, above the plot, where there is more than one thing."""
        handles, names = self.axes.get_legend_handles_labels()
        if len(names) > 1:
            told = [wrapped(name) for name in names]
            longest = max(len(line) for name in told for line in name.splitlines())
            rows = ceil(len(names) / max(1, ACROSS // (7 + longest)))
            lines = rows * max(1 + name.count("\n") for name in told)
            self.figure.set_figheight(self.figure.get_figheight() + LINE * lines)
            columns = ceil(len(names) / rows)
            self.figure.legend(handles, told, loc="outside upper left", ncols=columns)


@contextmanager
def drawing(height: float = 2.8) -> Iterator[Drawing]:
    """A plot to draw into.

    Args:
        height: In inches, without the names above it.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    check_drawing()
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        made = Drawing(figure)
        yield made
        written = StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    made.svg = inline(written.getvalue())


def rows_high(names: Sequence[str]) -> float:
    """Inches for a plot with a row for each name."""
    return 0.9 + sum(0.28 + 0.16 * (1 + wrapped(name).count("\n")) for name in names)


def wrapped(name: str) -> str:
    """A name in lines that leave room for the plot."""
    return fill(name, LONGEST)


def colour(place: int) -> str:
    """That of the thing at this place."""
    return COLOURS[place % len(COLOURS)]


def text_on(colour: str) -> str:
    """The colour of words on this one: black or white, whichever is the more legible.

    Args:
        colour: As `#rrggbb`.
    """
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    light = sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if light > MIDDLE else "#ffffff"


def mark(place: int) -> str:
    """Likewise: who sees no colours tells marks apart."""
    return MARKS[place % len(MARKS)]


def dashes(place: int) -> LineStyle:
    """Likewise, of lines."""
    return DASHES[place % len(DASHES)]
