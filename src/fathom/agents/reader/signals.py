"""The signals of an answer: numbers about question, draft and hits from which calibration learns.

The calibrated confidence is computed from them (`calibration.correctness`). The finalizer of every
strategy computes the same signals.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.agents.reader.asked_form import is_asked_list, rate_form
from fathom.agents.reader.base import compute_logit
from fathom.agents.reader.voices import has_own_voice, list_stuffed
from fathom.models.reading import CrossReader, Reading
from fathom.question.question import Question
from fathom.question.requirements import Requirements
from fathom.text.content_words import ContentTerms
from fathom.text.quotable import extract_chunk
from fathom.types import DIGITS, Draft, Hit

COLUMNS: Mapping[str, str] = {
    "indonesian": "1 where the question is Indonesian, 0 where it is English",
    "words": "logarithm of the number of words of the question",
    "yes_no": "1 where the question asks for yes or no",
    "several": "1 where it asks for a list",
    "typed": "1 where its words tell what kind of answer it wants: a date, a person, a number",
    "sure": "logit of the draft's own confidence",
    "support": "logit of the best evidence's support",
    "short": "1 where the answer is told in a few words, or is the list of a document asked for",
    "length": "logarithm of the number of words of that short answer",
    "quotes": "logarithm of the number of quotes",
    "relevance": "logit: the cited chunk is about what is asked",
    "answerable": "logit: the cited chunk holds an answer",
    "no_answer": "logit of no answer in the cited chunk, less that of its best span",
    "span": "logit: the short answer is what the cited chunk answers",
    "lead": "how far its best span leads the next, in logits",
    "entailed": "logit: the quote supports the question with the short answer",
    "others": "logit: the best of the other hits holds an answer",
    "agreeing": "share of the other hits read that say the same with a voice of their own",
    "disagreeing": "logit of the likeliest other answer in the other hits read",
    "place": "logarithm of the place of the cited chunk among the hits",
    "found_by": "how many retrievers have the cited chunk among their best",
    "agreement": "share of the hits that more than one retriever has among its best",
    "margin": "how far the second hit's score is behind the first's, as a share of it",
    "lexical": "1 where no hit shares more content words with the question than the cited chunk",
    "held": "share of the question's content words in the cited chunk",
    "quoted": "share of the question's content words in the best quote",
    "anchors": "share of the names and times of the question in the evidence",
    "fitting": "1 where the answer is of the kind asked for",
    "formed": "1 where the quote is the definition or entry asked for, -1 where surely not",
    "conflict": "1 where another reading is shown that is not refuted",
    "documents": "share of the hits that are of the cited document",
    "searches": "logarithm of the number of searches",
}
"""The names and meanings of the signals.

Log-odds are bounded to 10 either way. Without evidence, all signals about the evidence are 0.
"""

READ_FOR_SIGNALS = 3
"""The number of best hits that are read to compare their answers with the draft's."""
_REQUIRED = 0.5
"""The lowest weight of an anchor that the evidence should contain."""
_LARGEST_LOGIT = 10.0
"""The largest absolute value of log-odds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSignals:
    """The deterministic computation of a draft's signals.

    Attributes:
        pairs: The cross-reader. It caches its readings, so most of them cost nothing here.
        extract_terms: A function that returns the distinct content words of a text, stemmed.
        about: The question that the draft's first quote answers if it is not the run's question,
            such as the last sub-question of a chain.
    """

    pairs: CrossReader
    extract_terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)
    about: Question | None = None

    def __call__(
        self, question: Question, draft: Draft, hits: Sequence[Hit], *, searches: int = 1
    ) -> dict[str, float]:
        """Compute one number for each of `COLUMNS`.

        Args:
            question: The question.
            draft: The last draft.
            hits: The hits that it was made of, best first; if empty, those that it cites are used.
            searches: The number of retrievals of the run.
        """
        question = self.about or question
        signals = dict.fromkeys(COLUMNS, 0.0) | _describe_question(question)
        # Logarithms, because the first few of anything matter most.
        signals["searches"] = math.log1p(searches)
        if draft.evidence:
            hits = hits or tuple(dict.fromkeys(item.hit for item in draft.evidence))
            signals |= _describe_draft(question, draft, hits)
            signals |= self._compute_reading(question, draft, hits)
            signals |= self._compare_words(question, draft, hits)
        return {name: round(float(value), DIGITS) for name, value in signals.items()}

    def _compute_reading(
        self, question: Question, draft: Draft, hits: Sequence[Hit]
    ) -> dict[str, float]:
        """Return the cross-reader's signals for the cited chunk, the quote and other hits."""
        best, short = draft.evidence[0], draft.short_answer
        session = self.pairs.open_session(question.text)
        (reading,) = session.read([best.hit.chunk])
        claim_session = self.pairs.open_session(f"{question.text} {short}".strip(), spans=0)
        quote = extract_chunk(best.hit.chunk, best.span)
        (quote_reading,) = claim_session.read([quote])
        spans = [compute_logit(span.score) for span in reading.spans[:2]]
        signals = {
            "relevance": compute_logit(reading.relevance),
            "answerable": compute_logit(reading.answerable),
            "no_answer": max(-_LARGEST_LOGIT, min(_LARGEST_LOGIT, reading.no_answer)),
            "span": compute_logit(session.score(best.hit.chunk, short)) if short else 0.0,
            "lead": spans[0] - spans[1] if len(spans) > 1 else _LARGEST_LOGIT,
            "entailed": compute_logit(quote_reading.supported),
        }
        others = [hit for hit in hits[:READ_FOR_SIGNALS] if hit.chunk.id != best.hit.chunk.id]
        readings = zip(others, session.read([hit.chunk for hit in others]), strict=True)
        return signals | _compare_others(
            question, draft, list(readings), list_stuffed(question, hits)
        )

    def _compare_words(
        self, question: Question, draft: Draft, hits: Sequence[Hit]
    ) -> dict[str, float]:
        """Return the signals of the question's words in the cited chunk and the quote."""
        question_terms, best = self.extract_terms(question.text), draft.evidence[0]
        shared_counts = [
            len(self.extract_terms(hit.chunk.context) & question_terms) for hit in hits
        ]
        cited_count = len(self.extract_terms(best.hit.chunk.context) & question_terms)
        return {
            "held": _divide(cited_count, len(question_terms)),
            "quoted": _divide(
                len(self.extract_terms(best.quote) & question_terms), len(question_terms)
            ),
            "lexical": cited_count >= max(shared_counts, default=0),
        }


