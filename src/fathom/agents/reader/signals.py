"""What is known of an answer when it is given, in numbers; of these its sureness is reckoned.

Every strategy emits the same signals with its last step.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.agents.reader.base import logit_of
from fathom.models.reading import CrossReader, Reading
from fathom.question.form import form_of
from fathom.question.requirements import Requirements
from fathom.text.answer_match import answers_match
from fathom.text.answer_type import answer_type
from fathom.text.content_words import ContentTerms
from fathom.text.language import question_language
from fathom.text.quotable import cut_out
from fathom.types import Draft, Hit

COLUMNS: Mapping[str, str] = {
    "indonesian": "1 where the question is Indonesian, 0 where it is English",
    "words": "logarithm of the number of words of the question",
    "yes_no": "1 where the question asks for yes or no",
    "several": "1 where it asks for a list",
    "typed": "1 where its words tell what kind of answer it wants: a date, a person, a number",
    "sure": "logit of the draft's own confidence",
    "support": "logit of the best evidence's support",
    "short": "1 where the answer is told in a few words",
    "length": "logarithm of the number of words of that short answer",
    "quotes": "logarithm of the number of quotes",
    "relevance": "logit: the cited chunk is about what is asked",
    "answerable": "logit: the cited chunk holds an answer",
    "no_answer": "logit of no answer in the cited chunk, less that of its best span",
    "span": "logit: the short answer is what the cited chunk answers",
    "lead": "how far its best span leads the next, in logits",
    "entailed": "logit: the quote supports the question with the short answer",
    "others": "logit: the best of the other hits holds an answer",
    "agreeing": "share of the other hits read whose best span is the same answer",
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
    "conflict": "1 where another reading is shown that is not refuted",
    "documents": "share of the hits that are of the cited document",
    "searches": "logarithm of the number of searches",
}
"""Name and meaning; log-odds are bounded to 10 either way. Without evidence all that is said of
it is 0."""

_READ = 3
"""So many of the best hits are read beside the cited one; the reader has read most of them."""
_REQUIRED = 0.5
_FAR = 10.0
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSignals:
    """Makes the signals of a draft; deterministic.

    Attributes:
        pairs: Its readings of a question are kept, so most cost nothing here.
        terms: The distinct content words of a text, stemmed.
    """

    pairs: CrossReader
    terms: Callable[[str], frozenset[str]] = field(default_factory=ContentTerms)

    def __call__(
        self, question: str, draft: Draft, hits: Sequence[Hit], *, searches: int = 1
    ) -> dict[str, float]:
        """One number for each of `COLUMNS`.

        Args:
            question: What was asked.
            draft: The last one.
            hits: What it was made of, best first; where they are not known, those it cites.
            searches: How many there were.
        """
        found = dict.fromkeys(COLUMNS, 0.0) | _of_question(question)
        found["searches"] = math.log1p(searches)
        if draft.evidence:
            hits = hits or tuple(dict.fromkeys(each.hit for each in draft.evidence))
            found |= _of_draft(question, draft, hits)
            found |= self._read(question, draft, hits)
            found |= self._of_words(question, draft, hits)
        return {name: round(float(value), _DIGITS) for name, value in found.items()}

    def _read(self, question: str, draft: Draft, hits: Sequence[Hit]) -> dict[str, float]:
        """What the cross-reader makes of the cited chunk, of the quote, and of the other hits."""
        best, short = draft.evidence[0], draft.short_answer
        session = self.pairs.session(question)
        (own,) = session.read([best.hit.chunk])
        told = self.pairs.session(f"{question} {short}".strip(), spans=0)
        quote = cut_out(best.hit.chunk, best.span)
        (says,) = told.read([quote])
        spans = [logit_of(each.score) for each in own.spans[:2]]
        found = {
            "relevance": logit_of(own.relevance),
            "answerable": logit_of(own.answerable),
            "no_answer": max(-_FAR, min(_FAR, own.no_answer)),
            "span": logit_of(session.score(best.hit.chunk, short)) if short else 0.0,
            "lead": spans[0] - spans[1] if len(spans) > 1 else _FAR,
            "entailed": logit_of(says.supported),
        }
        others = [hit.chunk for hit in hits[:_READ] if hit.chunk.id != best.hit.chunk.id]
        read = zip(others, session.read(others), strict=True)
        return found | _beside(question, short, [(chunk.text, each) for chunk, each in read])

    def _of_words(self, question: str, draft: Draft, hits: Sequence[Hit]) -> dict[str, float]:
        wanted, best = self.terms(question), draft.evidence[0]
        held = [len(self.terms(hit.chunk.context) & wanted) for hit in hits]
        own = len(self.terms(best.hit.chunk.context) & wanted)
        return {
            "held": _share(own, len(wanted)),
            "quoted": _share(len(self.terms(best.quote) & wanted), len(wanted)),
            "lexical": own >= max(held, default=0),
        }


def _of_question(question: str) -> dict[str, float]:
    form = form_of(question)
    return {
        "indonesian": question_language(question) == "id",
        "words": math.log1p(len(question.split())),
        "yes_no": form == "yes or no",
        "several": form == "several",
        "typed": answer_type(question) != "any",
    }


def _of_draft(question: str, draft: Draft, hits: Sequence[Hit]) -> dict[str, float]:
    best = draft.evidence[0]
    requirements = Requirements.of(question, least=_REQUIRED)
    lacks = requirements.lacks(draft, hits)
    ids = [hit.chunk.id for hit in hits]
    place = ids.index(best.hit.chunk.id) if best.hit.chunk.id in ids else len(ids)
    own = [hit for hit in hits if hit.chunk.document_id == best.hit.chunk.document_id]
    wanted = len(requirements.anchors)
    return {
        "sure": logit_of(draft.confidence),
        "support": logit_of(best.support),
        "short": bool(draft.short_answer),
        "length": math.log1p(len(draft.short_answer.split())),
        "quotes": math.log(len(draft.evidence)),
        "place": math.log1p(place),
        "found_by": best.hit.found_by,
        "agreement": _share(sum(hit.found_by > 1 for hit in hits), len(hits)),
        "margin": _margin([hit.score for hit in hits]),
        "documents": _share(len(own), len(hits)),
        "anchors": (wanted - len(lacks.missing)) / wanted if wanted else 1.0,
        "fitting": not lacks.kind,
        "conflict": any(not each.refuted for each in draft.alternatives),
    }


def _beside(question: str, short: str, read: Sequence[tuple[str, Reading]]) -> dict[str, float]:
    """Whether what else was found says the same."""
    found = {"others": -_FAR, "agreeing": 0.0, "disagreeing": -_FAR}
    if not read:
        return found
    found["others"] = max(logit_of(each.answerable) for _, each in read)
    firsts = [
        (each.spans[0].span.cut(text), each.spans[0].score) for text, each in read if each.spans
    ]
    same = [bool(short) and answers_match(question, short, said) for said, _ in firsts]
    found["agreeing"] = _share(sum(same), len(read))
    other = [score for (_, score), agrees in zip(firsts, same, strict=True) if not agrees]
    found["disagreeing"] = logit_of(max(other)) if other else -_FAR
    return found


def _margin(scores: Sequence[float]) -> float:
    if len(scores) < 2 or scores[0] <= 0:
        return 0.0
    return min(1.0, max(0.0, (scores[0] - scores[1]) / scores[0]))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
