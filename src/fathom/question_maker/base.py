"""What is made: questions that say that nobody asked them."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from fathom.jsonable import Json, digest
from fathom.text.language import Language

Kind = Literal["single-hop", "multi-hop", "numeric", "list", "conflicting", "unanswerable"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestion:
    """A question that was made of documents, with what answers it.

    Attributes:
        answers: Accepted answers, each verbatim from a document; empty where there is none. Of a
            conflict those of all sides.
        relevant: The documents that hold an answer, or the parts of it.
        without: Documents that hold the answer and are to be left out.
        rule: Which pattern or which prompt it was made by.
        chunks: Where it was made from.
        answerable: How likely the cross-reader holds it that what was found answers, 0 to 1.
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
        """Another one for another question."""
        return digest(json.dumps([self.text, self.kind, self.without], ensure_ascii=False))[:12]

    def to_row(self) -> Json:
        """The line of a question file."""
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
        made = {"rule": self.rule, "chunks": list(self.chunks), "answerable": self.answerable}
        return {
            "_id": self.id,
            "text": self.text,
            "answers": list(self.answers),
            "metadata": {**metadata, "made": made},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of making questions.

    Attributes:
        questions: In an order that puts all kinds among the first.
        refused: How many were formed and not taken, by the reason.
        wanted: How many were asked for.
    """

    questions: tuple[MadeQuestion, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    wanted: int

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        found = Counter(each.kind for each in self.questions)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    def write(self, file: Path) -> None:
        """Write them as a file of questions, one JSON object a line."""
        lines = (json.dumps(each.to_row(), ensure_ascii=False) for each in self.questions)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
