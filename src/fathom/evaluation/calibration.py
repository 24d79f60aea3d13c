"""Learns from questions with known answers how sure a strategy's answers are, and reports it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fathom.calibration.certificate import DELTA, Certificate
from fathom.calibration.law import Answered, Calibrated, Calibration
from fathom.errors import UsageError
from fathom.evaluation.calibration_metrics import aurc, calibration_error, risk_coverage
from fathom.evaluation.datasets import Dataset
from fathom.evaluation.harness import opened
from fathom.evaluation.measures import right
from fathom.evaluation.records import Record
from fathom.evaluation.runner import OnProgress, Session
from fathom.jsonable import Json

if TYPE_CHECKING:
    from fathom.engine import Engine

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Coverages, of all questions, at which the risk is told."""


class Case(NamedTuple):
    """A question: what came of it, and how sure the answer was before anything was learned."""

    outcome: Answered | None
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """What a calibration came to.

    Attributes:
        questions: How many could be graded.
        answered: How many of them were answered.
        wrong: How many of these were wrong.
        ece: Expected calibration error of answers that the law had not seen.
        ece_before: Of the confidence that answers had before; `None` where they had none.
        aurc: Area under the risk-coverage curve of the answers.
        risk: (coverage, share of wrong ones among the answers), the most confident first.
    """

    strategy: str
    calibration: Calibration
    questions: int
    answered: int
    wrong: int
    ece: float | None
    ece_before: float | None
    aurc: float | None
    risk: tuple[tuple[float, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        told = {name: getattr(self, name) for name in self.__slots__ if name != "calibration"}
        certificates = [
            {**asdict(each), "coverage": each.coverage} for each in self.calibration.certificates
        ]
        return {**told, "certificates": certificates, "made_of": dict(self.calibration.made_of)}

    def to_text(self) -> str:
        """The report for people."""
        head = (
            f"{self.strategy}: {self.questions} questions, {self.answered} answered, "
            f"{self.wrong} of them wrong"
        )
        lines = [head, "", "  errors at most   answered   confidence from"]
        lines += [_row(each) for each in self.calibration.certificates]
        lines += ["", "  answered   wrong among them"]
        lines += [f"  {coverage:8.0%}   {risk:.1%}" for coverage, risk in self.risk]
        before = "" if self.ece_before is None else f", {self.ece_before:.3f} before"
        lines += ["", f"  ECE {_number(self.ece)}{before}; AURC {_number(self.aurc)}"]
        return "\n".join(lines)


def _row(each: Certificate) -> str:
    rate = f"  {each.max_error:14.0%}   "
    if each.threshold is not None:
        return f"{rate}{each.coverage:8.0%}   {each.threshold:.2f}"
    if each.more is None:
        return f"{rate}   never   the answers are wrong too often, however many are known"
    return f"{rate}   never   too few questions: about {each.more} more might certify it"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def calibrate(
    engine: "Engine",
    questions: Dataset | Path | str | None = None,
    *,
    feedback: bool = False,
    strategy: str | None = None,
    max_error: float | None = None,
    delta: float = DELTA,
    queries: int | None = None,
    records: Path | str | None = None,
    on_progress: OnProgress = lambda _what, _done, _all: None,
) -> CalibrationReport:
    """Ask questions whose answers are known, learn from what comes of it, keep it with the index.

    Args:
        engine: Its index holds the documents that the questions are about.
        questions: A file of questions with answers, or a data set; see docs/evaluation.md.
        feedback: Learn also from what people said of earlier answers.
        strategy: By default `ask.strategy`.
        max_error: A rate of errors to certify beside 1, 2, 5 and 10 %.
        delta: How often a certificate may fail.
        queries: At most so many questions: a sample, the same every time.
        records: A folder that keeps a record of every question; a later run goes on after them.
        on_progress: Told how many questions are done, after each.

    Raises:
        UsageError: If the questions are malformed or too few, or there is no such strategy.
        IndexMissing: If nothing has been ingested.
    """
    name = strategy or engine.settings.ask.strategy
    cases: list[Case] = []
    made_of: dict[str, Json] = {}
    if questions is not None:
        dataset = questions if isinstance(questions, Dataset) else opened(Path(questions), engine)
        with engine.unbounded() as asked:
            session = Session(
                engine=asked,
                dataset=dataset,
                queries=queries,
                folder=None if records is None else Path(records),
                on_progress=on_progress,
            )
            graded = [record for record in session.answers(name) if gradable(record)]
        if not graded:
            raise UsageError(f"{dataset.name}: no question has an answer to compare with")
        cases += [Case(answered(record), record.confidence) for record in graded]
        made_of |= {"questions": dataset.name, "count": len(graded)}
    if feedback:
        said = engine.labelled(name)
        cases += [Case(each, None) for each in said]
        made_of |= {"feedback": len(said)}
    outcomes = [case.outcome for case in cases]
    made = engine.calibrate(
        outcomes, strategy=name, max_error=max_error, delta=delta, made_of=made_of
    )
    return report(name, made, cases)


def gradable(record: Record) -> bool:
    """Whether it can be said that an answer is right."""
    return bool(record.gold) or not record.answerable


def answered(record: Record) -> Answered | None:
    """What is learned from a record; `None` where no answer was given."""
    if not record.answered or not record.signals:
        return None
    return Answered(record.signals, right(record))


def report(strategy: str, made: Calibrated, cases: Sequence[Case]) -> CalibrationReport:
    """What a calibration says of what it was learned from."""
    answers = [case.outcome for case in cases if case.outcome is not None]
    sure, was_right = list(made.held_out), [each.right for each in answers]
    curve = [
        (coverage * len(answers) / len(cases), risk)
        for coverage, risk in risk_coverage(sure, was_right)
    ]
    before = [
        (case.before, case.outcome.right)
        for case in cases
        if case.outcome is not None and case.before is not None
    ]
    return CalibrationReport(
        strategy=strategy,
        calibration=made.calibration,
        questions=len(cases),
        answered=len(answers),
        wrong=sum(not each.right for each in answers),
        ece=calibration_error(sure, was_right),
        ece_before=calibration_error([c for c, _ in before], [r for _, r in before]),
        aurc=aurc(sure, was_right),
        risk=tuple(_at(curve, share) for share in SHARES if curve and share <= curve[-1][0]),
    )


def _at(curve: Sequence[tuple[float, float]], share: float) -> tuple[float, float]:
    """The point of the curve with the least coverage that reaches a share."""
    risk = next(risk for coverage, risk in curve if coverage >= share - 1e-9)
    return share, round(risk, 6)
