"""The distribution of a measure over the questions."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from experiments.lab.results import Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock
from fathom.evaluation.report.curves import Heat
from fathom.evaluation.rows import score_questions


def show_spread(
    results: Results,
    *,
    of: str,
    caption: str,
    edges: Sequence[float] = (0.2, 0.4, 0.6, 0.8),
    arms: Sequence[str] = (),
) -> Iterator[ReportBlock]:
    """Yield a plot for each data set: the share of the questions in each range of values.

    The figure of per-query scores of the paper on agentic hybrid retrieval (its Figure 2); bars,
    as few documents are relevant and so only few values occur.

    Args:
        results: What is shown.
        of: A measure from 0 to 1; of questions that can have it.
        caption: What it shows.
        edges: Where ranges end, above 0 and growing; 0 has a range of its own.
        arms: Only these.
    """
    chosen = results.select_arms(arms)
    for name in chosen.sets:
        values_by_arm = {
            c.arm.name: list(score_questions(of, c.records).values())
            for c in chosen.select_set(name)
        }
        values_by_arm = {arm: values for arm, values in values_by_arm.items() if values}
        if values_by_arm:
            heat = Heat(
                rows=tuple(values_by_arm),
                columns=_name_ranges(edges),
                cells=tuple(compute_shares(values, edges) for values in values_by_arm.values()),
            )
            title = f"{caption} ({name})" if len(chosen.sets) > 1 else caption
            svg = plots.draw_shares(heat)
            yield Figure(name=f"spread-{of}-{name}", caption=title, svg=svg)


def compute_shares(values: Sequence[float], edges: Sequence[float]) -> tuple[float, ...]:
    """Return the shares of values of 0, up to each edge, and above all edges."""
    ends = (0.0, *edges, max(1.0, *edges))
    none = sum(value <= 0 for value in values)
    within = (sum(low < value <= high for value in values) for low, high in pairwise(ends))
    return tuple(count / len(values) for count in (none, *within))


def _name_ranges(edges: Sequence[float]) -> tuple[str, ...]:
    ranges = (f"{low:g} to {high:g}" for low, high in pairwise((0.0, *edges)))
    return ("0", *ranges, f"above {edges[-1]:g}")
