"""How far judges agree with what is known to be right, on a labelled slice."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import UsageError
from fathom.evaluation.grading import Judgement
from fathom.evaluation.judges import Grade
from fathom.evaluation.measures import right
from fathom.evaluation.records import Record
from fathom.evaluation.statistics import kappa, resampled_interval

GOOD = 0.5
"""From this score on a judge says yes."""

Item = tuple[str, str, str, str]
"""Judge, data set, strategy, question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A judge against labels.

    Attributes:
        labels: Whose labels.
        count: Answers with a label that the judge was asked about; no grade is a disagreement.
        agreed: The share of them on which both say the same.
        kappa: Beyond chance; `None` where all labels are the same.
        interval: 95 % bootstrap interval of kappa.
    """

    judge: str
    labels: str
    count: int
    agreed: float
    kappa: float | None
    interval: tuple[float, float] | None

    @property
    def sentence(self) -> str:
        """What it comes to, in plain words."""
        told = (
            f"{self.judge} agrees with {self.labels} on {self.agreed:.0%} of {self.count} answers"
        )
        if self.kappa is None or self.interval is None:
            return f"{told}; one label only, so that chance explains it"
        low, high = self.interval
        return f"{told}, kappa {self.kappa:.2f} [{low:.2f}, {high:.2f}]"


def gold_labels(answered: Sequence[Sequence[Record]]) -> dict[Item, bool]:
    """Whether answers to questions with gold answers are right; see `scores.right`."""
    return {
        ("correctness", record.dataset, record.system, record.question): right(record)
        for group in answered
        for record in group
        if record.gold and record.answered
    }


def load_labels(file: Path) -> dict[Item, bool]:
    """Read labels that people gave, one JSON object a line.

    Each has `judge`, `dataset`, `strategy`, `question` and `good`, which is true or false.

    Raises:
        UsageError: If there is no such file, a line is no label, or two are of the same answer.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file of labels")
    found: dict[Item, bool] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item, good = _label(json.loads(line))
        except (ValueError, TypeError, KeyError):
            raise UsageError(
                f"{file}:{number}: expected an object with the texts judge, dataset, strategy and "
                "question, and good true or false"
            ) from None
        if item in found:
            raise UsageError(f"{file}:{number}: a second label of question {item[3]!r}")
        found[item] = good
    return found


def _label(row: Mapping[str, object]) -> tuple[Item, bool]:
    judge, dataset, strategy, question = (
        row[name] for name in ("judge", "dataset", "strategy", "question")
    )
    good = row["good"]
    texts = [each for each in (judge, dataset, strategy, question) if isinstance(each, str)]
    if not isinstance(good, bool) or len(texts) != 4:
        raise TypeError
    return (texts[0], texts[1], texts[2], texts[3]), good


def agreements(
    judgements: Sequence[Judgement], labels: Mapping[Item, bool], *, source: str
) -> list[Agreement]:
    """Each judge against the labels, over all strategies and data sets together.

    What a rule settled is left out: it says nothing of the judge.

    Args:
        judgements: Of any judges.
        labels: Of some of the answers.
        source: Whose labels, for the sentence.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    for each in judgements:
        label = labels.get((each.judge, each.dataset, each.system, each.question))
        if label is not None and (said := _said(each)):
            pairs.setdefault(each.judge, []).append((said, str(label)))
    return [_agreement(judge, found, source) for judge, found in pairs.items()]


def _said(judgement: Judgement) -> str:
    if not isinstance(judgement.outcome, Grade):
        return "no grade"
    return "" if judgement.outcome.by_rule else str(judgement.outcome.score >= GOOD)


def _agreement(judge: str, pairs: Sequence[tuple[str, str]], source: str) -> Agreement:
    return Agreement(
        judge=judge,
        labels=source,
        count=len(pairs),
        agreed=sum(said == label for said, label in pairs) / len(pairs),
        kappa=_kappa(pairs),
        interval=resampled_interval(
            len(pairs), lambda places: _kappa([pairs[place] for place in places])
        ),
    )


def _kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    return kappa([said for said, _ in pairs], [label for _, label in pairs])
