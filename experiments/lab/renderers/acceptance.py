"""Whether arms keep the promises that the study of anchors and BAUG makes (its section 11)."""

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
class Found:
    """How an arm stands to the baseline: a difference or a ratio, and its 95 % interval.

    Attributes:
        same: Whether no question differs.
    """

    value: float
    interval: tuple[float, float]
    same: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is promised.

    Attributes:
        name: In plain words.
        found: The arm beside the baseline; `None` where neither can be measured.
        holds: Whether a value keeps it.
    """

    name: str
    found: Callable[[Records, Records], Found | None]
    holds: Callable[[float], bool]

    def verdict(self, found: Found) -> str:
        """`kept` or `missed`; not surely so where the interval holds the other, too.

        Where no question differs, a promise of less is neither: there may be nothing left to lose.
        """
        kept = self.holds(found.value)
        if not kept and found.same:
            return "unchanged"
        word = "kept" if kept else "missed"
        sure = all(self.holds(end) is kept for end in found.interval)
        return word if sure else f"{word}, not surely"


def accepted(
    seen: Results, *, baseline: str, arms: Sequence[str] = (), title: str = ""
) -> Iterator[ReportBlock]:
    """A line for each data set, arm and promise that can be measured.

    Args:
        seen: What is shown.
        baseline: Name of the arm that the others are held against.
        arms: Only these.
        title: Of the table.
    """
    rows = [
        (theirs.set, ours.arm.name, promise.name, _told(found), promise.verdict(found))
        for name in arms or [arm.name for arm in seen.experiment.arms if arm.name != baseline]
        for ours, theirs in seen.pairs(name, baseline)
        for promise in PROMISES
        if (found := promise.found(ours.records, theirs.records))
    ]
    head = ("data set", "system", "promise", f"beside {baseline}", "outcome")
    yield ReportTable(title=title, head=head, rows=tuple(rows))


def _told(found: Found) -> str:
    low, high = found.interval
    return f"{found.value:.3f} [{low:.3f}, {high:.3f}]"


def _difference(measure: str) -> Callable[[Records, Records], Found | None]:
    def found(ours: Records, theirs: Records) -> Found | None:
        made = compare([(ours, theirs)], [measure])
        if not made:
            return None
        same = made[0].difference == made[0].detectable == 0
        return Found(value=made[0].difference, interval=made[0].interval, same=same)

    return found


def _ratio_of_tokens(ours: Records, theirs: Records) -> Found | None:
    spent = {record.question: _tokens(record) for record in theirs}
    pairs = np.array([(_tokens(record), spent[record.question]) for record in ours])
    if not pairs[:, 1].any():
        return None

    def ratio(places: npt.NDArray[np.int64]) -> float:
        mine, base = pairs[places].sum(axis=0)
        return float(mine / base)

    value = ratio(np.arange(len(pairs)))
    return Found(value=value, interval=resample_interval(len(pairs), ratio) or (value, value))


def _tokens(record: Record) -> float:
    return sum(record.usage.get(name) or 0.0 for name in ("prompt_tokens", "completion_tokens"))


PROMISES = (
    Promise(
        name="support overlap no lower",
        found=_difference("support-overlap"),
        holds=lambda difference: difference >= 0,
    ),
    Promise(
        name="F1 of short answers no lower",
        found=_difference("short-F1"),
        holds=lambda difference: difference >= 0,
    ),
    Promise(
        name="fewer wrong answers to answerable questions",
        found=_difference("wrong-on-answerable"),
        holds=lambda difference: difference < 0,
    ),
    Promise(
        name=f"tokens at most {CEILING} times",
        found=_ratio_of_tokens,
        holds=lambda ratio: ratio <= CEILING,
    ),
)
