"""The records of an evaluation: one per question and system, with all that a report needs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self

from fathom.errors import UsageError
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.text.answer_scores import strip_markers
from fathom.types import AnswerStatus

Status = AnswerStatus | Literal["ranked"]
"""The status of an answer, or `ranked` for a ranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationRecord:
    """The measured fields of a citation."""

    document: str
    quote: str
    support: float
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of one question that one system was asked.

    A strategy was asked for an answer, a retriever for a ranking of the documents.

    Attributes:
        strategy: The name of the strategy or retriever.
        question: The id of the question in the data set.
        scope: Hash of the earlier turns and the documents that the question was asked with; empty
            where it has none, `None` in records from before there was a scope.
        kind: The sort of question, as the data set names it.
        gold: Accepted answers; empty when unanswerable or when the data set has none.
        wrong: Known wrong answers; `None` where the data set names none.
        synthetic: Whether the question was made from the documents rather than asked by a person.
        relevant: Document -> grade above 0: the question's qrels.
        documents: Number of documents of the corpus; 0 means unknown.
        varied: The settings that were varied on purpose, if any.
        depth: Number of documents that a retriever was to rank; `None` for an answer.
        tentative: Whether the answer is only shown as not sure.
        disputed: Whether the answer names all readings of documents that disagree.
        withheld: The `answer` and `short_answer` of a draft that was withheld; empty without one.
        setup: Hash of what made the answer, beside the question: another setup is another system.
        stop_reason: The error, where the status is `failed`.
        actions: The planner's choices, one workflow a turn, for strategies with a planner.
        conflicts: The other readings that were shown, without those that were refuted; all
            readings of a disputed answer.
        evidence: Documents that the run saw, or the ranking; best first, each once.
        usage: The fields of `Usage`.
        seconds: Wall time of the run.
        signals: The numeric signals of the answer, from `agents.answer_signals`.
        trace_id: The id under which the index keeps the run; `None` when it does not.
    """

    dataset: str
    strategy: str
    question: str
    text: str
    scope: str | None = None
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
    tentative: bool = False
    disputed: bool = False
    withheld: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    short_answer: str = ""
    confidence: float | None = None
    phase: str = ""
    stop_reason: str = ""
    actions: tuple[str, ...] = ()
    citations: tuple[CitationRecord, ...] = ()
    conflicts: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    usage: Mapping[str, float | None]
    seconds: float
    signals: Mapping[str, float] = field(default_factory=dict)
    trace_id: str | None = None

    @property
    def system(self) -> str:
        """The strategy or retriever, with the settings that were varied."""
        varied = ", ".join(f"{key}={value}" for key, value in sorted(self.varied.items()))
        return f"{self.strategy} ({varied})" if varied else self.strategy

    @property
    def sureness(self) -> float | None:
        """The confidence of the answer; of an uncalibrated one, that of its draft."""
        if self.confidence is not None or not self.signals:
            return self.confidence
        # The signal is a log-odds, and the logistic function makes it a probability.
        return 1 / (1 + exp(-self.signals["sure"]))

    @property
    def is_ranking(self) -> bool:
        """True if a ranking was asked for rather than an answer."""
        return self.depth is not None

    @property
    def is_answered(self) -> bool:
        """True if an answer was given."""
        return self.status == "answered"

    @property
    def plain_text(self) -> str:
        """The answer's text without markers."""
        return strip_markers(self.answer)

    @property
    def compared_text(self) -> str:
        """The text to compare with the gold answers: the short answer, else the whole one."""
        return self.short_answer or self.plain_text

    @classmethod
    def from_json(cls, row: object) -> Self:
        """Return the record of one line.

        Raises:
            TypeError: If it is no object, a field is missing or unknown, or grades are missing.
        """
        if not isinstance(row, Mapping):
            raise TypeError("not an object")
        if not isinstance(row.get("relevant", {}), Mapping):
            raise TypeError("relevant documents without grades")
        # JSON has no tuples; a record with lists would not equal the one that was written.
        tuples = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
        citations = tuple(CitationRecord(**citation) for citation in row.get("citations", ()))
        return cls(**{**row, **tuples, "citations": citations})


Group = Sequence[Record]
"""The records of one strategy or retriever on one data set; at least one."""


class Records:
    """The records of one system on one data set, in a file of one JSON object a line.

    A record counts once its line is whole: a killed run continues after the last whole line.
    """

    def __init__(
        self,
        file: Path | None = None,
        *,
        setup: str = "",
        varied: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Read the file.

        Args:
            file: The file; without one the records stay in memory only.
            setup: The setup of the records that will be added, as in `Record.setup`.
            varied: The varied settings of the records that will be added.

        Raises:
            UsageError: If a line is no record, or a record of another setup.
        """
        self.file = file
        self.setup = setup
        self.varied = varied
        self.by_question: dict[str, Record] = {}
        for number, line in enumerate(read_whole_lines(file), start=1):
            try:
                record = Record.from_json(json.loads(line))
            except (ValueError, TypeError) as error:
                raise UsageError(f"{file}:{number}: not a record: {error}") from None
            if record.setup != self.setup:
                raise UsageError(
                    f"{file}:{number}: a record of another index, calibration, code or settings; "
                    "name another folder for the records, or remove this one"
                )
            self.by_question[record.question] = record

    def add(self, record: Record) -> None:
        """Append a record to the file, where it survives the death of the process."""
        self.by_question[record.question] = record
        append_line(self.file, asdict(record))
