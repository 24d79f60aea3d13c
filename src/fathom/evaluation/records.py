"""The records of an evaluation, one for each question and system, from which reports are made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self, get_args

from fathom.errors import UsageError
from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.text.answer_scores import strip_markers
from fathom.types import AnswerStatus

Status = AnswerStatus | Literal["ranked"]
"""The status of an answer, or `ranked` for a ranking."""
_STATUSES = (*get_args(AnswerStatus), "ranked")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationRecord:
    """The measured fields of a citation."""

    document: str
    quote: str
    support: float
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of one question to one system: an answer of a strategy or a retriever's ranking.

    Attributes:
        strategy: The name of the strategy or retriever.
        question: The id of the question in the data set.
        scope: The hash of the earlier turns and of the documents to which the question is limited;
            empty if it has none, `None` in old records, which had no scope.
        kind: The kind of the question, as the data set names it.
        gold: The accepted answers; empty if there is no answer, or the data set names none.
        wrong: The known wrong answers; `None` if the data set names none.
        synthetic: Whether the question was made from the documents, not asked by a person.
        relevant: The grade (above 0) of each relevant document.
        documents: The number of documents of the corpus; 0 means unknown.
        varied: The settings that vary between systems.
        depth: The number of documents that a retriever had to rank; `None` for an answer.
        tentative: Whether the answer is shown as not sure.
        disputed: Whether the answer names all readings of documents that disagree.
        withheld: The `answer` and `short_answer` of a draft that was withheld; empty without one.
        setup: The hash of everything except the question that determines the answer.
        stop_reason: The reason of an abstention, or the error if the status is `failed`.
        actions: The planner's workflows, one for each turn, for strategies with a planner.
        conflicts: The other readings that were shown, without refuted ones; for a disputed answer,
            all readings.
        evidence: The documents that the run saw, or the ranking; best first, without duplicates.
        usage: The fields of `Usage`.
        seconds: The wall time of the run.
        signals: The numeric signals of the answer, from `agents.answer_signals`.
        trace_id: The id of the trace in the index; `None` if there is none.
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
        """The strategy or retriever with the varied settings."""
        varied = ", ".join(f"{key}={value}" for key, value in sorted(self.varied.items()))
        return f"{self.strategy} ({varied})" if varied else self.strategy

    @property
    def sureness(self) -> float | None:
        """The confidence of the answer, or else of its draft if there is no calibration."""
        if self.confidence is not None or not self.signals:
            return self.confidence
        # The logistic function converts the signal, which is a log-odds, to a probability.
        return 1 / (1 + exp(-self.signals["sure"]))

    @property
    def is_ranking(self) -> bool:
        """True for the ranking of a retriever."""
        return self.depth is not None

    @property
    def is_answered(self) -> bool:
        """True if an answer was given."""
        return self.status == "answered"

    @property
    def tokens(self) -> float:
        """The number of tokens of language models."""
        return sum(self.usage.get(name) or 0.0 for name in ("prompt_tokens", "completion_tokens"))

    @property
    def plain_text(self) -> str:
        """The answer's text without markers."""
        return strip_markers(self.answer)

    @property
    def compared_text(self) -> str:
        """The text to compare with the gold answers: the short answer, or else the whole one."""
        return self.short_answer or self.plain_text

    @classmethod
    def from_json(cls, row: object) -> Self:
        """Parse the record of one line.

        Raises:
            TypeError: If the value is not an object, or fields are missing, unknown or malformed.
        """
        if not isinstance(row, Mapping):
            raise TypeError("not an object")
        if not isinstance(row.get("relevant", {}), Mapping):
            raise TypeError("relevant documents without grades")
        _check_status_and_numbers(row)
        # JSON has no tuples, and a record with lists would not equal the written one.
        tuples = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
        citations = tuple(CitationRecord(**citation) for citation in row.get("citations", ()))
        return cls(**{**row, **tuples, "citations": citations})


def _check_status_and_numbers(row: Mapping[str, object]) -> None:
    """Check the fields with which measures are computed.

    Raises:
        TypeError: If the status is unknown, or a number is none.
    """
    if row.get("status") not in _STATUSES:
        raise TypeError(f"status {row.get('status')!r}: expected {', '.join(_STATUSES)}")
    usage, signals = row.get("usage", {}), row.get("signals", {})
    if not isinstance(usage, Mapping) or not isinstance(signals, Mapping):
        raise TypeError("usage and signals must be objects")
    single = {name: row.get(name) for name in ("seconds", "confidence", "depth")}
    for name, value in {**usage, **signals, **single}.items():
        if not isinstance(value, int | float | None):
            raise TypeError(f"{name} must be a number")


Group = Sequence[Record]
"""The records of one strategy or retriever on one data set; at least one."""


class Records:
    """The records of one system on one data set, in a file with one JSON object in each line.

    A killed run continues after the last complete line.
    """

    def __init__(
        self,
        file: Path | None = None,
        *,
        setup: str = "",
        varied: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Load the file.

        Args:
            file: The file; `None` to keep the records in memory only.
            setup: The setup of new records, as in `Record.setup`.
            varied: The varied settings of new records.

        Raises:
            UsageError: If a line is not a record, or has another setup.
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
        """Append a record to the file at once."""
        self.by_question[record.question] = record
        append_line(self.file, asdict(record))
