"""Plots as SVG that takes its ink from the page around it, so that dark and light both read well.

Equal data give equal bytes. The drawing library is imported when something is drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any

from fathom.errors import UsageError
from fathom.evaluation.curves import Front, Heat, Line
from fathom.evaluation.svg import INK, inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    "#0a84c6", "#d9662b", "#169c76", "#c2609b", "#a98400", "#7d6fd0", "#cc3d3d", "#6f7f8c",
)  # fmt: skip
"""Told apart by most colour-blind readers, and legible on white and on black."""
MARKS = "osD^vPX*"
TICKS = [times * 10.0**power for power in range(-4, 5) for times in (1, 2, 5)]
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


class _Drawing:
    """One plot; `svg` is filled when its `with` block ends."""

    def __init__(self, axes: "Axes") -> None:
        self.axes = axes
        self.svg = ""


@contextmanager
def _drawing(height: float = 3.4) -> Iterator[_Drawing]:
    check_drawing()
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(7.2, height), layout="constrained")
        FigureCanvasSVG(figure)
        drawing = _Drawing(figure.add_subplot())
        yield drawing
        written = StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    drawing.svg = inline(written.getvalue())


def draw_front(found: Front) -> str:
    """Quality against cost, with intervals; the front joined by a line."""
    with _drawing() as drawing:
        axes = drawing.axes
        for place, point in enumerate(found.points):
            low, high = point.interval
            bars = [[max(0.0, point.y - low)], [max(0.0, high - point.y)]]
            axes.errorbar(
                [point.x], [point.y], yerr=bars, color=_colour(place), marker=_mark(place),
                markersize=8, capsize=3, linestyle="none", label=point.name,
                fillstyle="full" if point.best else "none",
            )  # fmt: skip
        edge = sorted((point.x, point.y) for point in found.points if point.best)
        axes.step(*zip(*edge, strict=True), where="post", color=INK, alpha=0.5, linewidth=1)
        axes.set_xlim(left=0)
        axes.set_ylim(*_around([end for point in found.points for end in point.interval]))
        axes.set_xlabel(found.cost)
        axes.set_ylabel(found.measure)
        _legend(axes)
    return drawing.svg


def draw_lines(
    lines: Sequence[Line], *, x: str, y: str, log: bool = False, marked: bool = False
) -> str:
    """Lines with their intervals as bands.

    Args:
        lines: One colour each.
        x: What is on the horizontal axis.
        y: What is on the vertical axis.
        log: Whether the horizontal axis is logarithmic.
        marked: Whether each point has a mark.
    """
    with _drawing() as drawing:
        axes = drawing.axes
        for place, line in enumerate(lines):
            xs, ys = zip(*line.points, strict=True)
            mark = _mark(place) if marked else ""
            axes.plot(xs, ys, color=_colour(place), label=line.name, marker=mark, linewidth=1.8)
            if line.intervals:
                lows, highs = zip(*line.intervals, strict=True)
                axes.fill_between(xs, lows, highs, color=_colour(place), alpha=0.15, linewidth=0)
        if log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            axes.xaxis.set_minor_formatter(lambda *_: "")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        _legend(axes)
    return drawing.svg


def draw_violins(seconds: Mapping[str, Sequence[float]]) -> str:
    """How long questions took, on a logarithmic scale; the line is the median."""
    with _drawing(_height(len(seconds))) as drawing:
        import numpy as np

        axes = drawing.axes
        logs = [np.log10(np.maximum(each, 1e-4)) for each in seconds.values()]
        places = list(range(len(logs), 0, -1))
        made = axes.violinplot(
            logs, places, orientation="horizontal", widths=0.8, showextrema=False
        )
        for place, body in enumerate(made["bodies"]):  # type: ignore[arg-type, var-annotated]
            body.set(facecolor=_colour(place), edgecolor=_colour(place), alpha=0.5)
        middles = [float(np.median(each)) for each in logs]
        axes.scatter(middles, places, marker="|", s=200, color=INK)
        axes.set_yticks(places, list(seconds))
        low, high = axes.get_xlim()
        ticks = [tick for tick in TICKS if low <= np.log10(tick) <= high]
        axes.set_xticks(np.log10(ticks), [f"{tick:g}" for tick in ticks])
        axes.set_xlabel("seconds a question")
    return drawing.svg


def draw_shares(heat: Heat) -> str:
    """A bar for each row, cut into the shares of its columns."""
    with _drawing(_height(len(heat.rows))) as drawing:
        axes = drawing.axes
        ends = [0.0] * len(heat.rows)
        places = list(range(len(heat.rows), 0, -1))
        for place, column in enumerate(heat.columns):
            widths = [row[place] or 0.0 for row in heat.cells]
            axes.barh(places, widths, left=ends, color=_colour(place), label=column, height=0.7)
            ends = [end + width for end, width in zip(ends, widths, strict=True)]
        axes.set_yticks(places, heat.rows)
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of the questions")
        _legend(axes)
    return drawing.svg


def draw_heat(heat: Heat) -> str:
    """A map of values between 0 and 1, each written into its cell."""
    with _drawing(_height(len(heat.rows))) as drawing:
        from matplotlib.patches import Rectangle

        axes = drawing.axes
        axes.grid(visible=False)
        for down, row in enumerate(heat.cells):
            for right, value in enumerate(row):
                share = min(1.0, max(0.0, value or 0.0))
                cell = Rectangle((right, down), 1, 1, color=COLOURS[0], alpha=0.75 * share, lw=0)
                axes.add_patch(cell)
                told = "" if value is None else f"{value:.2f}"
                axes.text(right + 0.5, down + 0.5, told, ha="center", va="center")
        axes.set_xlim(0, len(heat.columns))
        axes.set_ylim(len(heat.rows), 0)
        slant: dict[str, Any] = {"rotation": 30, "ha": "right"} if _wide(heat) else {}
        axes.set_xticks([at + 0.5 for at in range(len(heat.columns))], heat.columns, **slant)
        axes.set_yticks([place + 0.5 for place in range(len(heat.rows))], heat.rows)
        axes.tick_params(length=0)
    return drawing.svg


def _around(ends: Sequence[float]) -> tuple[float, float]:
    """Limits with some room, also where all values are the same."""
    room = max(0.05, 0.1 * (max(ends) - min(ends)))
    return min(ends) - room, max(ends) + room


def _wide(heat: Heat) -> bool:
    return max(map(len, heat.columns)) * len(heat.columns) > 70


def _height(rows: int) -> float:
    return 1.2 + 0.45 * rows


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _mark(place: int) -> str:
    return MARKS[place % len(MARKS)]


def _legend(axes: "Axes") -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0)
