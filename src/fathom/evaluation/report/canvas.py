"""The common base of all plots: size, style, colours, marks, and the conversion to SVG.

Equal plots give equal bytes. The drawing library is imported when the first plot is drawn.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

from fathom.errors import UsageError
from fathom.evaluation.report.svg import INK, inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LineStyle = str | tuple[int, tuple[float, ...]]
WIDTH = 5.2
"""The width in inches, with which letters of 10 points are legible on a phone and in a page."""
COLOURS = (
    "#1f9bd8", "#cf5a1e", "#0f8765", "#d070ab", "#b48f00", "#7153c6", "#bd3350", "#6f7f8c",
)  # fmt: skip
"""Colours that are legible on white and on black. Colours that a colour-blind reader confuses
differ in lightness, and each has a mark, dashes or words too."""
MIDDLE_LUMINANCE = 0.179
"""The luminance (WCAG 2) whose contrast to black and to white is equal."""
MARKS = "osD^vPX"
"""The marks, one fewer than the colours, so that systems of one colour have different marks."""
DASHES: tuple[LineStyle, ...] = (
    "-", (0, (6, 1.5)), (0, (2, 1)), (0, (6, 1.5, 1, 1.5)), (0, (1, 2)), (0, (12, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
)  # fmt: skip
LEGEND_LETTERS = 60
"""The number of letters in one line of a legend."""
LINE_HEIGHT = 0.2
"""The height in inches of a line of names."""
MAX_LINE = 30
"""The number of letters in one line of a name."""
STYLE: Any = {
    # Text stays text, so that it has the page's font and can be searched.
    "svg.fonttype": "none",
    # Names come from data, so a dollar sign must not begin a formula.
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
    """A plot; `svg` is set at the end of the `with` block of `open_plot`."""

    def __init__(self, figure: "Figure") -> None:
        """Create the plot in an empty figure."""
        self.figure = figure
        self.axes = figure.add_subplot()
        self.svg = ""

    def add_legend(self) -> None:
        """Add a legend above the plot if there is more than one name."""
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

    with rc_context(STYLE), catch_warnings():
        # The page draws the text with its own fonts, whatever letters the library's font lacks.
        filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        # The figure has its own canvas, to use no global state of the drawing library.
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
    """Wrap a name into lines of `MAX_LINE` letters."""
    return fill(name, MAX_LINE)


def pick_colour(place: int) -> str:
    """Return the colour of the system at a place."""
    return COLOURS[place % len(COLOURS)]


def pick_text_colour(colour: str) -> str:
    """Return black or white, whichever is more legible on a colour (`#rrggbb`)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    ]
    # The relative luminance of WCAG 2.
    light = sum(
        share * channel for share, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )
    return "#000000" if light > MIDDLE_LUMINANCE else "#ffffff"


def pick_mark(place: int) -> str:
    """Return the mark of the system at a place, for readers who see no colours."""
    return MARKS[place % len(MARKS)]


def pick_dashes(place: int) -> LineStyle:
    """Return the dashes of the line at a place, for readers who see no colours."""
    return DASHES[place % len(DASHES)]