def _describe_question(question: Question) -> dict[str, float]:
    """Return the signals of the question alone."""
    form = question.form
    return {
        "indonesian": question.language == "id",
        "words": math.log1p(len(question.text.split())),
        "yes_no": form == "yes or no",
        "several": form == "several",
        "typed": question.answer_type != "any",
    }


def _describe_draft(question: Question, draft: Draft, hits: Sequence[Hit]) -> dict[str, float]:
    """Return the signals of the draft and of the order of its hits."""
    best = draft.evidence[0]
    requirements = Requirements.of(question, least=_REQUIRED)
    gap = requirements.find_gap(draft, hits)
    ids = [hit.chunk.id for hit in hits]
    # A cited chunk that is not among the hits counts as behind the last of them.
    place = ids.index(best.hit.chunk.id) if best.hit.chunk.id in ids else len(ids)
    same_document = [hit for hit in hits if hit.chunk.document_id == best.hit.chunk.document_id]
    anchor_count = len(requirements.anchors)
    return {
        "sure": compute_logit(draft.confidence),
        "support": compute_logit(best.support),
        "short": bool(draft.short_answer) or is_asked_list(question, draft),
        "length": math.log1p(len(draft.short_answer.split())),
        "quotes": math.log(len(draft.evidence)),
        "place": math.log1p(place),
        "found_by": best.hit.found_by,
        "agreement": _divide(sum(hit.found_by > 1 for hit in hits), len(hits)),
        "margin": _compute_margin([hit.score for hit in hits]),
        "documents": _divide(len(same_document), len(hits)),
        "anchors": (anchor_count - len(gap.missing)) / anchor_count if anchor_count else 1.0,
        "fitting": not gap.kind,
        "formed": rate_form(question, best),
        "conflict": any(not alternative.refuted for alternative in draft.alternatives),
    }


def _compare_others(
    question: Question,
    draft: Draft,
    readings: Sequence[tuple[Hit, Reading]],
    stuffed: frozenset[str],
) -> dict[str, float]:
    """Return the signals of whether the other hits give the same answer.

    Args:
        question: The question.
        draft: The last draft.
        readings: The other hits that were read, with their readings.
        stuffed: The ids of documents that repeat the question; their agreement does not count.
    """
    signals = {"others": -_LARGEST_LOGIT, "agreeing": 0.0, "disagreeing": -_LARGEST_LOGIT}
    if not readings:
        return signals
    signals["others"] = max(compute_logit(reading.answerable) for _, reading in readings)
    agreeing_hits: list[Hit] = []
    other_scores: list[float] = []
    for hit, reading in readings:
        answer = reading.spans[0].span.cut(hit.chunk.text) if reading.spans else ""
        if question.answers_match(draft.short_answer, answer):
            agreeing_hits.append(hit)
        elif reading.spans:
            other_scores.append(reading.spans[0].score)
    voices = [
        hit
        for hit in agreeing_hits
        if hit.chunk.document_id not in stuffed and has_own_voice(hit, draft.evidence[0])
    ]
    signals["agreeing"] = _divide(len(voices), len(readings))
    signals["disagreeing"] = compute_logit(max(other_scores)) if other_scores else -_LARGEST_LOGIT
    return signals


def _compute_margin(scores: Sequence[float]) -> float:
    """Return the gap between the first two scores as a share of the first, in [0, 1]."""
    # Some retrievers give scores below 0, for which a share means nothing.
    if len(scores) < 2 or scores[0] <= 0:
        return 0.0
    return min(1.0, max(0.0, (scores[0] - scores[1]) / scores[0]))


def _divide(part: int, whole: int) -> float:
    """Return part / whole, or 0 if the whole is 0."""
    return part / whole if whole else 0.0
