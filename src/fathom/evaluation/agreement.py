"""The agreement of judges with labels, which say whether answers are right."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import UsageError
from fathom.evaluation.datasets import read_lines
from fathom.evaluation.grading import Judgement
from fathom.evaluation.judges import Grade
from fathom.evaluation.measures import is_correct
from fathom.evaluation.records import Record
from fathom.evaluation.statistics import kappa, resample_interval

GOOD = 0.5
"""The least score with which a judge approves an answer."""

LabelKey = tuple[str, str, str, str]
"""The key of a label: judge, data set, strategy and question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The agreement of one judge with labels.

    Attributes:
        judge: The name of the judge.
        labels: The source of the labels.
        count: The number of labelled answers that the judge was asked to grade. An answer without a
            grade counts as a disagreement.
        agreed: The share of these answers on which judge and label agree.
        kappa: The agreement beyond chance; `None` if all labels are equal.
        interval: The 95 % bootstrap interval of kappa.
    """

    judge: str
    labels: str
    count: int
    agreed: float
    kappa: float | None
    interval: tuple[float, float] | None

    @property
    def sentence(self) -> str:
        """The agreement in one sentence."""
        summary = (
            f"{self.judge} agrees with {self.labels} on {self.agreed:.0%} of {self.count} answers"
        )
        if self.kappa is None or self.interval is None:
            return f"{summary}; all labels are equal, so chance explains it"
        low, high = self.interval
        return f"{summary}, kappa {self.kappa:.2f} [{low:.2f}, {high:.2f}]"


def collect_gold_labels(groups: Sequence[Sequence[Record]]) -> dict[LabelKey, bool]:
    """Return the label of each answer to a question with gold answers, as `is_correct` decides."""
    return {
        ("correctness", record.dataset, record.system, record.question): is_correct(record)
        for group in groups
        for record in group
        if record.gold and record.is_answered
    }


def load_labels(file: Path) -> dict[LabelKey, bool]:
    """Load a file of labels that people gave, with one JSON object in each line.

    Each object has `judge`, `dataset`, `strategy`, `question` and `good`, which is true or false.

    Raises:
        UsageError: If the file does not exist or is not UTF-8, a line is not a label, or an answer
            has two labels.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file of labels")
    labels: dict[LabelKey, bool] = {}
    for number, line in read_lines(file):
        try:
            item, good = _parse_label(json.loads(line))
        except (ValueError, TypeError, KeyError):
            raise UsageError(
                f"{file}:{number}: expected an object with the texts judge, dataset, strategy and "
                "question, and good true or false"
            ) from None
        if item in labels:
            raise UsageError(f"{file}:{number}: a second label of question {item[3]!r}")
        labels[item] = good
    return labels


def _parse_label(row: Mapping[str, object]) -> tuple[LabelKey, bool]:
    judge, dataset, strategy, question = (
        row[name] for name in ("judge", "dataset", "strategy", "question")
    )
    good = row["good"]
    texts = [text for text in (judge, dataset, strategy, question) if isinstance(text, str)]
    # 0 and 1 are refused, because they may be scores instead of labels.
    if not isinstance(good, bool) or len(texts) != 4:
        raise TypeError
    return (texts[0], texts[1], texts[2], texts[3]), good


def measure_agreements(
    judgements: Sequence[Judgement], labels: Mapping[LabelKey, bool], *, source: str
) -> list[Agreement]:
    """Measure the agreement of each judge with the labels, over all systems.

    Grades by rule are left out, because they say nothing about the judge.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    for judgement in judgements:
        label = labels.get(
            (judgement.judge, judgement.dataset, judgement.system, judgement.question)
        )
        if label is not None and (vote := _describe_vote(judgement)):
            pairs.setdefault(judgement.judge, []).append((vote, str(label)))
    return [_measure_agreement(judge, votes, source) for judge, votes in pairs.items()]


def _describe_vote(judgement: Judgement) -> str:
    # An answer without a grade counts as a disagreement, so its vote equals neither label.
    if not isinstance(judgement.outcome, Grade):
        return "no grade"
    return "" if judgement.outcome.by_rule else str(judgement.outcome.score >= GOOD)


def _measure_agreement(judge: str, pairs: Sequence[tuple[str, str]], source: str) -> Agreement:
    return Agreement(
        judge=judge,
        labels=source,
        count=len(pairs),
        agreed=sum(vote == label for vote, label in pairs) / len(pairs),
        kappa=_compute_kappa(pairs),
        # Kappa is not a mean, so the interval comes from resampling pairs.
        interval=resample_interval(
            len(pairs), lambda places: _compute_kappa([pairs[place] for place in places])
        ),
    )


def _compute_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    return kappa([vote for vote, _ in pairs], [label for _, label in pairs])
