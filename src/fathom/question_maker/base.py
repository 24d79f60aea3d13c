"""Questions made of documents, marked as such in the question file."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from fathom.jsonable import Json, hash_text
from fathom.text.language import Language

Kind = Literal["single-hop", "multi-hop", "numeric", "list", "conflicting", "unanswerable"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticQuestion:
    """A question that was made of documents, with its answers.

    Attributes:
        answers: Accepted answers, each verbatim from a document, and for a conflict those of all
            sides; empty where there is none.
        relevant: The documents that hold the answer or parts of it.
        without: Documents that hold the answer and are to be left out.
        rule: The pattern or the prompt behind the question.
        chunks: The chunks that the question was made of.
        answerable: The cross-reader's probability that the hits answer the question, 0 to 1.
    """

    text: str
    kind: Kind
    language: Language
    answers: tuple[str, ...] = ()
    relevant: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    rule: str
    chunks: tuple[str, ...]
    answerable: float

    @property
    def id(self) -> str:
        """An id that differs between different questions."""
        return hash_text(json.dumps([self.text, self.kind, self.without], ensure_ascii=False))[:12]

    def to_row(self) -> Json:
        """Return the line of a question file."""
        metadata: dict[str, Json] = {
            "answerable": self.kind != "unanswerable",
            "synthetic": True,
            "type": self.kind,
            "language": self.language,
            "relevant": list(self.relevant),
        }
        if self.without:
            metadata["without"] = list(self.without)
        if self.kind == "conflicting":
            metadata["wrong_answers"] = []
        origin = {"rule": self.rule, "chunks": list(self.chunks), "answerable": self.answerable}
        return {
            "_id": self.id,
            "text": self.text,
            "answers": list(self.answers),
            "metadata": {**metadata, "made": origin},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """The outcome of making questions.

    Attributes:
        questions: The questions, in an order that puts all kinds among the first.
        refusals: The number of questions that were formed and not taken, by the reason.
        target: The number of questions asked for.
    """

    questions: tuple[SyntheticQuestion, ...]
    refusals: Mapping[str, int] = field(default_factory=dict)
    target: int

    @property
    def counts(self) -> dict[str, int]:
        """The number of questions of each kind."""
        counter = Counter(question.kind for question in self.questions)
        return {kind: counter[kind] for kind in KINDS if counter[kind]}

    def write(self, file: Path) -> None:
        """Write the questions to a file, one JSON object a line."""
        lines = (json.dumps(question.to_row(), ensure_ascii=False) for question in self.questions)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
