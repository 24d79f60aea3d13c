"""The measures of answers and rankings by name, for one record or for all records together.

A measure that a record cannot have is `None` and does not count: EM without gold answers or of a
ranking, R@5 without qrels, R@100 of evidence, which is not that deep, or support without an answer.
A failed run has the worst value of each measure that applies to all questions, even if the question
has no answer, because it is neither right nor an abstention.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Self

from fathom.evaluation.calibration_metrics import aurc, auroc, calibration_error
from fathom.evaluation.ir_metrics import DEPTH, MEASURES, Measure
from fathom.evaluation.records import Record
from fathom.text.answer_scores import (
    holds_answer,
    is_right,
    score_all_and_only,
    score_exact_match,
    score_f1,
)

RecordScore = Callable[[Record], float | None]
GroupScore = Callable[[Sequence["GradedAnswer"]], float | None]

SIGNED = frozenset({"CRAG-truthfulness"})
"""The measures from -1 to 1; all others are from 0 to 1."""
FATES = ("shown", "tentative", "withheld")
"""The fates of a draft: shown as the answer, shown as not sure, or not shown."""
DRAFT_MEASURES = tuple(f"{kind}-{fate}" for kind in ("right", "wrong") for fate in FATES)
"""The shares of questions whose draft was right or wrong, by the fate of the draft."""
LOWER_IS_BETTER = frozenset(
    {"abstained", "failed", "wrong-on-answerable", "AURC", "ECE", "right-withheld", "wrong-shown"}
)
MIN_SUPPORT = 0.5
"""The least support with which a citation counts as supporting its claim."""


def get_bounds(measure: str) -> tuple[float, float]:
    """Return the least and the largest value that a measure can have."""
    return (-1.0, 1.0) if measure in SIGNED else (0.0, 1.0)


def _is_gradable(record: Record) -> bool:
    """Return whether there are gold answers, or the question has no answer; not for a ranking."""
    return _has_gold(record) or _is_unanswerable(record)


def is_correct(record: Record) -> bool:
    """Return whether the question was answered rightly, as `is_right` decides.

    An answer is also right if its short answer is a part of a gold answer, and its sentences
    contain the whole gold answer: "28 September 2018" with "on 28 September 2018, at 18.02".
    """
    if not (record.is_answered and record.answerable):
        return False
    return is_right(record.compared_text, record.gold, record.wrong or ()) or _is_completed_by_text(
        record
    )


def _is_completed_by_text(record: Record) -> bool:
    # A fragment can be nearer to a wrong answer than to a right one.
    near_wrong = score_f1(record.compared_text, record.wrong or ()) > score_f1(
        record.compared_text, record.gold
    )
    return not near_wrong and any(
        holds_answer(gold, record.compared_text) and holds_answer(record.plain_text, gold)
        for gold in record.gold
    )


def _make_gold_score(
    get_text: Callable[[Record], str], compare: Callable[[str, Sequence[str]], float]
) -> RecordScore:
    """Return a function that compares a record with the gold answers, as in SQuAD 2.0.

    If there is no answer, an abstention scores 1 and any other reply 0.
    """

    def score(record: Record) -> float | None:
        if not _is_gradable(record):
            return None
        if not record.answerable:
            return float(record.status == "abstained")
        return compare(get_text(record), record.gold) if record.is_answered else 0.0

    return score


def _restrict_score(is_scored: Callable[[Record], bool], score: RecordScore) -> RecordScore:
    return lambda record: score(record) if is_scored(record) else None


def _make_status_score(status: str) -> RecordScore:
    return lambda record: float(record.status == status)


def _wants_answer(record: Record) -> bool:
    return not record.is_ranking


def _get_compared_text(record: Record) -> str:
    return record.compared_text


def _has_gold(record: Record) -> bool:
    return bool(record.gold) and not record.is_ranking


def _is_unanswerable(record: Record) -> bool:
    return not (record.answerable or record.is_ranking)


def _is_gradable_abstention(record: Record) -> bool:
    """Return whether the strategy abstained on a question that can be graded."""
    return record.status == "abstained" and _is_gradable(record)


def _score_wrong(record: Record) -> float:
    # A tentative answer does not claim to be right.
    claims = record.status != "abstained" and not record.tentative
    return float(claims and not is_correct(record))


def _score_truthfulness(record: Record) -> float | None:
    if not _is_gradable(record):
        return None
    return float(is_correct(record) and not record.tentative) - _score_wrong(record)


def _find_fate(record: Record) -> str:
    """Return the fate of the draft, from `FATES`; empty without a draft."""
    if record.is_answered:
        return "tentative" if record.tentative else "shown"
    return "withheld" if record.withheld else ""


def _is_draft_right(record: Record) -> bool:
    """Return whether the answer, or the withheld draft, is right."""
    if record.is_answered:
        return is_correct(record)
    draft = record.withheld
    return bool(draft) and is_correct(
        replace(
            record,
            status="answered",
            answer=draft["answer"],
            short_answer=draft["short_answer"],
        )
    )


def _make_draft_score(kind: str, fate: str) -> RecordScore:
    def score(record: Record) -> float | None:
        if not _is_gradable(record):
            return None
        return float(_find_fate(record) == fate and _is_draft_right(record) == (kind == "right"))

    return score


def _score_conflicts(record: Record) -> float | None:
    # Without gold answers no reading could be right, and an abstention would count as wrong.
    if record.wrong is None or not _has_gold(record):
        return None
    # The documents disagree, so all right readings must be shown, and no wrong one.
    first = () if record.disputed else (record.compared_text,)
    readings = (*first, *record.conflicts) if record.is_answered else ()
    return score_all_and_only(readings, record.gold, record.wrong)


def _has_citations(record: Record) -> bool:
    return record.is_answered and bool(record.citations)


def _average_support(record: Record) -> float:
    return fmean(citation.support for citation in record.citations)


def _score_quoted_gold(record: Record) -> float | None:
    if not record.gold:
        return None
    return float(
        any(
            holds_answer(citation.quote, gold)
            for citation in record.citations
            for gold in record.gold
        )
    )


def _score_support_share(record: Record) -> float:
    return fmean(citation.support >= MIN_SUPPORT for citation in record.citations)


def _score_citation_precision(record: Record) -> float | None:
    if not record.relevant:
        return None
    return fmean(citation.document in record.relevant for citation in record.citations)


def _score_citation_recall(record: Record) -> float | None:
    if not record.relevant:
        return None
    return fmean(
        any(document == citation.document for citation in record.citations)
        for document in record.relevant
    )


def _make_ranking_score(measure: Measure) -> RecordScore:
    def score(record: Record) -> float | None:
        return measure(record.evidence, record.relevant) if record.relevant else None

    return score


def _is_deep(record: Record) -> bool:
    return record.depth is not None and record.depth >= DEPTH


_em, _f1 = (
    _make_gold_score(_get_compared_text, score_exact_match),
    _make_gold_score(_get_compared_text, score_f1),
)

SCORES: Mapping[str, RecordScore] = {
    "EM": _em,
    "F1": _f1,
    "short-F1": _make_gold_score(lambda record: record.short_answer, score_f1),
    "text-F1": _make_gold_score(lambda record: record.plain_text, score_f1),
    "has-answer-EM": _restrict_score(_has_gold, _em),
    "has-answer-F1": _restrict_score(_has_gold, _f1),
    "no-answer-F1": _restrict_score(_is_unanswerable, _f1),
    "right": _restrict_score(_has_gold, lambda record: float(is_correct(record))),
    "RAMDocs-EM": _score_conflicts,
    "CRAG-truthfulness": _score_truthfulness,
    "wrong-on-answerable": _restrict_score(_has_gold, _score_wrong),
    "answered": _restrict_score(_wants_answer, _make_status_score("answered")),
    "abstained": _restrict_score(_wants_answer, _make_status_score("abstained")),
    "abstention-precision": _restrict_score(
        _is_gradable_abstention, lambda record: float(not record.answerable)
    ),
    "abstention-recall": _restrict_score(_is_unanswerable, _make_status_score("abstained")),
    "support": _restrict_score(_has_citations, _average_support),
    "support-overlap": _restrict_score(_has_citations, _score_support_share),
    "answer-in-citation": _restrict_score(_has_citations, _score_quoted_gold),
    "citation-precision": _restrict_score(_has_citations, _score_citation_precision),
    "citation-recall": _restrict_score(_has_citations, _score_citation_recall),
    **{name: _make_ranking_score(measure) for name, measure in MEASURES.items()},
    # Replaces the entry above, because the evidence of an answer is not deep enough.
    f"R@{DEPTH}": _restrict_score(_is_deep, _make_ranking_score(MEASURES[f"R@{DEPTH}"])),
    "tentative": _restrict_score(_wants_answer, lambda record: float(record.tentative)),
    **{name: _make_draft_score(*name.split("-")) for name in DRAFT_MEASURES},
    "failed": _make_status_score("failed"),
}
"""The scores of one record by measure; the measure is their mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAnswer:
    """The facts of one record that group scores need, computed once for all resamples."""

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
            answered=record.is_answered,
            answerable=record.answerable,
            graded=_is_gradable(record),
            right=is_correct(record),
        )


