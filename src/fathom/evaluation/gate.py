"""The regression gate: whether quality fell below a baseline that was written before."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from fathom.errors import UsageError
from fathom.evaluation.comparison import SIGNIFICANT, PairedTest, contrast, corrected
from fathom.evaluation.records import Record
from fathom.evaluation.rows import values
from fathom.jsonable import canonical, digest

GATED = ("F1", "RAMDocs-EM", "CRAG-truthfulness", "R@10")
"""What must not fall, where the data set has it; higher is better in all of them."""
GATED_RANKINGS = ("nDCG@10", "R@10")
"""Likewise of retrievers."""
FORMAT = 2

System = tuple[str, str]
"""Data set and strategy or retriever, with what was varied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one system made of one data set, without any text of it.

    Attributes:
        questions: Question id -> a hash of all that makes the question and what is right.
        measures: Measure -> question id -> value.
    """

    questions: Mapping[str, str]
    measures: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, records: Sequence[Record]) -> Self:
        """That of records."""
        names = GATED_RANKINGS if records[0].ranks else GATED
        found = {name: values(name, records) for name in names}
        return cls(
            questions={record.question: _hash(record) for record in records},
            measures={name: each for name, each in found.items() if each},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a run is held against.

    Attributes:
        source: Where it lies, for messages.
    """

    systems: Mapping[System, Measured]
    source: str = "the baseline"

    @classmethod
    def of(cls, answered: Sequence[Sequence[Record]]) -> Self:
        """That of the records of each system on each data set."""
        return cls(systems={_system(records): Measured.of(records) for records in answered})

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            UsageError: If the file is missing or is no baseline.
        """
        try:
            systems = _systems(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(
                f"{file}: {error.strerror}; write a baseline with --save-baseline"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{file}: not a baseline ({type(error).__name__}); write one with --save-baseline"
            ) from None
        return cls(systems=systems, source=str(file))

    def save(self, file: Path) -> None:
        """Write it as one JSON object, whole or not at all."""
        rows = [
            {"dataset": dataset, "system": system, **_plain(measured)}
            for (dataset, system), measured in sorted(self.systems.items())
        ]
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.new")
        fresh.write_text(canonical({"fathom_baseline": FORMAT, "systems": rows}) + "\n", "utf-8")
        fresh.replace(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """Whether a run may pass.

    Attributes:
        checks: Each gated measure of each system, now minus baseline.
    """

    checks: Sequence[PairedTest]

    @property
    def fallen(self) -> tuple[PairedTest, ...]:
        """Where quality fell; none, and the run may pass."""
        return tuple(check for check in self.checks if fell(check))

    @property
    def sentence(self) -> str:
        """What it comes to, in plain words."""
        count = len(self.checks)
        if not self.fallen:
            return f"Gate passed: none of {count} measures fell significantly below the baseline."
        return (
            f"Gate failed: {len(self.fallen)} of {count} measures fell significantly "
            "below the baseline."
        )


def gated(baseline: Baseline, answered: Sequence[Sequence[Record]]) -> GateOutcome:
    """Hold a run against a baseline, question by question.

    A measure fell if its paired bootstrap interval lies below 0 and its test, corrected by Holm
    for all measures of all systems, says so too: the interval alone gives false alarms where few
    questions changed. So a run that is as good fails at most once in forty times.

    Raises:
        UsageError: If the run has other systems or other questions than the baseline.
    """
    now = Baseline.of(answered)
    _check_systems(baseline, now)
    made = []
    for (dataset, system), ours in now.systems.items():
        theirs = baseline.systems[dataset, system]
        _check_questions(ours, theirs, dataset, baseline.source)
        sides = (system, "its baseline")
        for name, values_now in ours.measures.items():
            before = theirs.measures.get(name, {})
            paired = [(value, before[q]) for q, value in values_now.items() if q in before]
            made += [contrast(dataset, name, sides, paired)] if paired else []
    return GateOutcome(checks=corrected(made))


def fell(check: PairedTest) -> bool:
    """Whether the first side of a comparison is surely below the second."""
    return check.interval[1] < 0 and check.p_holm < SIGNIFICANT


def _system(records: Sequence[Record]) -> System:
    """A retriever may have the name of a strategy, such as `hybrid`."""
    first = records[0]
    return first.dataset, f"retriever {first.system}" if first.ranks else first.system


def _hash(record: Record) -> str:
    made = [record.text, record.gold, record.wrong, record.answerable, record.relevant]
    return digest(canonical(made))[:16]


def _plain(measured: Measured) -> dict[str, Any]:
    return {"questions": measured.questions, "measures": measured.measures}


def _systems(text: str) -> dict[System, Measured]:
    row = json.loads(text, parse_constant=_refuse)
    if row["fathom_baseline"] != FORMAT:
        raise ValueError("another format")
    return {(each["dataset"], each["system"]): _measured(each) for each in row["systems"]}


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _measured(row: Mapping[str, Any]) -> Measured:
    questions = {str(name): str(hashed) for name, hashed in row["questions"].items()}
    measures = {
        str(name): {str(question): float(value) for question, value in each.items()}
        for name, each in row["measures"].items()
    }
    return Measured(questions=questions, measures=measures)


def _check_systems(baseline: Baseline, now: Baseline) -> None:
    for name, where in (
        *((each, f"is not in {baseline.source}") for each in now.systems.keys() - baseline.systems),
        *((each, "was not run") for each in baseline.systems.keys() - now.systems),
    ):
        raise UsageError(
            f"{name[1]} on {name[0]} {where}: run the data sets and systems of the baseline, "
            "or write a new one with --save-baseline"
        )


def _check_questions(ours: Measured, theirs: Measured, dataset: str, source: str) -> None:
    for question in sorted(ours.questions.keys() | theirs.questions.keys()):
        if ours.questions.get(question) != theirs.questions.get(question):
            raise UsageError(
                f"question {question} of {dataset} is not the same in {source}: ask what the "
                "baseline asked (--queries), or write a new one with --save-baseline"
            )
