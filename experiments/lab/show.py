"""The kinds of showing: from what was seen to blocks of a page."""

from collections.abc import Callable, Iterator, Mapping
from inspect import signature

from experiments.lab.pooled import pooled
from experiments.lab.renderers.acceptance import accepted
from experiments.lab.renderers.alike import alike
from experiments.lab.renderers.broken import broken
from experiments.lab.renderers.causes import caused
from experiments.lab.renderers.classes import by_class, failures
from experiments.lab.renderers.compare import compared
from experiments.lab.renderers.contrasts import contrasted
from experiments.lab.renderers.entropy import varied
from experiments.lab.renderers.figure import drawn
from experiments.lab.renderers.groups import by_group
from experiments.lab.renderers.judged import judged
from experiments.lab.renderers.ladder import by_end, utilised
from experiments.lab.renderers.oracle import chosen
from experiments.lab.renderers.scatter import scattered
from experiments.lab.renderers.sizes import sized
from experiments.lab.renderers.spread import spread
from experiments.lab.renderers.successes import success_bars, successes
from experiments.lab.renderers.sweep import swept
from experiments.lab.renderers.table import measured
from experiments.lab.renderers.transformed import transformed
from experiments.lab.renderers.weighed import weighed
from experiments.lab.results import Results

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import ReportBlock

Show = Callable[..., Iterator[ReportBlock]]
"""Takes what was seen, and its options as keywords."""

SHOWS: Mapping[str, Show] = {
    "table": measured,
    "compare": compared,
    "by": by_group,
    "figure": drawn,
    "judged": judged,
    "sweep": swept,
    "successes": successes,
    "success-bars": success_bars,
    "classes": by_class,
    "failures": failures,
    "phases": utilised,
    "by-phase": by_end,
    "scatter": scattered,
    "tests": contrasted,
    "alike": alike,
    "oracle": chosen,
    "entropy": varied,
    "reward": weighed,
    "acceptance": accepted,
    "transformed": transformed,
    "causes": caused,
    "sizes": sized,
    "spread": spread,
}


def shown(seen: Results) -> list[ReportBlock]:
    """All blocks of an experiment, in the order of its file, and at last what broke.

    Raises:
        UsageError: If there is no such kind of showing, or it has no such option.
    """
    blocks: list[ReportBlock] = []
    for each in seen.experiment.show:
        if each.kind not in SHOWS:
            kinds = ", ".join(SHOWS)
            raise UsageError(f"{seen.experiment.id}: no kind {each.kind!r}; there are {kinds}")
        try:
            signature(SHOWS[each.kind]).bind(seen, **each.options)
        except TypeError as error:
            raise UsageError(f"{seen.experiment.id}: show {each.kind!r}: {error}") from None
        blocks += SHOWS[each.kind](pooled(seen) if each.pooled else seen, **each.options)
    return [*blocks, *broken(seen)]
