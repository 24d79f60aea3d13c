"""The calibration of a strategy's confidence on questions with known answers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fathom.calibration.certificate import DELTA, Certificate
from fathom.calibration.law import Calibration, CalibrationFit, LabelledAnswer
from fathom.errors import UsageError
from fathom.evaluation.calibration_metrics import aurc, calibration_error, risk_coverage
from fathom.evaluation.datasets import Dataset
from fathom.evaluation.harness import open_dataset
from fathom.evaluation.measures import is_correct
from fathom.evaluation.records import Record
from fathom.evaluation.runner import OnProgress, Session
from fathom.jsonable import Json

if TYPE_CHECKING:
    from fathom.engine import Engine

COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The coverages, as shares of all questions, for which the report states the risk."""


class CalibrationCase(NamedTuple):
    """The labelled answer of one question, and its confidence before the calibration."""

    outcome: LabelledAnswer | None
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """The report of one calibration.

    Attributes:
        strategy: The name of the strategy.
        calibration: The new calibration.
        questions: The number of questions that could be graded.
        answered: The number of these that were answered.
        wrong: The number of wrong answers.
        ece: The expected calibration error on held-out answers.
        ece_before: The expected calibration error of the earlier confidence; `None` if the answers
            had none.
        aurc: The area under the risk-coverage curve of the answers.
        risk: Pairs (coverage, share of wrong answers), the most confident answers first.
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
        """Return the report as plain values."""
        figures = {name: getattr(self, name) for name in self.__slots__ if name != "calibration"}
        # `coverage` is a property, which `asdict` leaves out.
        certificates = [
            {**asdict(certificate), "coverage": certificate.coverage}
            for certificate in self.calibration.certificates
        ]
        return {**figures, "certificates": certificates, "made_of": dict(self.calibration.made_of)}

    def to_text(self) -> str:
        """Return the report as text for people."""
        head = (
            f"{self.strategy}: {self.questions} questions, {self.answered} answered, "
            f"{self.wrong} of them wrong"
        )
        lines = [head, "", "  errors at most   answered   confidence from"]
        lines += [_format_certificate(certificate) for certificate in self.calibration.certificates]
        lines += [_describe_chance(self.calibration.certificates)]
        lines += ["", "  answered   wrong among them"]
        lines += [f"  {coverage:8.0%}   {risk:.1%}" for coverage, risk in self.risk]
        before = "" if self.ece_before is None else f", {self.ece_before:.3f} before"
        lines += ["", f"  ECE {_format_number(self.ece)}{before}; AURC {_format_number(self.aurc)}"]
        return "\n".join(lines)


def _format_certificate(certificate: Certificate) -> str:
    # A rate such as 2.4 % must not look like another one.
    rate = f"  {f'{certificate.max_error * 100:.4g}%':>14}   "
    if certificate.threshold is not None:
        return f"{rate}{certificate.coverage:8.0%}   {certificate.threshold:.2f}"
    if certificate.more is None:
        return f"{rate}   never   too many answers are wrong; more questions would not help"
    return f"{rate}   never   too few questions; about {certificate.more} more might certify it"


def _describe_chance(certificates: Sequence[Certificate]) -> str:
    # All certificates of a calibration have the same `delta`.
    chance = 100 * (1 - certificates[0].delta)
    return f"  a certified rate holds with a probability of {chance:.4g}%"


def _format_number(value: float | None) -> str:
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
    """Ask questions with known answers, calibrate on the outcomes, and store the calibration.

    Args:
        engine: The engine, whose index holds the documents that the questions are about.
        questions: A file of questions with answers, or a data set, as in docs/evaluation.md.
        feedback: Whether to learn from people's feedback on earlier answers too.
        strategy: The name of the strategy; by default `ask.strategy`.
        max_error: An error rate to certify besides 1, 2, 5 and 10 %.
        delta: The probability that a certificate may fail.
        queries: The size of a sample of questions, the same each time; by default all.
        records: A folder for a record of each question, from which a later run continues.
        on_progress: Called after each question with a name, the number done, and the number of all.

    Raises:
        UsageError: If the questions are malformed or too few, or the strategy does not exist.
        IndexMissing: If nothing has been ingested.
    """
    name = strategy or engine.settings.ask.strategy
    cases: list[CalibrationCase] = []
    made_of: dict[str, Json] = {}
    if questions is not None:
        dataset = (
            questions if isinstance(questions, Dataset) else open_dataset(Path(questions), engine)
        )
        _check_documents(engine, dataset)
        # A bound on errors would turn unsure answers into abstentions, which teach nothing.
        with engine.open_unbounded() as unlimited:
            session = Session(
                engine=unlimited,
                dataset=dataset,
                queries=queries,
                folder=None if records is None else Path(records),
                on_progress=on_progress,
            )
            graded = [record for record in session.collect_answers(name) if is_gradable(record)]
        if not graded:
            raise UsageError(f"{dataset.name}: no question has an answer to compare with")
        cases += [CalibrationCase(extract_outcome(record), record.confidence) for record in graded]
        made_of |= {"questions": dataset.name, "count": len(graded)}
    if feedback:
        labels = engine.calibration.label_answers(name)
        cases += [CalibrationCase(label, None) for label in labels]
        made_of |= {"feedback": len(labels)}
    outcomes = [case.outcome for case in cases]
    calibrated = engine.calibration.learn(
        outcomes, strategy=name, max_error=max_error, delta=delta, made_of=made_of
    )
    return build_report(name, calibrated, cases)


def _check_documents(engine: "Engine", dataset: Dataset) -> None:
    """Check that the index holds a document of the data set.

    Raises:
        UsageError: If it holds none, and so could answer no question.
    """
    if not any(document.id in dataset.documents for document in engine.documents.list()):
        raise UsageError(
            f"{dataset.name}: the index holds none of its documents; run `fathom ingest "
            f"{dataset.corpus}`, or name their index with --index"
        )


def is_gradable(record: Record) -> bool:
    """Return whether there are gold answers, or the question has no answer."""
    return bool(record.gold) or not record.answerable


def extract_outcome(record: Record) -> LabelledAnswer | None:
    """Return the signals of an answer, and whether it is right; `None` without an answer."""
    if not record.is_answered or not record.signals:
        return None
    return LabelledAnswer(record.signals, is_correct(record))


def build_report(
    strategy: str, calibrated: CalibrationFit, cases: Sequence[CalibrationCase]
) -> CalibrationReport:
    """Build the report of a calibration."""
    answers = [case.outcome for case in cases if case.outcome is not None]
    # Held-out confidence, because a law is better on the answers that it was fitted to.
    sure, rightness = list(calibrated.held_out), [outcome.right for outcome in answers]
    curve = [
        # Converts a share of the answers to a share of all questions.
        (coverage * len(answers) / len(cases), risk)
        for coverage, risk in risk_coverage(sure, rightness)
    ]
    before = [
        (case.before, case.outcome.right)
        for case in cases
        if case.outcome is not None and case.before is not None
    ]
    return CalibrationReport(
        strategy=strategy,
        calibration=calibrated.calibration,
        questions=len(cases),
        answered=len(answers),
        wrong=sum(not outcome.right for outcome in answers),
        ece=calibration_error(sure, rightness),
        ece_before=calibration_error([c for c, _ in before], [r for _, r in before]),
        aurc=aurc(sure, rightness),
        risk=tuple(
            _find_point(curve, share) for share in COVERAGES if curve and share <= curve[-1][0]
        ),
    )


def _find_point(curve: Sequence[tuple[float, float]], share: float) -> tuple[float, float]:
    """Return the share, and the risk at the least coverage of the curve that reaches it."""
    # The margin allows for rounding: 3 * 0.1 exceeds 0.3.
    risk = next(risk for coverage, risk in curve if coverage >= share - 1e-9)
    return share, round(risk, 6)
