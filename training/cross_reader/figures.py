"""What a model made of rows, and the figures of that; of a network in training and of a file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from training.cross_reader.rows import Row
from training.cross_reader.squad import auroc, balanced_accuracy, exact, f1


@dataclass(frozen=True, slots=True)
class Read:
    """A row as a model reads it.

    Attributes:
        row: What was read.
        answer: The best span's text, also where there is no answer; empty without any token.
        margin: Logit of that span minus the one of "no answer here".
        scores: Logits of the pair by name; see `model.SCORES`.
    """

    row: Row
    answer: str
    margin: float
    scores: Mapping[str, float]

    @property
    def golds(self) -> list[str]:
        """The acceptable answers; the empty one where there is none."""
        return [self.row.text[start:end] for start, end in self.row.spans] or [""]


Sure = Callable[[Read], float]
"""How sure a model is that the row has an answer, or that a claim holds."""


def margin_and_score(read: Read) -> float:
    """Without a calibration: the margin and the score for an answer, added."""
    return read.margin + read.scores["answerable"]


def answer_figures(reads: Sequence[Read], sure: Sure = margin_and_score) -> dict[str, float]:
    """F1 and EM of the best spans, 0 to 1, and how well rows with and without answer are told.

    Figures that there are no rows for are left out.
    """
    found: dict[str, float] = {}
    has = [read for read in reads if read.row.answerable and read.row.spans]
    if has:
        found["has-answer F1"] = fmean(f1(read.answer, read.golds) for read in has)
        found["has-answer EM"] = fmean(exact(read.answer, read.golds) for read in has)
    right = [sure(read) for read in reads if read.row.answerable]
    wrong = [sure(read) for read in reads if read.row.answerable is False]
    if right and wrong:
        found["AUROC answerable"] = auroc(right, wrong)
    return found


def claim_figures(reads: Sequence[Read], sure: Sure, least: float = 0.5) -> dict[str, float]:
    """Supported against the rest; `sure` of support, at least `least` where it is claimed."""
    claims = [read for read in reads if read.row.support]
    true = [read.row.support == (0,) for read in claims]
    if len(set(true)) < 2:
        return {}
    values = [sure(read) for read in claims]
    return {
        "claims": len(claims),
        "supported, balanced accuracy": balanced_accuracy([v >= least for v in values], true),
        "supported, AUROC": auroc(
            [value for value, right in zip(values, true, strict=True) if right],
            [value for value, right in zip(values, true, strict=True) if not right],
        ),
    }


def yesno_figures(reads: Sequence[Read]) -> dict[str, float]:
    """Yes against no, of rows that are one of them; decided against the rest."""
    asked = [read for read in reads if read.row.yesno in (0, 1)]
    found: dict[str, float] = {}
    if len({read.row.yesno for read in asked}) == 2:
        said = [read.scores["yes"] > read.scores["no"] for read in asked]
        found["yes or no"] = len(asked)
        found["yes, balanced accuracy"] = balanced_accuracy(
            said, [read.row.yesno == 0 for read in asked]
        )
    none = [_decided(read) for read in reads if read.row.yesno == 2]
    if asked and none:
        found["decided, AUROC"] = auroc([_decided(read) for read in asked], none)
    return found


def _decided(read: Read) -> float:
    return max(read.scores["yes"], read.scores["no"]) - read.scores["none"]


def rounded(found: Mapping[str, float]) -> dict[str, float]:
    """For people to read."""
    return {name: round(float(value), 4) for name, value in found.items()}
