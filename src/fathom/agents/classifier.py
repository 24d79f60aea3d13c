"""The classifier: finds the class of the domain that a question belongs to, by its cues."""

import re
from dataclasses import dataclass

from fathom.domains.domain import Domain, QuestionClass
from fathom.runs.context import RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """The class of a question and the cue that decided; the cue is empty if none did."""

    found: QuestionClass
    cue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classifier:
    """A search for the cues of the domain's classes (MAF-RAG, section II); rules, no model.

    The longest cue that stands in the question as whole words wins, in any capitals; of equally
    long cues the one of the first class wins. A question without any cue falls into the last class.
    """

    domain: Domain

    async def classify(self, question: str, context: RunContext) -> QuestionClass:
        """Return the class of a question, as one step of the run."""
        with context.step("classify", agent="classifier", inputs={"question": question}) as step:
            classification = self.told(question)
            step.done(
                outputs={"class": classification.found.name},
                reason=f"cue {classification.cue!r}" if classification.cue else "no cue",
            )
        return classification.found

    def told(self, question: str) -> Classified:
        """Return the class of a question and its cue, outside of any step."""
        best = Classified(found=self.domain.classes[-1])
        for question_class in self.domain.classes:
            for cue in question_class.cues:
                # Strictly longer, so that of equally long cues the first class keeps its lead.
                if len(cue) > len(best.cue) and _holds(question, cue):
                    best = Classified(found=question_class, cue=cue)
        return best


def _holds(question: str, cue: str) -> bool:
    """Return whether the words of a cue stand in the question as whole words."""
    words = r"\s+".join(map(re.escape, cue.split()))
    return bool(re.search(rf"(?<!\w){words}(?!\w)", question, re.IGNORECASE))
