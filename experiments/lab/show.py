"""The kinds of showing: from what was seen to blocks of a page."""

from collections.abc import Callable, Iterator, Mapping
from inspect import signature

from experiments.lab.pooled import pooled
from experiments.lab.results import Results
from experiments.lab.shows.acceptance import accepted
from experiments.lab.shows.alike import alike
from experiments.lab.shows.broken import broken
from experiments.lab.shows.causes import caused
from experiments.lab.shows.classes import by_class, failures
from experiments.lab.shows.compare import compared
from experiments.lab.shows.contrasts import contrasted
from experiments.lab.shows.entropy import varied
from experiments.lab.shows.figure import drawn
from experiments.lab.shows.groups import by_group
from experiments.lab.shows.judged import judged
from experiments.lab.shows.ladder import by_end, utilised
from experiments.lab.shows.oracle import chosen
from experiments.lab.shows.scatter import scattered
from experiments.lab.shows.sizes import sized
from experiments.lab.shows.spread import spread
from experiments.lab.shows.successes import success_bars, successes
from experiments.lab.shows.sweep import swept
from experiments.lab.shows.table import measured
from experiments.lab.shows.transformed import transformed
from experiments.lab.shows.weighed import weighed

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import Block

Show = Callable[..., Iterator[Block]]
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


def shown(seen: Results) -> list[Block]:
    """All blocks of an experiment, in the order of its file, and at last what broke.

    Raises:
        UsageError: If there is no such kind of showing, or it has no such option.
    """
    blocks: list[Block] = []
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
