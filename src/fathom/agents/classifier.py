"""The classifier: which class of the domain a question belongs to, told by its cues."""

import re
from dataclasses import dataclass

from fathom.domains.domain import Domain, QuestionClass
from fathom.runs.context import RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """The class of a question, and the cue that spoke for it; no cue where none did."""

    found: QuestionClass
    cue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classifier:
    """Looks for the cues of the domain's classes (MAF-RAG, section II); rules, no model.

    The longest cue that stands in the question as whole words wins, in any capitals; of equally
    long ones that of the first class. A question without any cue falls into the last class.
    """

    domain: Domain

    async def classify(self, question: str, context: RunContext) -> QuestionClass:
        """The class of a question, as one step of the run."""
        with context.step("classify", agent="classifier", inputs={"question": question}) as here:
            told = self.told(question)
            here.done(
                outputs={"class": told.found.name},
                reason=f"cue {told.cue!r}" if told.cue else "no cue",
            )
        return told.found

    def told(self, question: str) -> Classified:
        """What `classify` gives, at once, with its reason."""
        best = Classified(found=self.domain.classes[-1])
        for each in self.domain.classes:
            for cue in each.cues:
                if len(cue) > len(best.cue) and _holds(question, cue):
                    best = Classified(found=each, cue=cue)
        return best


def _holds(question: str, cue: str) -> bool:
    words = r"\s+".join(map(re.escape, cue.split()))
    return bool(re.search(rf"(?<!\w){words}(?!\w)", question, re.IGNORECASE))
