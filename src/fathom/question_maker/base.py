"""Questions made from documents, which the question file marks as synthetic."""

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
    """A question that was made from documents, with its answers.

    Attributes:
        text: The question.
        kind: The kind of the question.
        language: The language of the question.
        answers: The accepted answers, verbatim from documents; for a conflict those of all
            documents, and none if the question has no answer.
        relevant: The ids of the documents with the answer or parts of it.
        without: The ids of documents with the answer that are left out for this question.
        rule: The rule or the prompt that made the question.
        chunks: The ids of the chunks that the question was made from.
        answerable: The cross-reader's probability, from 0 to 1, that the hits answer the question.
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
        """The id, a hash of the text, the kind and the left-out documents."""
        return hash_text(json.dumps([self.text, self.kind, self.without], ensure_ascii=False))[:12]

    def to_row(self) -> Json:
        """Return the object of the question in a question file."""
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
        questions: The questions, one of each kind in turn.
        refusals: The number of rejected questions by reason.
        target: The requested number of questions.
        lacking: The kinds of which the documents gave fewer questions than their share of `target`.
    """

    questions: tuple[SyntheticQuestion, ...]
    refusals: Mapping[str, int] = field(default_factory=dict)
    target: int
    lacking: tuple[Kind, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of questions of each kind."""
        counter = Counter(question.kind for question in self.questions)
        return {kind: counter[kind] for kind in KINDS if counter[kind]}

    def write(self, file: Path | str) -> None:
        """Write the questions to a file, with one JSON object in each line."""
        lines = (json.dumps(question.to_row(), ensure_ascii=False) for question in self.questions)
        Path(file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
