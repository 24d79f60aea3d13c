"""What a planner knows when it chooses: numbers about the question and a first look.

The observation of MAO-ARAG's planner (arXiv 2508.01005, section 3.1), as numbers instead of
text, so that rules and a small network can read it.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import pairwise

from fathom.agents.decomposer import LocalDecomposer
from fathom.agents.rewriter import plain
from fathom.question.clauses import mentions
from fathom.question.form import form_of
from fathom.text.answer_type import answer_type
from fathom.types import Hit

_DIGITS = 6
_LONG = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A turn as a planner sees it; equal questions and hits give equal numbers.

    Attributes:
        first: 1 in the first turn, 0 for a sub-question.
        words: Length of the question in words, as a share of 40, at most 1.
        names: How many names, quoted words and slots it holds.
        serial: How many questions the clause rules make of it, one after the other.
        parallel: How many they make of it, side by side.
        yes_no: 1 if yes or no would answer.
        kind: 1 if the question words tell whether a name, a number or a time is wanted.
        filler: Share of its words that the rewriting rules drop.
        hits: How many hits the first look gave.
        top: Score of the best of them.
        gap: How far the second is behind it, as a share of it.
        fall: How far the last is behind the first, as a share of it.
        coverage: Share of the question's terms that the best hit holds.
        reach: Share of them that all hits together hold.
        documents: How many documents the hits come from.
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
    def names_of_values(cls) -> tuple[str, ...]:
        """What the values are called, in order."""
        return tuple(field.name for field in fields(cls))

    def figures(self) -> str:
        """What the first look came to, in words and numbers: what a language model is shown."""
        if not self.hits:
            return "nothing was found"
        return (
            f"{self.hits:.0f} hits from {self.documents:.0f} documents; the best has score "
            f"{self.top:.2f}, the second is {self.gap:.0%} behind it, the last {self.fall:.0%}; "
            f"the best holds {self.coverage:.0%} of the question's words, all together "
            f"{self.reach:.0%}"
        )

    def values(self) -> tuple[float, ...]:
        """All numbers, in the order of `names_of_values`."""
        return astuple(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Describes a turn in numbers.

    Attributes:
        terms: The distinct content words of a text, stemmed.
        decomposer: Its rules count what a question could be split into.
    """

    terms: Callable[[str], frozenset[str]]
    decomposer: LocalDecomposer

    def __call__(self, question: str, hits: Sequence[Hit], *, first: bool) -> Situation:
        """The numbers for a question and its first look, best hit first."""
        count = len(question.split())
        wanted = self.terms(question)
        held = [self.terms(hit.chunk.context) & wanted for hit in hits]
        scores = [hit.score for hit in hits]
        parts = {
            "serial": len(self.decomposer.parts(question, "serial")),
            "parallel": len(self.decomposer.parts(question, "parallel")),
        }
        numbers: dict[str, float] = {
            "first": first,
            "words": min(count, _LONG) / _LONG,
            "names": len(mentions(question)),
            **parts,
            "yes_no": form_of(question) == "yes or no",
            "kind": answer_type(question) != "any",
            "filler": 1 - _share(len(plain(question).split()), count),
            "hits": len(hits),
            "top": scores[0] if scores else 0.0,
            "gap": _behind(scores[:2]),
            "fall": _behind(scores),
            "coverage": _share(len(held[0]), len(wanted)) if held else 0.0,
            "reach": _share(len(frozenset().union(*held)), len(wanted)),
            "documents": len({hit.chunk.document_id for hit in hits}),
        }
        rounded = {name: round(float(value), _DIGITS) for name, value in numbers.items()}
        return Situation(**rounded)


def _share(part: int, whole: int) -> float:
    return min(1.0, part / whole) if whole else 0.0


def _behind(scores: Sequence[float]) -> float:
    """How far the last score is behind the first, as a share of it."""
    falls = sum(one - other for one, other in pairwise(scores))
    return min(1.0, max(0.0, falls / scores[0])) if scores and scores[0] > 0 else 0.0
