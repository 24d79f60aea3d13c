"""All that one evaluation found: what every report is made of."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, Self

from fathom.evaluation.agreement import Agreement, agreements, gold_labels, load_labels
from fathom.evaluation.breakdown import Field, rows_of_parts
from fathom.evaluation.comparison import PairedTest, compare
from fathom.evaluation.gate import GateOutcome
from fathom.evaluation.grading import Judgement, faults_told, with_grades
from fathom.evaluation.records import Group
from fathom.evaluation.rows import Row, row_of

SystemRows = tuple[str, tuple[tuple[str, str], ...]]
"""A data set, and what was varied."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What came of every question, and what that says.

    Attributes:
        ranked: The records of each retriever on each data set.
        answered: The records of each strategy on each data set.
        judgements: Of all judges that were asked.
        compared: Two retrievers or two strategies that are tested against each other.
        labels: Of people, to hold the judges against beside the gold answers.
        verdict: Of the gate, where there was one.
    """

    ranked: Sequence[Group] = ()
    answered: Sequence[Group] = ()
    judgements: Sequence[Judgement] = ()
    compared: tuple[str, str] | None = None
    labels: Path | None = None
    verdict: GateOutcome | None = None

    @classmethod
    def together(cls, parts: Sequence["Findings"]) -> Self:
        """Several as one; what is tested is corrected for all of them together."""
        return cls(
            ranked=list(chain.from_iterable(part.ranked for part in parts)),
            answered=list(chain.from_iterable(part.answered for part in parts)),
            judgements=list(chain.from_iterable(part.judgements for part in parts)),
            compared=next((part.compared for part in parts), None),
            labels=next((part.labels for part in parts), None),
        )

    @property
    def recorded(self) -> Sequence[Group]:
        """The records of all systems."""
        return [*self.ranked, *self.answered]

    @property
    def failed(self) -> bool:
        """Whether systems were asked and not one run came through."""
        records = list(chain.from_iterable(self.recorded))
        return bool(records) and all(record.status == "failed" for record in records)

    @cached_property
    def rows(self) -> Sequence[Row]:
        """How each system did on each data set: retrievers first, then strategies."""
        answering = (with_grades(row_of(group), self.judgements) for group in self.answered)
        return [*map(row_of, self.ranked), *answering]

    @cached_property
    def comparisons(self) -> Sequence[PairedTest]:
        """The two that are compared, measure by measure on each data set."""
        return compare(self._pairs(self.compared)) if self.compared else ()

    @cached_property
    def agreements(self) -> Sequence[Agreement]:
        """How far the judges agree with the gold answers, and with the labels of people."""
        if not self.judgements:
            return ()
        found = agreements(self.judgements, gold_labels(self.answered), source="the gold answers")
        if self.labels is not None:
            known = load_labels(self.labels)
            found += agreements(self.judgements, known, source=self.labels.name)
        return found

    @property
    def synthetic(self) -> dict[str, int]:
        """How many questions of each data set nobody asked, where there are such."""
        asked: dict[str, set[str]] = {}
        for record in chain.from_iterable(self.recorded):
            if record.synthetic:
                asked.setdefault(record.dataset, set()).add(record.question)
        return {dataset: len(questions) for dataset, questions in asked.items()}

    @property
    def warnings(self) -> list[str]:
        """A line for each system with questions that failed, and for each judge without grades."""
        return [*_failures_told(self.recorded), *faults_told(self.judgements)]

    def to_dict(self, by: Sequence[Field] = ()) -> dict[str, Any]:
        """What `fathom eval --json` prints.

        Args:
            by: Further rows, of each system by phase or by kind, under `by`.
        """
        told: dict[str, Any] = {"rows": [asdict(row) for row in self.rows]}
        if self.synthetic:
            told["synthetic"] = self.synthetic
        if by:
            told["by"] = {
                field: [asdict(row) for row in rows_of_parts(self.recorded, field)] for field in by
            }
        if self.comparisons:
            told["comparisons"] = [_with_sentence(each) for each in self.comparisons]
        if self.judgements:
            told["judges"] = {
                "judgements": [asdict(each) for each in self.judgements],
                "agreements": [
                    {**asdict(each), "sentence": each.sentence} for each in self.agreements
                ],
            }
        if self.verdict is not None:
            told["gate"] = {
                "passed": not self.verdict.fallen,
                "sentence": self.verdict.sentence,
                "checks": [_with_sentence(each) for each in self.verdict.checks],
            }
        return told

    def _pairs(self, names: tuple[str, str]) -> list[tuple[Group, Group]]:
        """The groups of two retrievers, or else of two strategies, where both were asked."""
        ranking = {group[0].strategy for group in self.ranked}
        systems: dict[SystemRows, dict[str, Group]] = {}
        for group in self.ranked if {*names} <= ranking else self.answered:
            key = (group[0].dataset, tuple(sorted(group[0].varied.items())))
            systems.setdefault(key, {})[group[0].strategy] = group
        return [
            (found[names[0]], found[names[1]])
            for found in systems.values()
            if {*names} <= found.keys()
        ]


def _failures_told(recorded: Sequence[Group]) -> Iterator[str]:
    for group in recorded:
        failed = [record for record in group if record.status == "failed"]
        if failed:
            first = failed[0]
            yield (
                f"{first.dataset} {first.strategy}: {len(failed)} of {len(group)} questions "
                f"failed; the first, {first.question}: {first.stop_reason}"
            )


def _with_sentence(comparison: PairedTest) -> dict[str, Any]:
    told = {**asdict(comparison), "sentence": comparison.sentence}
    return told | ({} if isfinite(comparison.detectable) else {"detectable": None})
