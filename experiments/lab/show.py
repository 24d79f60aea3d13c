"""The kinds of blocks: from results to the blocks of a page."""

from collections.abc import Callable, Iterator, Mapping
from inspect import signature

from experiments.lab.pooled import pool_results
from experiments.lab.renderers.acceptance import check_promises
from experiments.lab.renderers.alike import group_alike
from experiments.lab.renderers.broken import list_failures
from experiments.lab.renderers.causes import count_causes
from experiments.lab.renderers.classes import list_class_failures, map_classes
from experiments.lab.renderers.compare import compare_arms
from experiments.lab.renderers.contrasts import contrast_arms
from experiments.lab.renderers.entropy import measure_entropy
from experiments.lab.renderers.figure import draw_plots
from experiments.lab.renderers.groups import tabulate_groups
from experiments.lab.renderers.judged import tabulate_judged
from experiments.lab.renderers.ladder import show_utilisation, tabulate_by_end
from experiments.lab.renderers.oracle import compare_with_oracle
from experiments.lab.renderers.scatter import scatter_questions
from experiments.lab.renderers.sizes import show_sizes
from experiments.lab.renderers.spread import show_spread
from experiments.lab.renderers.successes import draw_success_bars, tabulate_successes
from experiments.lab.renderers.sweep import show_sweep
from experiments.lab.renderers.table import tabulate_measures
from experiments.lab.renderers.transformed import list_changes
from experiments.lab.renderers.weighed import show_weights
from experiments.lab.results import Results

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import ReportBlock

Show = Callable[..., Iterator[ReportBlock]]
"""Takes what was seen, and its options as keywords."""

SHOWS: Mapping[str, Show] = {
    "table": tabulate_measures,
    "compare": compare_arms,
    "by": tabulate_groups,
    "figure": draw_plots,
    "judged": tabulate_judged,
    "sweep": show_sweep,
    "successes": tabulate_successes,
    "success-bars": draw_success_bars,
    "classes": map_classes,
    "failures": list_class_failures,
    "phases": show_utilisation,
    "by-phase": tabulate_by_end,
    "scatter": scatter_questions,
    "tests": contrast_arms,
    "alike": group_alike,
    "oracle": compare_with_oracle,
    "entropy": measure_entropy,
    "reward": show_weights,
    "acceptance": check_promises,
    "transformed": list_changes,
    "causes": count_causes,
    "sizes": show_sizes,
    "spread": show_spread,
}


def render_blocks(results: Results) -> list[ReportBlock]:
    """Return all blocks of an experiment, in the order of its file, and last the failures.

    Raises:
        UsageError: If there is no such kind of showing, or it has no such option.
    """
    blocks: list[ReportBlock] = []
    for showing in results.experiment.show:
        if showing.kind not in SHOWS:
            kinds = ", ".join(SHOWS)
            raise UsageError(
                f"{results.experiment.id}: no kind {showing.kind!r}; there are {kinds}"
            )
        try:
            signature(SHOWS[showing.kind]).bind(results, **showing.options)
        except TypeError as error:
            raise UsageError(f"{results.experiment.id}: show {showing.kind!r}: {error}") from None
        blocks += SHOWS[showing.kind](
            pool_results(results) if showing.pooled else results, **showing.options
        )
    return [*blocks, *list_failures(results)]
