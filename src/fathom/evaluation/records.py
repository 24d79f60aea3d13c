"""One record per question that a system was asked: all that a report needs, line by line."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

from fathom.errors import UsageError
from fathom.evaluation.jsonl import add_line, whole_lines
from fathom.text.answer_scores import unmarked
from fathom.types import AnswerStatus

Status = AnswerStatus | Literal["ranked"]
"""That of an answer, or of a ranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A citation, as far as it is measured."""

    document: str
    quote: str
    support: float
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What came of one question.

    A strategy was asked for an answer, a retriever for a ranking of the documents.

    Attributes:
        strategy: Its name, or that of the retriever.
        question: Its id in the data set.
        kind: What sort of question it is, as the data set says.
        gold: Accepted answers; empty when unanswerable or when the data set has none.
        wrong: Known wrong answers; `None` where the data set names none.
        synthetic: Whether nobody asked it: it was made from the documents.
        relevant: Document -> grade above 0: its qrels.
        documents: How many the corpus holds; 0 is not known.
        varied: The settings that were varied on purpose, where some were.
        depth: How many documents a retriever was to rank; `None` where an answer was wanted.
        setup: What made the answer, beside the question: another setup is another system.
        stop_reason: What broke, where the status is `failed`.
        actions: What the planner chose, one workflow a turn, where there is a planner.
        conflicts: The other readings that were shown, but for those that were refuted.
        evidence: Documents that the run had before it, or the ranking; best first, each once.
        usage: As in `Usage`.
        seconds: Wall time of the run.
        signals: What was known of the answer, in numbers; see `agents.answer_signals`.
        trace_id: Under which the index keeps the run; `None` when it does not.
    """

    dataset: str
    strategy: str
    question: str
    text: str
    kind: str = ""
    gold: tuple[str, ...] = ()
    wrong: tuple[str, ...] | None = None
    answerable: bool = True
    synthetic: bool = False
    relevant: Mapping[str, int] = field(default_factory=dict)
    documents: int = 0
    varied: Mapping[str, str] = field(default_factory=dict)
    depth: int | None = None
    setup: str = ""
    status: Status
    answer: str = ""
    short_answer: str = ""
    confidence: float | None = None
    phase: str = ""
    stop_reason: str = ""
    actions: tuple[str, ...] = ()
    citations: tuple[Cited, ...] = ()
    conflicts: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    usage: Mapping[str, float | None]
    seconds: float
    signals: Mapping[str, float] = field(default_factory=dict)
    trace_id: str | None = None

    @property
    def system(self) -> str:
        """The strategy or retriever, and what was varied."""
        varied = ", ".join(f"{key}={value}" for key, value in sorted(self.varied.items()))
        return f"{self.strategy} ({varied})" if varied else self.strategy

    @property
    def sureness(self) -> float | None:
        """The confidence of the answer; where nobody calibrated it, that of its draft."""
        if self.confidence is not None or not self.signals:
            return self.confidence
        return 1 / (1 + exp(-self.signals["sure"]))

    @property
    def ranks(self) -> bool:
        """Whether a ranking was asked for, and no answer."""
        return self.depth is not None

    @property
    def answered(self) -> bool:
        """Whether an answer was given."""
        return self.status == "answered"

    @property
    def long(self) -> str:
        """The answer's text without markers."""
        return unmarked(self.answer)

    @property
    def said(self) -> str:
        """What is compared with the gold answers: the short answer, else the whole one."""
        return self.short_answer or self.long

    @classmethod
    def from_json(cls, row: object) -> Self:
        """The record of a line.

        Raises:
            TypeError: If it is no object, a field is missing or unknown, or grades are missing.
        """
        if not isinstance(row, Mapping):
            raise TypeError("not an object")
        if not isinstance(row.get("relevant", {}), Mapping):
            raise TypeError("relevant documents without grades")
        listed = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
        cited = tuple(Cited(**each) for each in row.get("citations", ()))
        return cls(**{**row, **listed, "citations": cited})


Group = Sequence[Record]
"""What one strategy or retriever made of one data set; at least one record."""


class Records:
    """The records of one system on one data set, in a file of one JSON object a line.

    A record is there when its line is: a run that was killed goes on after the last whole line.
    """

    def __init__(
        self,
        file: Path | None = None,
        *,
        setup: str = "",
        varied: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Read what is there.

        Args:
            file: Without one the records are kept in memory only.
            setup: That of the records which are going to be added; see `Record.setup`.
            varied: Likewise.

        Raises:
            UsageError: If a line is no record, or one of another setup.
        """
        self.file = file
        self.setup = setup
        self.varied = varied
        self.known: dict[str, Record] = {}
        for number, line in enumerate(whole_lines(file), start=1):
            try:
                record = Record.from_json(json.loads(line))
            except (ValueError, TypeError) as error:
                raise UsageError(f"{file}:{number}: not a record: {error}") from None
            if record.setup != self.setup:
                raise UsageError(
                    f"{file}:{number}: a record of another index, code or settings; "
                    "name another folder for the records, or remove this one"
                )
            self.known[record.question] = record

    def add(self, record: Record) -> None:
        """Keep a record, also over the death of the process."""
        self.known[record.question] = record
        add_line(self.file, asdict(record))
