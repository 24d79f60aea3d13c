"""Questions that one arm left unanswered and another answered, and vice versa."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from experiments.lab.results import Cell, Results

from fathom.evaluation.measures import is_correct
from fathom.evaluation.records import Record
from fathom.evaluation.report.blocks import ReportBlock, ReportTable, Sentences
from fathom.evaluation.rows import score_questions

HEAD = (
    "data set", "from", "to", "unanswered before", "answered now", "of these supported",
    "supported and right", "wrong", "answered before", "unanswered now", "of these right", "wrong",
)  # fmt: skip
MOST = 10
"""So many questions are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change from one arm to another on the same questions.

    Attributes:
        before: By question.
        now: Likewise.
    """

    before: dict[str, Record]
    now: dict[str, Record]

    @property
    def gained(self) -> list[Record]:
        """The answers to questions that had none before."""
        return [
            record
            for record in self.now.values()
            if self._is_answered_only_here(record, self.before)
        ]

    @property
    def lost(self) -> list[Record]:
        """The earlier answers to questions that have none now."""
        return [
            record
            for record in self.before.values()
            if self._is_answered_only_here(record, self.now)
        ]

    @property
    def supported(self) -> list[Record]:
        """The gained answers whose citations all support them."""
        gained = self.gained
        whole = score_questions("support-overlap", gained)
        return [record for record in gained if whole.get(record.question) == 1.0]

    @staticmethod
    def _is_answered_only_here(record: Record, others: dict[str, Record]) -> bool:
        return record.is_answered and not others[record.question].is_answered


def list_changes(
    results: Results, *, pairs: Sequence[Sequence[str]], title: str = ""
) -> Iterator[ReportBlock]:
    """Yield one line for each pair and data set, and the questions that are answered rightly now.

    An answer to a question that has none is wrong. A failed run is no answer.

    Args:
        results: What is shown.
        pairs: Names of two arms each: from the first to the second.
        title: Of the table.
    """
    rows, lines = [], []
    for first, second in pairs:
        for before, now in results.pair_arms(first, second):
            change = Change(before=_index_records(before), now=_index_records(now))
            rows.append((now.set, first, second, *map(str, _format_counts(change))))
            questions = [record.question for record in change.supported if is_correct(record)]
            if questions:
                lines.append(f"{now.set}, {first} to {second}: {_format_names(questions)}")
    yield ReportTable(title=title, head=HEAD, rows=tuple(rows))
    if lines:
        yield Sentences(title="Unanswered before, supported and right now", lines=tuple(lines))


def _index_records(cell: Cell) -> dict[str, Record]:
    return {record.question: record for record in cell.records}


def _format_counts(change: Change) -> list[int]:
    silent = sum(not record.is_answered for record in change.before.values())
    return [
        silent,
        len(change.gained),
        len(change.supported),
        _count_right(change.supported),
        len(change.gained) - _count_right(change.gained),
        len(change.before) - silent,
        len(change.lost),
        _count_right(change.lost),
        len(change.lost) - _count_right(change.lost),
    ]


def _count_right(records: Collection[Record]) -> int:
    return sum(is_correct(record) for record in records)


def _format_names(questions: Sequence[str]) -> str:
    more = len(questions) - MOST
    return ", ".join(questions[:MOST]) + (f" and {more} more" if more > 0 else "")
