"""The plots of a report, as SVG with the text colour and the font of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.evaluation.report.canvas import (
    COLOURS,
    compute_height,
    open_plot,
    pick_colour,
    pick_dashes,
    pick_mark,
    pick_text_colour,
    wrap_name,
)
from fathom.evaluation.report.curves import Curve, Front, Heat
from fathom.evaluation.report.svg import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE_DECADES = 3
"""The number of decades of time from which on only powers of ten are labelled."""
MIN_FOR_SHAPE = 10
"""The number of values from which on a shape is drawn; fewer values are drawn as dots."""
OTHER = "other"


def draw_front(front: Front) -> str:
    """Draw quality over cost with intervals; a line joins the best systems."""
    with open_plot() as plot:
        axes = plot.axes
        for place, point in enumerate(front.points):
            low, high = point.interval
            style: dict[str, Any] = {"color": pick_colour(place), "zorder": 3, "clip_on": False}
            axes.plot([point.x] * 2, [low, high], **style, linewidth=1.4, alpha=0.6, marker="_")
            axes.plot(
                [point.x], [point.y], **style, marker=pick_mark(place), markersize=8,
                linestyle="none",
                label=point.name, fillstyle="full" if point.best else "none", markeredgewidth=1.6,
            )  # fmt: skip
        edge = sorted((point.x, point.y) for point in front.points if point.best)
        # A step line, because for a cost between two marks the cheaper system is the best.
        axes.step(*zip(*edge, strict=True), where="post", color=INK, alpha=0.5, linewidth=1)
        axes.set_xlim(0, 1.05 * max(point.x for point in front.points) or 1)
        axes.set_ylim(*_pad_limits([end for point in front.points for end in point.interval]))
        axes.set_xlabel(front.cost)
        axes.set_ylabel(front.measure)
        plot.add_legend()
    return plot.svg


def draw_lines(
    lines: Sequence[Curve], *, x: str, y: str, log: bool = False, marked: bool = False
) -> str:
    """Draw lines with their intervals as bands.

    Args:
        lines: The curves.
        x: The label of the horizontal axis.
        y: The label of the vertical axis.
        log: Whether the horizontal axis is logarithmic.
        marked: Whether each point has a mark and a tick; otherwise only the last one has a mark.
    """
    with open_plot() as plot:
        axes = plot.axes
        for place, line in enumerate(lines):
            xs, ys = zip(*line.points, strict=True)
            style: dict[str, Any] = (
                {} if marked else {"linestyle": pick_dashes(place), "markevery": [-1]}
            )
            axes.plot(
                xs, ys, color=pick_colour(place), label=line.name, linewidth=1.8,
                marker=pick_mark(place), **style,
            )  # fmt: skip
            if line.intervals:
                lows, highs = zip(*line.intervals, strict=True)
                axes.fill_between(
                    xs, lows, highs, color=pick_colour(place), alpha=0.13, linewidth=0
                )
        # The axis starts at 0, because otherwise small differences would look large.
        axes.set_ylim(0, 1.03 * axes.get_ylim()[1])
        if log:
            axes.set_xscale("log")
        if marked:
            _set_ticks(axes, sorted({at for line in lines for at, _ in line.points}))
        else:
            axes.locator_params(axis="x", integer=max(at for at, _ in lines[0].points) > 1)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        plot.add_legend()
    return plot.svg


def _set_ticks(axes: "Axes", places: Sequence[float]) -> None:
    """Set ticks at values whose labels do not overlap."""
    axes.minorticks_off()
    low, high = axes.get_xlim()
    across = axes.transAxes.inverted()
    labelled: list[float] = []
    occupied = -1.0
    for place in places:
        at, _ = across.transform(axes.transData.transform((place, 0)))
        half = 0.0085 * len(f"{place:,g}")
        if at - half > occupied:
            labelled.append(place)
            occupied = at + half
    axes.set_xticks(labelled, [f"{place:,g}" for place in labelled])
    axes.set_xlim(low, high)


def draw_violins(seconds: Mapping[str, Sequence[float]]) -> str:
    """Draw the times of questions on a logarithmic scale; lines mark the median and the quartiles.

    If a system has few questions, each is a dot.
    """
    with open_plot(compute_height(list(seconds))) as plot:
        import numpy as np

        axes = plot.axes
        for place, durations in enumerate(seconds.values()):
            # The maximum avoids the logarithm of 0.
            logs = np.log10(np.maximum(durations, 1e-4))
            # Equal times have no density.
            if len(logs) < MIN_FOR_SHAPE or np.ptp(logs) == 0:
                axes.scatter(logs, [-place] * len(logs), s=22, color=pick_colour(place), alpha=0.7)
            else:
                body = axes.violinplot(
                    [logs], [-place], orientation="horizontal", widths=0.8, showextrema=False
                )["bodies"][0]  # type: ignore[index]
                body.set(facecolor=pick_colour(place), edgecolor=pick_colour(place), alpha=0.5)
            first, middle, third = np.quantile(logs, [0.25, 0.5, 0.75])
            axes.plot([first, third], [-place] * 2, color=INK, linewidth=1.6)
            axes.plot([middle], [-place], color=INK, marker="|", markersize=13, markeredgewidth=1.6)
        _name_rows(axes, list(seconds))
        low, high = axes.get_xlim()
        times = (1, 2, 5) if high - low < WIDE_DECADES else (1,)
        candidates = [time * 10.0**power for power in range(-4, 5) for time in times]
        ticks = [tick for tick in candidates if low <= np.log10(tick) <= high]
        axes.set_xticks(np.log10(ticks), [f"{tick:g}" for tick in ticks])
        axes.set_xlabel("seconds a question")
    return plot.svg


def draw_shares(heat: Heat) -> str:
    """Draw a bar for each row, divided into the shares of the columns; rare columns are joined."""
    folded = _fold_columns(heat)
    with open_plot(compute_height(folded.rows)) as plot:
        axes = plot.axes
        ends = [0.0] * len(folded.rows)
        places = [-place for place in range(len(folded.rows))]
        for place, column in enumerate(folded.columns):
            widths = [row[place] or 0.0 for row in folded.cells]
            axes.barh(places, widths, left=ends, color=pick_colour(place), label=column, height=0.7)
            for at, end, width in zip(places, ends, widths, strict=True):
                # A name that is wider than its part of the bar is left out.
                if width > 0.03 + 0.02 * len(column):
                    ink = pick_text_colour(pick_colour(place))
                    axes.text(end + width / 2, at, column, ha="center", va="center", color=ink)
            ends = [end + width for end, width in zip(ends, widths, strict=True)]
        _name_rows(axes, folded.rows)
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of the questions")
        plot.add_legend()
    return plot.svg


def _fold_columns(heat: Heat) -> Heat:
    """Join the rarest columns, so that there are no more columns than colours."""
    if len(heat.columns) <= len(COLOURS):
        return heat
    sums = [sum(row[place] or 0.0 for row in heat.cells) for place in range(len(heat.columns))]
    order = sorted(range(len(sums)), key=lambda place: -sums[place])
    frequent, rest = sorted(order[: len(COLOURS) - 1]), order[len(COLOURS) - 1 :]
    cells = [
        (*(row[at] for at in frequent), sum(row[at] or 0.0 for at in rest)) for row in heat.cells
    ]
    columns = (*(heat.columns[place] for place in frequent), OTHER)
    return replace(heat, columns=columns, cells=tuple(cells))


def draw_heat(heat: Heat) -> str:
    """Draw a map of values from 0 to 1 with a label in each cell; the longer names become rows."""
    oriented = (
        _transpose(heat) if _measure_width(heat.columns) > _measure_width(heat.rows) else heat
    )
    with open_plot(compute_height(oriented.rows)) as plot:
        from matplotlib.patches import Rectangle

        axes = plot.axes
        axes.grid(visible=False)
        for down, row in enumerate(oriented.cells):
            for right, value in enumerate(row):
                share = min(1.0, max(0.0, value or 0.0))
                cell = Rectangle(
                    (right - 0.5, -down - 0.5), 1, 1, color=COLOURS[0], alpha=0.55 * share, lw=0
                )
                axes.add_patch(cell)
                label = "-" if value is None else f"{value:.2f}"
                axes.text(right, -down, label, ha="center", va="center")
        axes.set_xlim(-0.5, len(oriented.columns) - 0.5)
        axes.set_ylim(0.5 - len(oriented.rows), 0.5)
        slanted = _measure_width(oriented.columns) > 45
        slant: dict[str, Any] = (
            {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        )
        axes.set_xticks(range(len(oriented.columns)), map(wrap_name, oriented.columns), **slant)
        _name_rows(axes, oriented.rows)
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
    return plot.svg


def _transpose(heat: Heat) -> Heat:
    return Heat(rows=heat.columns, columns=heat.rows, cells=tuple(zip(*heat.cells, strict=True)))


def _measure_width(names: Sequence[str]) -> int:
    """Return the width in letters of names side by side."""
    return sum(max(len(name), 4) + 2 for name in names)


def _name_rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks([-place for place in range(len(names))], [wrap_name(name) for name in names])
    axes.grid(visible=False, axis="y")


def _pad_limits(ends: Sequence[float]) -> tuple[float, float]:
    """Return limits with some room around the values, even if all are equal."""
    room = max(0.05, 0.1 * (max(ends) - min(ends)))
    low = min(ends) - room
    return low if min(ends) < 0 else max(0.0, low), max(ends) + room
