"""The promises of the study of anchors and BAUG (its section 11), kept or missed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from experiments.lab.results import Results

from fathom.evaluation.comparison import compare
from fathom.evaluation.records import Record
from fathom.evaluation.report.blocks import ReportBlock, ReportTable
from fathom.evaluation.statistics import resample_interval

CEILING = 1.2
"""So many times the baseline's tokens may be spent."""
Records = Sequence[Record]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The difference or ratio of an arm to the baseline, and its 95 % interval.

    Attributes:
        same: Whether no question differs.
    """

    value: float
    interval: tuple[float, float]
    same: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One promise.

    Attributes:
        name: In plain words.
        measure: The arm beside the baseline; `None` where neither can be measured.
        holds: Whether a value keeps it.
    """

    name: str
    measure: Callable[[Records, Records], Contrast | None]
    holds: Callable[[float], bool]

    def verdict(self, contrast: Contrast) -> str:
        """Return `kept` or `missed`, marked if the interval contains the other case too.

        Where no question differs, a promise of less is neither: there may be nothing left to lose.
        """
        is_kept = self.holds(contrast.value)
        if not is_kept and contrast.same:
            return "unchanged"
        word = "kept" if is_kept else "missed"
        sure = all(self.holds(end) is is_kept for end in contrast.interval)
        return word if sure else f"{word}, not surely"


def check_promises(
    results: Results, *, baseline: str, arms: Sequence[str] = (), title: str = ""
) -> Iterator[ReportBlock]:
    """Yield a line for each data set, arm and promise that can be measured.

    Args:
        results: What is shown.
        baseline: Name of the arm that the others are held against.
        arms: Only these.
        title: Of the table.
    """
    rows = [
        (
            theirs.set,
            ours.arm.name,
            promise.name,
            _format_contrast(contrast),
            promise.verdict(contrast),
        )
        for name in arms or [arm.name for arm in results.experiment.arms if arm.name != baseline]
        for ours, theirs in results.pair_arms(name, baseline)
        for promise in PROMISES
        if (contrast := promise.measure(ours.records, theirs.records))
    ]
    head = ("data set", "system", "promise", f"beside {baseline}", "outcome")
    yield ReportTable(title=title, head=head, rows=tuple(rows))


def _format_contrast(contrast: Contrast) -> str:
    low, high = contrast.interval
    return f"{contrast.value:.3f} [{low:.3f}, {high:.3f}]"


def _make_difference(measure: str) -> Callable[[Records, Records], Contrast | None]:
    def contrast(ours: Records, theirs: Records) -> Contrast | None:
        comparison = compare([(ours, theirs)], [measure])
        if not comparison:
            return None
        same = comparison[0].difference == comparison[0].detectable == 0
        return Contrast(value=comparison[0].difference, interval=comparison[0].interval, same=same)

    return contrast


def _compute_token_ratio(ours: Records, theirs: Records) -> Contrast | None:
    spent = {record.question: record.tokens for record in theirs}
    pairs = np.array([(record.tokens, spent[record.question]) for record in ours])

    def compute_ratio(places: npt.NDArray[np.int64]) -> float | None:
        mine, base = pairs[places].sum(axis=0)
        return float(mine / base) if base else None

    value = compute_ratio(np.arange(len(pairs)))
    if value is None:
        return None
    return Contrast(
        value=value, interval=resample_interval(len(pairs), compute_ratio) or (value, value)
    )


PROMISES = (
    Promise(
        name="support overlap no lower",
        measure=_make_difference("support-overlap"),
        holds=lambda difference: difference >= 0,
    ),
    Promise(
        name="F1 of short answers no lower",
        measure=_make_difference("short-F1"),
        holds=lambda difference: difference >= 0,
    ),
    Promise(
        name="fewer wrong answers to answerable questions",
        measure=_make_difference("wrong-on-answerable"),
        holds=lambda difference: difference < 0,
    ),
    Promise(
        name=f"tokens at most {CEILING} times",
        measure=_compute_token_ratio,
        holds=lambda ratio: ratio <= CEILING,
    ),
)