def _pair_confidence(answers: Sequence[GradedAnswer]) -> tuple[list[float], list[bool]]:
    """Return the confidence of all graded answers, and whether each is right."""
    outcomes = [
        (answer.confidence, answer.right) for answer in answers if answer.answered and answer.graded
    ]
    confident = [(confidence, right) for confidence, right in outcomes if confidence is not None]
    return [confidence for confidence, _ in confident], [right for _, right in confident]


def _compute_right_auroc(answers: Sequence[GradedAnswer]) -> float | None:
    return auroc(*_pair_confidence(answers))


def _compute_answerable_auroc(answers: Sequence[GradedAnswer]) -> float | None:
    outcomes = [
        (answer.confidence, answer.answerable)
        for answer in answers
        if answer.confidence is not None
    ]
    return auroc(
        [confidence for confidence, _ in outcomes], [answerable for _, answerable in outcomes]
    )


def rank_by_confidence(answers: Sequence[GradedAnswer]) -> tuple[list[float], list[bool]]:
    """Return the confidence of all gradable records, and whether each is right.

    Records without an answer come last and are not right, so that a threshold changes nothing.
    """
    graded = [answer for answer in answers if answer.graded]
    # An abstention ranks below every answer, also below one of confidence 0.
    sure = [(answer.confidence or 0.0) if answer.answered else -1.0 for answer in graded]
    return sure, [answer.right for answer in graded]


def _compute_aurc(answers: Sequence[GradedAnswer]) -> float | None:
    return aurc(*rank_by_confidence(answers))


def _compute_ece(answers: Sequence[GradedAnswer]) -> float | None:
    return calibration_error(*_pair_confidence(answers))


GROUP_SCORES: Mapping[str, GroupScore] = {
    "AUROC": _compute_right_auroc,
    "AUROC-answerable": _compute_answerable_auroc,
    "AURC": _compute_aurc,
    "ECE": _compute_ece,
}
"""The scores of all records together, by measure."""
