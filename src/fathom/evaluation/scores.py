"""The measures of answers, by name: of one record, or of all records together.

A measure that a record cannot have is `None` and does not count: EM without gold answers, R@5
without qrels, support of no answer. A failed run has the worst value of all that is asked of every
question, also where there is no answer: it is neither right nor an abstention.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Self

from fathom.evaluation.answers import all_and_only, exact_match, f1, holds, is_right
from fathom.evaluation.honesty import aurc, auroc, calibration_error
from fathom.evaluation.records import Record

Score = Callable[[Record], float | None]
Whole = Callable[[Sequence["Judged"]], float | None]

LOWER_IS_BETTER = frozenset({"abstained", "failed", "wrong-on-answerable", "AURC", "ECE"})


def _graded(record: Record) -> bool:
    """Whether it can be said that an answer is right: by gold answers, or as there is none."""
    return bool(record.gold) or not record.answerable


def right(record: Record) -> bool:
    """Whether it was answered, and rightly; see `is_right`."""
    said = record.answered and record.answerable
    return said and is_right(record.said, record.gold, record.wrong or ())


def _against_gold(
    said: Callable[[Record], str], compare: Callable[[str, Sequence[str]], float]
) -> Score:
    """As in SQuAD 2.0: an abstention is the empty answer, right where there is none."""

    def score(record: Record) -> float | None:
        if not _graded(record):
            return None
        if not record.answerable:
            return float(record.status == "abstained")
        return compare(said(record), record.gold) if record.answered else 0.0

    return score


def _if(applies: Callable[[Record], bool], score: Score) -> Score:
    return lambda record: score(record) if applies(record) else None


def _status(wanted: str) -> Score:
    return lambda record: float(record.status == wanted)


def _said(record: Record) -> str:
    return record.said


def _has_gold(record: Record) -> bool:
    return bool(record.gold)


def _wrong(record: Record) -> float:
    return float(record.status != "abstained" and not right(record))


def _truthfulness(record: Record) -> float | None:
    if not _graded(record):
        return None
    return float(right(record)) - _wrong(record)


def _conflicts(record: Record) -> float | None:
    if record.wrong is None:
        return None
    readings = (record.said, *record.conflicts) if record.answered else ()
    return all_and_only(readings, record.gold, record.wrong)


def _cited(record: Record) -> bool:
    return record.answered and bool(record.citations)


def _support(record: Record) -> float:
    return fmean(each.support for each in record.citations)


def _quoted(record: Record) -> float | None:
    if not record.gold:
        return None
    return float(any(holds(each.quote, gold) for each in record.citations for gold in record.gold))


def _precision(record: Record) -> float | None:
    if not record.relevant:
        return None
    return fmean(each.document in record.relevant for each in record.citations)


def recall(k: int, record: Record) -> float | None:
    """The share of the relevant documents among the first `k` of the evidence."""
    if not record.relevant:
        return None
    return len({*record.evidence[:k]} & {*record.relevant}) / len(record.relevant)


_em, _f1 = _against_gold(_said, exact_match), _against_gold(_said, f1)

SCORES: Mapping[str, Score] = {
    "EM": _em,
    "F1": _f1,
    "short-F1": _against_gold(lambda record: record.short_answer, f1),
    "text-F1": _against_gold(lambda record: record.long, f1),
    "has-answer-EM": _if(_has_gold, _em),
    "has-answer-F1": _if(_has_gold, _f1),
    "no-answer-F1": _if(lambda record: not record.answerable, _f1),
    "right": _if(_has_gold, lambda record: float(right(record))),
    "RAMDocs-EM": _conflicts,
    "CRAG-truthfulness": _truthfulness,
    "wrong-on-answerable": _if(_has_gold, _wrong),
    "answered": _status("answered"),
    "abstained": _status("abstained"),
    "failed": _status("failed"),
    "R@5": partial(recall, 5),
    "R@10": partial(recall, 10),
    "support": _if(_cited, _support),
    "answer-in-citation": _if(_cited, _quoted),
    "citation-precision": _if(_cited, _precision),
}
"""Values of one record; the measure is their mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What measures of all records together need of each; made once, drawn often."""

    confidence: float | None
    answered: bool
    answerable: bool
    graded: bool
    right: bool

    @classmethod
    def of(cls, record: Record) -> Self:
        """That of a record."""
        return cls(
            confidence=record.confidence,
            answered=record.answered,
            answerable=record.answerable,
            graded=_graded(record),
            right=right(record),
        )


def _sure(judged: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """Confidence and rightness of what was answered."""
    kept = [(j.confidence, j.right) for j in judged if j.answered and j.graded]
    told = [(confidence, right) for confidence, right in kept if confidence is not None]
    return [confidence for confidence, _ in told], [right for _, right in told]


def _knows_right(judged: Sequence[Judged]) -> float | None:
    return auroc(*_sure(judged))


def _knows_answerable(judged: Sequence[Judged]) -> float | None:
    told = [(j.confidence, j.answerable) for j in judged if j.confidence is not None]
    return auroc([confidence for confidence, _ in told], [answerable for _, answerable in told])


def ranked(judged: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """How sure and whether right, of all that can be graded.

    Who did not answer comes last and is not right: so a threshold changes nothing.
    """
    graded = [each for each in judged if each.graded]
    sure = [(each.confidence or 0.0) if each.answered else -1.0 for each in graded]
    return sure, [each.right for each in graded]


def _risk(judged: Sequence[Judged]) -> float | None:
    return aurc(*ranked(judged))


def _calibration(judged: Sequence[Judged]) -> float | None:
    return calibration_error(*_sure(judged))


WHOLE: Mapping[str, Whole] = {
    "AUROC": _knows_right,
    "AUROC-answerable": _knows_answerable,
    "AURC": _risk,
    "ECE": _calibration,
}
"""Values of all records together."""
