"""The common base of all plots: size, style, colours and marks, and their conversion to text.

Equal drawings give equal bytes. The drawing library is imported when something is drawn.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

from fathom.errors import UsageError
from fathom.evaluation.report.svg import INK, inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LineStyle = str | tuple[int, tuple[float, ...]]
WIDTH = 5.2
"""The width in inches: letters of 10 points stay legible on a phone and in the text of a page."""
COLOURS = (
    "#1f9bd8", "#cf5a1e", "#0f8765", "#d070ab", "#b48f00", "#7153c6", "#bd3350", "#6f7f8c",
)  # fmt: skip
"""Colours that are legible on white and on black. Those that a colour-blind reader confuses differ
in lightness, and marks, dashes or words always stand beside them."""
MIDDLE_LUMINANCE = 0.179
"""The luminance (WCAG 2) at which a colour is as far from black as from white."""
MARKS = "osD^vPX"
"""The marks; one fewer than colours, so that things of the same colour have different marks."""
DASHES: tuple[LineStyle, ...] = (
    "-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1, 1.5)), (0, (1, 2)), (0, (12, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
)  # fmt: skip
LEGEND_LETTERS = 60
"""The letters of a legend that fit side by side."""
LINE_HEIGHT = 0.2
"""The height in inches of a line of names."""
MAX_LINE = 30
"""The letters of a name before it continues on the next line."""
STYLE: Any = {
    # Words stay text, so that they take the page's font and can be searched.
    "svg.fonttype": "none",
    # Names come from data: a dollar sign is no formula.
    "text.parse_math": False,
    # Without a fixed salt ids are random, and equal plots would differ.
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
    """Check that the drawing library is installed.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("plots need the eval extra: pip install 'fathom-qa[eval]'") from None


class Plot:
    """A plot; `svg` is filled when its `with` block ends."""

    def __init__(self, figure: "Figure") -> None:
        """Start on an empty figure."""
        self.figure = figure
        self.axes = figure.add_subplot()
        self.svg = ""

    def add_legend(self) -> None:
        """Add a legend above the plot, where there is more than one thing to name."""
        handles, names = self.axes.get_legend_handles_labels()
        if len(names) > 1:
            labels = [wrap_name(label) for label in names]
            longest = max(len(line) for label in labels for line in label.splitlines())
            rows = ceil(len(names) / max(1, LEGEND_LETTERS // (7 + longest)))
            lines = rows * max(1 + label.count("\n") for label in labels)
            self.figure.set_figheight(self.figure.get_figheight() + LINE_HEIGHT * lines)
            columns = ceil(len(names) / rows)
            self.figure.legend(handles, labels, loc="outside upper left", ncols=columns)


@contextmanager
def open_plot(height: float = 2.8) -> Iterator[Plot]:
    """Open a plot to draw into.

    Args:
        height: The height in inches, without the legend above it.

    Raises:
        UsageError: If the `eval` extra is not installed.
    """
    check_drawing()
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        # A canvas of its own, so that no global state of the drawing library is used.
        FigureCanvasSVG(figure)
        plot = Plot(figure)
        yield plot
        buffer = StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    plot.svg = inline_svg(buffer.getvalue())


def compute_height(names: Sequence[str]) -> float:
    """Return the height in inches of a plot with a row for each name."""
    return 0.9 + sum(0.28 + 0.16 * (1 + wrap_name(name).count("\n")) for name in names)


def wrap_name(name: str) -> str:
    """Return a name in lines that leave room for the plot."""
    return fill(name, MAX_LINE)


def pick_colour(place: int) -> str:
    """Return the colour of the thing at this place."""
    return COLOURS[place % len(COLOURS)]


def pick_text_colour(colour: str) -> str:
    """Return the more legible colour of words on this colour (`#rrggbb`): black or white."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    ]
    # The relative luminance of WCAG 2: linear light, weighted by the eye's sensitivity.
    light = sum(
        share * channel for share, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )
    return "#000000" if light > MIDDLE_LUMINANCE else "#ffffff"


def pick_mark(place: int) -> str:
    """Return the mark of the thing at this place, for readers who see no colours."""
    return MARKS[place % len(MARKS)]


def pick_dashes(place: int) -> LineStyle:
    """Return the dashes of the line at this place, for readers who see no colours."""
    return DASHES[place % len(DASHES)]
