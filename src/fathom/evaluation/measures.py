"""The measures of answers and rankings, by name: of one record, or of all records together.

A measure that a record cannot have is `None` and does not count: EM without gold answers or of a
ranking, R@5 without qrels, R@100 of evidence, which is not that deep, support of no answer. A
failed run has the worst value of every measure that applies to all questions, also where there is
no answer: it is neither right nor an abstention.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from fathom.evaluation.calibration_metrics import aurc, auroc, calibration_error
from fathom.evaluation.ir_metrics import DEPTH, MEASURES, Measure
from fathom.evaluation.records import Record
from fathom.text.answer_scores import all_and_only, exact_match, f1, holds, is_right

Score = Callable[[Record], float | None]
Whole = Callable[[Sequence["Judged"]], float | None]

SIGNED = frozenset({"CRAG-truthfulness"})
"""The measures from -1 to 1; all others are from 0 to 1."""
LOWER_IS_BETTER = frozenset({"abstained", "failed", "wrong-on-answerable", "AURC", "ECE"})
SUPPORTED = 0.5
"""The least support with which a citation counts as supporting its claim."""


def bounds(measure: str) -> tuple[float, float]:
    """Return the least and the largest value that a measure can have."""
    return (-1.0, 1.0) if measure in SIGNED else (0.0, 1.0)


def _graded(record: Record) -> bool:
    """Return whether an answer can be graded: there are gold answers, or there is no answer."""
    return _has_gold(record) or _without_answer(record)


def right(record: Record) -> bool:
    """Return whether the question was answered, and rightly, as `is_right` decides.

    An answer is also right where the short answer is a part of a gold one that stands whole in the
    sentences it is shown with: "28 September 2018" beside "on 28 September 2018, at 18.02".
    """
    if not (record.answered and record.answerable):
        return False
    return is_right(record.said, record.gold, record.wrong or ()) or _completed(record)


def _completed(record: Record) -> bool:
    # A fragment can be nearer to a known wrong answer than to a right one.
    near_wrong = f1(record.said, record.wrong or ()) > f1(record.said, record.gold)
    return not near_wrong and any(
        holds(gold, record.said) and holds(record.long, gold) for gold in record.gold
    )


def _against_gold(
    get_text: Callable[[Record], str], compare: Callable[[str, Sequence[str]], float]
) -> Score:
    """Return a score against the gold answers, as in SQuAD 2.0.

    An abstention is the empty answer, right where there is none.
    """

    def score(record: Record) -> float | None:
        if not _graded(record):
            return None
        if not record.answerable:
            return float(record.status == "abstained")
        return compare(get_text(record), record.gold) if record.answered else 0.0

    return score


def _if(is_scored: Callable[[Record], bool], score: Score) -> Score:
    return lambda record: score(record) if is_scored(record) else None


def _status(status: str) -> Score:
    return lambda record: float(record.status == status)


def _answers(record: Record) -> bool:
    return not record.ranks


def _said(record: Record) -> str:
    return record.said


def _has_gold(record: Record) -> bool:
    return bool(record.gold) and not record.ranks


def _without_answer(record: Record) -> bool:
    return not (record.answerable or record.ranks)


def _silent(record: Record) -> bool:
    """Return whether the strategy abstained on a question that can be graded."""
    return record.status == "abstained" and _graded(record)


def _wrong(record: Record) -> float:
    return float(record.status != "abstained" and not right(record))


def _truthfulness(record: Record) -> float | None:
    if not _graded(record):
        return None
    return float(right(record)) - _wrong(record)


def _conflicts(record: Record) -> float | None:
    if record.wrong is None or record.ranks:
        return None
    # Sources conflict here, so every right reading must be shown, and none of the wrong ones.
    readings = (record.said, *record.conflicts) if record.answered else ()
    return all_and_only(readings, record.gold, record.wrong)


def _cited(record: Record) -> bool:
    return record.answered and bool(record.citations)


def _support(record: Record) -> float:
    return fmean(citation.support for citation in record.citations)


def _quoted(record: Record) -> float | None:
    if not record.gold:
        return None
    return float(
        any(holds(citation.quote, gold) for citation in record.citations for gold in record.gold)
    )


def _overlap(record: Record) -> float:
    return fmean(citation.support >= SUPPORTED for citation in record.citations)


def _precision(record: Record) -> float | None:
    if not record.relevant:
        return None
    return fmean(citation.document in record.relevant for citation in record.citations)


def _recall(record: Record) -> float | None:
    if not record.relevant:
        return None
    return fmean(
        any(document == citation.document for citation in record.citations)
        for document in record.relevant
    )


def _on_ranking(measure: Measure) -> Score:
    def score(record: Record) -> float | None:
        return measure(record.evidence, record.relevant) if record.relevant else None

    return score


def _is_deep(record: Record) -> bool:
    return record.depth is not None and record.depth >= DEPTH


_em, _f1 = _against_gold(_said, exact_match), _against_gold(_said, f1)

SCORES: Mapping[str, Score] = {
    "EM": _em,
    "F1": _f1,
    "short-F1": _against_gold(lambda record: record.short_answer, f1),
    "text-F1": _against_gold(lambda record: record.long, f1),
    "has-answer-EM": _if(_has_gold, _em),
    "has-answer-F1": _if(_has_gold, _f1),
    "no-answer-F1": _if(_without_answer, _f1),
    "right": _if(_has_gold, lambda record: float(right(record))),
    "RAMDocs-EM": _conflicts,
    "CRAG-truthfulness": _truthfulness,
    "wrong-on-answerable": _if(_has_gold, _wrong),
    "answered": _if(_answers, _status("answered")),
    "abstained": _if(_answers, _status("abstained")),
    "abstention-precision": _if(_silent, lambda record: float(not record.answerable)),
    "abstention-recall": _if(_without_answer, _status("abstained")),
    "support": _if(_cited, _support),
    "support-overlap": _if(_cited, _overlap),
    "answer-in-citation": _if(_cited, _quoted),
    "citation-precision": _if(_cited, _precision),
    "citation-recall": _if(_cited, _recall),
    **{name: _on_ranking(measure) for name, measure in MEASURES.items()},
    # Evidence of an answer is shallower than a ranking, so this entry replaces the one above.
    f"R@{DEPTH}": _if(_is_deep, _on_ranking(MEASURES[f"R@{DEPTH}"])),
    "failed": _status("failed"),
}
"""The scores of one record by measure; the measure is their mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The facts of one record that group scores need; made once, resampled often."""

    confidence: float | None
    answered: bool
    answerable: bool
    graded: bool
    right: bool

    @classmethod
    def of(cls, record: Record) -> Self:
        """Return the facts of a record."""
        return cls(
            confidence=record.sureness,
            answered=record.answered,
            answerable=record.answerable,
            graded=_graded(record),
            right=right(record),
        )


def _sure(answers: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """Return the confidence and the rightness of all graded answers."""
    outcomes = [(j.confidence, j.right) for j in answers if j.answered and j.graded]
    confident = [(confidence, right) for confidence, right in outcomes if confidence is not None]
    return [confidence for confidence, _ in confident], [right for _, right in confident]


def _knows_right(answers: Sequence[Judged]) -> float | None:
    return auroc(*_sure(answers))


def _knows_answerable(answers: Sequence[Judged]) -> float | None:
    outcomes = [(j.confidence, j.answerable) for j in answers if j.confidence is not None]
    return auroc(
        [confidence for confidence, _ in outcomes], [answerable for _, answerable in outcomes]
    )


def ranked(answers: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """Return the confidence and the rightness of all answers that can be graded.

    Questions without an answer come last and are not right, so that a threshold changes nothing.
    """
    graded = [answer for answer in answers if answer.graded]
    # An abstention ranks below every answer, also below one of confidence 0.
    sure = [(answer.confidence or 0.0) if answer.answered else -1.0 for answer in graded]
    return sure, [answer.right for answer in graded]


def _risk(answers: Sequence[Judged]) -> float | None:
    return aurc(*ranked(answers))


def _calibration(answers: Sequence[Judged]) -> float | None:
    return calibration_error(*_sure(answers))


WHOLE: Mapping[str, Whole] = {
    "AUROC": _knows_right,
    "AUROC-answerable": _knows_answerable,
    "AURC": _risk,
    "ECE": _calibration,
}
"""The scores of all records together, by measure."""
