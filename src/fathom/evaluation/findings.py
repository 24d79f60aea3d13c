"""The findings of an evaluation, from which all reports are made."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

from fathom.evaluation.agreement import (
    Agreement,
    collect_gold_labels,
    load_labels,
    measure_agreements,
)
from fathom.evaluation.breakdown import Field, break_down_groups
from fathom.evaluation.comparison import PairedTest, compare
from fathom.evaluation.gate import GateOutcome
from fathom.evaluation.grading import Judgement, add_grades, describe_missing_grades
from fathom.evaluation.records import Group
from fathom.evaluation.rows import SystemScores, score_system

GroupKey = tuple[str, tuple[tuple[str, str], ...]]
"""The key of a group: its data set, and the settings that were varied."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The records of all questions, and the scores, tests and agreements computed from them.

    Attributes:
        ranked: The records of each retriever on each data set.
        answered: The records of each strategy on each data set.
        judgements: The judgements of all judges.
        compared: Two retrievers or two strategies to compare by tests; `None` for none.
        labels: A file of people's labels, with which the judges are compared besides the gold
            answers.
        verdict: The outcome of the gate; `None` without a gate.
    """

    ranked: Sequence[Group] = ()
    answered: Sequence[Group] = ()
    judgements: Sequence[Judgement] = ()
    compared: tuple[str, str] | None = None
    labels: Path | None = None
    verdict: GateOutcome | None = None

    @classmethod
    def combine(cls, findings: Sequence["Findings"]) -> Self:
        """Combine several findings; tests are then corrected for all of them."""
        return cls(
            ranked=list(chain.from_iterable(evaluation.ranked for evaluation in findings)),
            answered=list(chain.from_iterable(evaluation.answered for evaluation in findings)),
            judgements=list(chain.from_iterable(evaluation.judgements for evaluation in findings)),
            compared=next((evaluation.compared for evaluation in findings), None),
            labels=next((evaluation.labels for evaluation in findings), None),
        )

    @property
    def groups(self) -> Sequence[Group]:
        """The records of all systems."""
        return [*self.ranked, *self.answered]

    @property
    def all_failed(self) -> bool:
        """True if systems were asked and every run failed."""
        records = list(chain.from_iterable(self.groups))
        return bool(records) and all(record.status == "failed" for record in records)

    @cached_property
    def rows(self) -> Sequence[SystemScores]:
        """The scores of each system on each data set, retrievers first."""
        # Judges grade answers only, so rankings have no grades.
        answering = (add_grades(score_system(group), self.judgements) for group in self.answered)
        return [*map(score_system, self.ranked), *answering]

    @cached_property
    def comparisons(self) -> Sequence[PairedTest]:
        """The tests of the two compared systems, for each measure on each data set."""
        return compare(self._pair_groups(self.compared)) if self.compared else ()

    @cached_property
    def agreements(self) -> Sequence[Agreement]:
        """The agreement of the judges with the gold answers, and with people's labels."""
        if not self.judgements:
            return ()
        measured = measure_agreements(
            self.judgements, collect_gold_labels(self.answered), source="the gold answers"
        )
        if self.labels is not None:
            labels = load_labels(self.labels)
            measured += measure_agreements(self.judgements, labels, source=self.labels.name)
        return measured

    @property
    def agreement_sentences(self) -> list[str]:
        """The agreements in sentences, with a note if no graded answer has a label of people."""
        sentences = [agreement.sentence for agreement in self.agreements]
        labels = self.labels
        if labels is None or any(agreement.labels == labels.name for agreement in self.agreements):
            return sentences
        return [
            *sentences,
            f"{labels.name} has no label of a graded answer: name judge, data set, strategy and "
            "question as in the tables",
        ]

    @property
    def synthetic_counts(self) -> dict[str, int]:
        """The number of synthetic questions of each data set that has some."""
        by_dataset: dict[str, set[str]] = {}
        for record in chain.from_iterable(self.groups):
            if record.synthetic:
                by_dataset.setdefault(record.dataset, set()).add(record.question)
        return {dataset: len(questions) for dataset, questions in by_dataset.items()}

    @property
    def warnings(self) -> list[str]:
        """A line for each system with failed questions, and for each judge with missing grades."""
        return [*_describe_failures(self.groups), *describe_missing_grades(self.judgements)]

    def to_dict(self, by: Sequence[Field] = ()) -> dict[str, Any]:
        """Return the object of `fathom eval --json`, with rows by phase or by kind under `by`."""
        report: dict[str, Any] = {"rows": [asdict(row) for row in self.rows]}
        if self.synthetic_counts:
            report["synthetic"] = self.synthetic_counts
        if by:
            report["by"] = {
                field: [asdict(row) for row in break_down_groups(self.groups, field)]
                for field in by
            }
        if self.comparisons:
            report["comparisons"] = [test.to_dict() for test in self.comparisons]
        if self.judgements:
            report["judges"] = {
                "judgements": [asdict(judgement) for judgement in self.judgements],
                "agreements": [
                    {**asdict(agreement), "sentence": agreement.sentence}
                    for agreement in self.agreements
                ],
            }
        if self.verdict is not None:
            report["gate"] = {
                "passed": not self.verdict.regressions,
                "sentence": self.verdict.sentence,
                "checks": [check.to_dict() for check in self.verdict.checks],
            }
        return report

    def _pair_groups(self, names: tuple[str, str]) -> list[tuple[Group, Group]]:
        """Return the pairs of groups of two retrievers or two strategies on each data set."""
        ranking = {group[0].strategy for group in self.ranked}
        systems: dict[GroupKey, dict[str, Group]] = {}
        # A strategy may have the name of a retriever: both names must rank, or both must answer.
        for group in self.ranked if {*names} <= ranking else self.answered:
            key = (group[0].dataset, tuple(sorted(group[0].varied.items())))
            systems.setdefault(key, {})[group[0].strategy] = group
        return [
            (groups[names[0]], groups[names[1]])
            for groups in systems.values()
            if {*names} <= groups.keys()
        ]


def _describe_failures(recorded: Sequence[Group]) -> Iterator[str]:
    for group in recorded:
        failed = [record for record in group if record.status == "failed"]
        if failed:
            first = failed[0]
            yield (
                f"{first.dataset} {first.strategy}: {len(failed)} of {len(group)} questions "
                f"failed; the first, {first.question}: {first.stop_reason}"
            )
