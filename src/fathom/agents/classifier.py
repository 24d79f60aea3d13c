"""The classifier: finds the class of the domain that a question belongs to, by its cues."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fathom.domains.domain import Domain, QuestionClass
from fathom.question.question import Question
from fathom.runs.context import RunContext

if TYPE_CHECKING:
    from fathom.assembly import Assembly


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """The class of a question and the cue that decided; the cue is empty if none did."""

    question_class: QuestionClass
    cue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classifier:
    """A search for the cues of the domain's classes (MAF-RAG, section II); rules, no model.

    The longest cue that occurs in the question as whole words wins, whatever its capitals. Of
    equally long cues the first class wins. A question without any cue belongs to the last class.
    """

    domain: Domain

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the classifier from the assembly."""
        return cls(domain=assembly.domain)

    async def classify(self, question: Question, context: RunContext) -> QuestionClass:
        """Return the class of a question, as one step of the run."""
        with context.step(
            "classify", agent="classifier", inputs={"question": question.text}
        ) as step:
            classification = self.find_class(question)
            outputs: dict[str, object] = {"class": classification.question_class.name}
            if retrieval := classification.question_class.retrieval.describe():
                outputs["retrieval"] = retrieval
            step.set_outcome(
                outputs=outputs,
                reason=f"cue {classification.cue!r}" if classification.cue else "no cue",
            )
        return classification.question_class

    def find_class(self, question: Question) -> Classification:
        """Return the class of a question and its cue, without recording a step."""
        best = Classification(question_class=self.domain.classes[-1])
        for question_class in self.domain.classes:
            for cue in question_class.cues:
                # Strictly longer, so that of equally long cues the first class keeps its lead.
                if len(cue) > len(best.cue) and _contains_cue(question, cue):
                    best = Classification(question_class=question_class, cue=cue)
        return best


def _contains_cue(question: Question, cue: str) -> bool:
    """Return whether the question contains a cue as whole words."""
    words = r"\s+".join(map(re.escape, cue.split()))
    # Whole words: the cue "tax" must not match "taxi".
    return bool(re.search(rf"(?<!\w){words}(?!\w)", question.text, re.IGNORECASE))
