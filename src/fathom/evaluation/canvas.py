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
from fathom.evaluation.svg import INK, inline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LineStyle = str | tuple[int, tuple[float, ...]]
WIDTH = 5.2
"""Inches: with letters of 10 points it reads well on a phone, and well in the text of a page."""
COLOURS = (
    "#0a84c6", "#d9662b", "#169c76", "#c2609b", "#a98400", "#7d6fd0", "#cc3d3d", "#6f7f8c",
)  # fmt: skip
"""Told apart by most colour-blind readers, and legible on white and on black."""
DARK = "#0b0c0d"
"""Legible on each of the colours."""
MARKS = "osD^vPX"
"""One fewer than colours: what has the same colour has another mark."""
DASHES: tuple[LineStyle, ...] = (
    "-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1, 1.5)), (0, (1, 2.5)),
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
        raise UsageError("plots need the eval extra: pip install 'fathom[eval]'") from None


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


def mark(place: int) -> str:
    """Likewise: who sees no colours tells marks apart."""
    return MARKS[place % len(MARKS)]


def dashes(place: int) -> LineStyle:
    """Likewise, of lines."""
    return DASHES[place % len(DASHES)]
