"""How the values of a measure are spread over the questions."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from experiments.lab.results import Results

from fathom.evaluation.report import plots
from fathom.evaluation.report.blocks import Figure, ReportBlock
from fathom.evaluation.report.curves import Heat
from fathom.evaluation.rows import score_questions


def spread(
    seen: Results,
    *,
    of: str,
    caption: str,
    edges: Sequence[float] = (0.2, 0.4, 0.6, 0.8),
    arms: Sequence[str] = (),
) -> Iterator[ReportBlock]:
    """A plot for each data set: the share of the questions in each range of values.

    The figure of per-query scores of the paper on agentic hybrid retrieval (its Figure 2); bars,
    as few documents are relevant and so only few values occur.

    Args:
        seen: What is shown.
        of: A measure from 0 to 1; of questions that can have it.
        caption: What it shows.
        edges: Where ranges end, above 0 and growing; 0 has a range of its own.
        arms: Only these.
    """
    chosen = seen.find_system(arms)
    for name in chosen.sets:
        found = {c.arm.name: list(score_questions(of, c.records).values()) for c in chosen.on(name)}
        found = {arm: each for arm, each in found.items() if each}
        if found:
            heat = Heat(
                rows=tuple(found),
                columns=_names(edges),
                cells=tuple(shares(each, edges) for each in found.values()),
            )
            told = f"{caption} ({name})" if len(chosen.sets) > 1 else caption
            svg = plots.draw_shares(heat)
            yield Figure(name=f"spread-{of}-{name}", caption=told, svg=svg)


def shares(given: Sequence[float], edges: Sequence[float]) -> tuple[float, ...]:
    """The share of the values that are 0, of those up to each edge, and of those above all."""
    ends = (0.0, *edges, max(1.0, *edges))
    none = sum(value <= 0 for value in given)
    within = (sum(low < value <= high for value in given) for low, high in pairwise(ends))
    return tuple(count / len(given) for count in (none, *within))


def _names(edges: Sequence[float]) -> tuple[str, ...]:
    ranges = (f"{low:g} to {high:g}" for low, high in pairwise((0.0, *edges)))
    return ("0", *ranges, f"above {edges[-1]:g}")
