"""The regression gate, which compares a run with the baseline of an earlier run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from fathom.errors import UsageError
from fathom.evaluation.comparison import PairedTest, contrast, correct_for_all
from fathom.evaluation.measures import get_bounds
from fathom.evaluation.records import Record
from fathom.evaluation.rows import score_questions
from fathom.evaluation.statistics import SIGNIFICANT
from fathom.jsonable import dump_canonical, hash_text

GATED_MEASURES = ("F1", "RAMDocs-EM", "CRAG-truthfulness", "R@10")
"""The measures of strategies that must not fall, if the data set has them; higher is better."""
GATED_RANKING_MEASURES = ("nDCG@10", "R@10")
"""The measures of retrievers that must not fall; higher is better."""
FORMAT = 2
"""The version of the baseline file; files of other versions are refused."""

SystemKey = tuple[str, str]
"""The key of a system: its data set, and its name with the varied settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemBaseline:
    """The values of one system on one data set, without texts.

    Attributes:
        questions: The hash of each question with its right answers, by id.
        measures: The values by measure and question id.
    """

    questions: Mapping[str, str]
    measures: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, records: Sequence[Record]) -> Self:
        """Return the values of the records of one system."""
        names = GATED_RANKING_MEASURES if records[0].is_ranking else GATED_MEASURES
        by_measure = {name: score_questions(name, records) for name in names}
        return cls(
            questions=_hash_questions(records),
            measures={name: scores for name, scores in by_measure.items() if scores},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The values of a run, with which a later run is compared.

    Attributes:
        systems: The values of each system.
        source: The path of the file, for messages.
    """

    systems: Mapping[SystemKey, SystemBaseline]
    source: str = "the baseline"

    @classmethod
    def of(cls, groups: Sequence[Sequence[Record]]) -> Self:
        """Return the baseline of the records of each system on each data set."""
        return cls(
            systems={_identify_system(records): SystemBaseline.of(records) for records in groups}
        )

    @classmethod
    def load(cls, file: Path) -> Self:
        """Load a baseline that `save` wrote.

        Raises:
            UsageError: If the file is missing or is not a baseline.
        """
        try:
            systems = _parse_systems(file.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise UsageError(
                f"{file}: {error.strerror}; write a baseline with --save-baseline"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(
                f"{file}: not a baseline ({type(error).__name__}); write one with --save-baseline"
            ) from None
        return cls(systems=systems, source=str(file))

    def save(self, file: Path) -> None:
        """Write the baseline as one JSON object, completely or not at all."""
        rows = [
            {"dataset": dataset, "system": system, **_to_plain(values)}
            for (dataset, system), values in sorted(self.systems.items())
        ]
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.new")
        fresh.write_text(
            dump_canonical({"fathom_baseline": FORMAT, "systems": rows}) + "\n", "utf-8"
        )
        # A run that is killed before this line does not change the old baseline.
        fresh.replace(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """The outcome of the gate.

    Attributes:
        checks: The test of each gated measure of each system, this run minus the baseline.
    """

    checks: Sequence[PairedTest]

    @property
    def regressions(self) -> tuple[PairedTest, ...]:
        """The checks in which quality fell; without any the gate is passed."""
        return tuple(check for check in self.checks if is_regression(check))

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        count = len(self.checks)
        if not self.regressions:
            return f"Gate passed: none of {count} measures fell significantly below the baseline."
        return (
            f"Gate failed: {len(self.regressions)} of {count} measures fell significantly "
            "below the baseline."
        )


def compare_with_baseline(baseline: Baseline, groups: Sequence[Sequence[Record]]) -> GateOutcome:
    """Compare a run with a baseline, question by question.

    A measure fell if its paired bootstrap interval is below 0 and its test, corrected by Holm for
    all measures of all systems, confirms it. The interval alone gives false alarms if few questions
    changed. An equally good run fails at most one time in forty.

    Raises:
        UsageError: If the systems or the questions differ from those of the baseline.
    """
    check_questions(baseline, groups)
    checks = []
    for (dataset, system), ours in Baseline.of(groups).systems.items():
        theirs = baseline.systems[dataset, system]
        sides = (system, "its baseline")
        for name, values_now in ours.measures.items():
            before = theirs.measures.get(name, {})
            # Only questions with both values can be paired.
            paired = [(value, before[q]) for q, value in values_now.items() if q in before]
            checks += [contrast(dataset, name, sides, paired)] if paired else []
    return GateOutcome(checks=correct_for_all(checks))


def check_questions(baseline: Baseline, groups: Sequence[Sequence[Record]]) -> None:
    """Check that a run has the systems and the questions of a baseline.

    The check needs no replies, so it can use the records of `plan_records` before a run.

    Raises:
        UsageError: If the systems or the questions differ from those of the baseline.
    """
    now = {_identify_system(records): _hash_questions(records) for records in groups}
    for name, where in (
        *((key, f"is not in {baseline.source}") for key in sorted(now.keys() - baseline.systems)),
        *((key, "was not run") for key in sorted(baseline.systems.keys() - now)),
    ):
        raise UsageError(
            f"{name[1]} on {name[0]} {where}: run the data sets and systems of the baseline, "
            "or write a new one with --save-baseline"
        )
    for (dataset, system), ours in now.items():
        theirs = baseline.systems[dataset, system].questions
        for question in sorted(ours.keys() | theirs.keys()):
            # The hash differs if the text, a gold answer or the qrels have changed.
            if ours.get(question) != theirs.get(question):
                raise UsageError(
                    f"question {question} of {dataset} differs from that in {baseline.source}: ask "
                    "the same questions (--queries), or write a new baseline with --save-baseline"
                )


def is_regression(check: PairedTest) -> bool:
    """Return whether the first system of a test is significantly worse than the second."""
    return check.interval[1] < 0 and check.p_holm < SIGNIFICANT


def _identify_system(records: Sequence[Record]) -> SystemKey:
    """Return the key of a system; the prefix separates retrievers from strategies."""
    first = records[0]
    # A retriever may have the name of a strategy, such as `hybrid`.
    return first.dataset, f"retriever {first.system}" if first.is_ranking else first.system


def _hash_questions(records: Sequence[Record]) -> dict[str, str]:
    """Return the hash of each question with its right answers, by id."""
    return {
        record.question: hash_text(
            dump_canonical(
                [record.text, record.gold, record.wrong, record.answerable, record.relevant]
            )
        )[:16]
        for record in records
    }


def _to_plain(values: SystemBaseline) -> dict[str, Any]:
    return {"questions": values.questions, "measures": values.measures}


def _parse_systems(text: str) -> dict[SystemKey, SystemBaseline]:
    # Python would read NaN, which no comparison can handle.
    row = json.loads(text, parse_constant=_refuse_constant)
    if row["fathom_baseline"] != FORMAT:
        raise ValueError("another format")
    return {(entry["dataset"], entry["system"]): _parse_system(entry) for entry in row["systems"]}


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _parse_system(row: Mapping[str, Any]) -> SystemBaseline:
    questions = {str(name): str(hashed) for name, hashed in row["questions"].items()}
    measures = {
        str(name): {str(question): _parse_value(name, value) for question, value in scores.items()}
        for name, scores in row["measures"].items()
    }
    # A gate without any value to compare would pass every run.
    if not any(measures.values()):
        raise ValueError("no measures")
    return SystemBaseline(questions=questions, measures=measures)


def _parse_value(measure: str, value: object) -> float:
    low, high = get_bounds(measure)
    if not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"{value} is no value of {measure}")
    return float(value)
