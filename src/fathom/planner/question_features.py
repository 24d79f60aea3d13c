"""The features of a question and its first look, which the planners of `mao` and `adaptive` share.

MAO-ARAG's planner is a language model that reads the question (arXiv 2508.01005, section 3.1).
These numbers take the place of that text, so that rules and a small network can choose.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from fathom.agents.decomposer import LocalDecomposer
from fathom.agents.rewriter import simplify_question
from fathom.question.question import Question
from fathom.types import DIGITS, Hit

if TYPE_CHECKING:
    from fathom.assembly import Assembly

_LONG = 40
"""The number of words from which on a question counts as equally long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFeatures:
    """The features of a turn; equal questions and hits give equal numbers.

    Shares are in [0, 1]; without hits, everything about hits is 0.

    Attributes:
        first: 1 for the question itself, 0 for a sub-question.
        words: The number of words of the question, as a share of 40, at most 1.
        names: The number of names, quoted words and slots in the question.
        serial: The number of serial sub-questions that the clause rules make of the question; 1 if
            they cannot split it.
        parallel: The same for parallel sub-questions.
        yes_no: 1 if yes or no would answer the question, else 0.
        kind: 1 if the question's words tell the kind of the answer, such as a name, a number or a
            time; else 0.
        filler: The share of the question's words that the rewriting rules drop.
        hits: The number of hits of the first look.
        top: The score of the best hit.
        gap: The difference between the best and the second score, as a share of the best.
        fall: The difference between the best and the last score, as a share of the best.
        coverage: The share of the question's terms that the best hit holds.
        reach: The share of the question's terms that all hits together hold.
        documents: The number of documents of the hits.
    """

    first: float
    words: float
    names: float
    serial: float
    parallel: float
    yes_no: float
    kind: float
    filler: float
    hits: float
    top: float
    gap: float
    fall: float
    coverage: float
    reach: float
    documents: float

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """Return the names of the features, in order."""
        return tuple(field.name for field in fields(cls))

    def describe_look(self) -> str:
        """Return a description of the first look for the prompt of a language model."""
        if not self.hits:
            return "nothing was found"
        return (
            f"{self.hits:.0f} hits from {self.documents:.0f} documents; the best has score "
            f"{self.top:.2f}, the second is {self.gap:.0%} behind it, the last {self.fall:.0%}; "
            f"the best holds {self.coverage:.0%} of the question's words, all together "
            f"{self.reach:.0%}"
        )

    def name_values(self) -> dict[str, float]:
        """Return all features by name."""
        return asdict(self)

    def list_values(self) -> tuple[float, ...]:
        """Return all features, in the order of their names."""
        return astuple(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionObserver:
    """The extractor of a turn's features.

    Attributes:
        extract_terms: A function that returns the distinct content words of a text, stemmed.
        decomposer: The clause rules that split a question.
    """

    extract_terms: Callable[[str], frozenset[str]]
    decomposer: LocalDecomposer

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the observer from the assembly."""
        return cls(extract_terms=assembly.terms, decomposer=LocalDecomposer.of(assembly))

    def __call__(self, question: Question, hits: Sequence[Hit], *, first: bool) -> QuestionFeatures:
        """Return the features of a question and its first look.

        Args:
            question: The question.
            hits: The hits of the first look, best first.
            first: Whether it is the question itself, not a sub-question.
        """
        count = len(question.text.split())
        question_terms = self.extract_terms(question.text)
        terms_by_hit = [self.extract_terms(hit.chunk.context) & question_terms for hit in hits]
        scores = [hit.score for hit in hits]
        sub_questions = {
            "serial": len(self.decomposer.split_by_rules(question, "serial")),
            "parallel": len(self.decomposer.split_by_rules(question, "parallel")),
        }
        numbers: dict[str, float] = {
            "first": first,
            "words": min(count, _LONG) / _LONG,
            "names": len(question.mentions),
            **sub_questions,
            "yes_no": question.form == "yes or no",
            "kind": question.answer_type != "any",
            "filler": 1 - _compute_share(len(simplify_question(question.text).split()), count),
            "hits": len(hits),
            "top": scores[0] if scores else 0.0,
            "gap": _measure_fall(scores[:2]),
            "fall": _measure_fall(scores),
            "coverage": _compute_share(len(terms_by_hit[0]), len(question_terms))
            if terms_by_hit
            else 0.0,
            "reach": _compute_share(len(frozenset().union(*terms_by_hit)), len(question_terms)),
            "documents": len({hit.chunk.document_id for hit in hits}),
        }
        # Numbers are rounded, so that traces replay alike on machines with other arithmetic.
        rounded = {name: round(float(value), DIGITS) for name, value in numbers.items()}
        return QuestionFeatures(**rounded)


def _compute_share(part: int, whole: int) -> float:
    """Return `part` / `whole`, at most 1; 0 if `whole` is 0."""
    return min(1.0, part / whole) if whole else 0.0


def _measure_fall(scores: Sequence[float]) -> float:
    """Return the distance of the last score from the first, as a share of the first, in [0, 1]."""
    falls = sum(upper - lower for upper, lower in pairwise(scores))
    return min(1.0, max(0.0, falls / scores[0])) if scores and scores[0] > 0 else 0.0
