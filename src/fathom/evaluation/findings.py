"""The findings of one evaluation, from which every report is made."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from math import isfinite
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
    """The records of every question, and the scores, tests and agreements that follow from them.

    Attributes:
        ranked: The records of each retriever on each data set.
        answered: The records of each strategy on each data set.
        judgements: The judgements of all judges that were asked.
        compared: Two retrievers or two strategies that are tested against each other.
        labels: A file of people's labels, to hold the judges against beside the gold answers.
        verdict: The verdict of the gate, where there was one.
    """

    ranked: Sequence[Group] = ()
    answered: Sequence[Group] = ()
    judgements: Sequence[Judgement] = ()
    compared: tuple[str, str] | None = None
    labels: Path | None = None
    verdict: GateOutcome | None = None

    @classmethod
    def combine(cls, findings: Sequence["Findings"]) -> Self:
        """Combine several findings; tests are corrected for all of them together."""
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
        """The scores of each system on each data set: retrievers first, then strategies."""
        # Judges grade answers only, so rankings have none of their measures.
        answering = (add_grades(score_system(group), self.judgements) for group in self.answered)
        return [*map(score_system, self.ranked), *answering]

    @cached_property
    def comparisons(self) -> Sequence[PairedTest]:
        """The tests of the two compared systems, measure by measure on each data set."""
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
        """The agreements in sentences; one says so if no label of people is of a graded answer."""
        sentences = [agreement.sentence for agreement in self.agreements]
        labels = self.labels
        if labels is None or any(agreement.labels == labels.name for agreement in self.agreements):
            return sentences
        return [
            *sentences,
            f"{labels.name} has no label of an answer that a judge graded: judge, data set, "
            "strategy and question must be as in the tables",
        ]

    @property
    def synthetic_counts(self) -> dict[str, int]:
        """The number of synthetic questions of each data set that has some."""
        questions_of: dict[str, set[str]] = {}
        for record in chain.from_iterable(self.groups):
            if record.synthetic:
                questions_of.setdefault(record.dataset, set()).add(record.question)
        return {dataset: len(questions) for dataset, questions in questions_of.items()}

    @property
    def warnings(self) -> list[str]:
        """One line for each system with failed questions and each judge that missed grades."""
        return [*_describe_failures(self.groups), *describe_missing_grades(self.judgements)]

    def to_dict(self, by: Sequence[Field] = ()) -> dict[str, Any]:
        """Return what `fathom eval --json` prints, with rows by phase or by kind under `by`."""
        report: dict[str, Any] = {"rows": [asdict(row) for row in self.rows]}
        if self.synthetic_counts:
            report["synthetic"] = self.synthetic_counts
        if by:
            report["by"] = {
                field: [asdict(row) for row in break_down_groups(self.groups, field)]
                for field in by
            }
        if self.comparisons:
            report["comparisons"] = [_test_to_dict(test) for test in self.comparisons]
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
                "checks": [_test_to_dict(check) for check in self.verdict.checks],
            }
        return report

    def _pair_groups(self, names: tuple[str, str]) -> list[tuple[Group, Group]]:
        """Return the groups of two retrievers, or else of two strategies, where both were asked."""
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


def _test_to_dict(comparison: PairedTest) -> dict[str, Any]:
    fields = {**asdict(comparison), "sentence": comparison.sentence}
    # JSON has no infinity.
    return fields | ({} if isfinite(comparison.detectable) else {"detectable": None})
