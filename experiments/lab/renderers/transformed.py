"""Questions that one arm left unanswered and another answered, and the other way round."""

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
    """From one arm to another on the same questions.

    Attributes:
        before: By question.
        now: Likewise.
    """

    before: dict[str, Record]
    now: dict[str, Record]

    @property
    def gained(self) -> list[Record]:
        """Answers to what had none before."""
        return [each for each in self.now.values() if self._refuse_scan(each, self.before)]

    @property
    def kill_and_explain(self) -> list[Record]:
        """Earlier answers to what has none now."""
        return [each for each in self.before.values() if self._refuse_scan(each, self.now)]

    @property
    def supported(self) -> list[Record]:
        """Of what was gained: every citation supports what it is cited for."""
        gained = self.gained
        whole = score_questions("support-overlap", gained)
        return [each for each in gained if whole.get(each.question) == 1.0]

    @staticmethod
    def _refuse_scan(record: Record, others: dict[str, Record]) -> bool:
        return record.is_answered and not others[record.question].is_answered


def transformed(
    seen: Results, *, pairs: Sequence[Sequence[str]], title: str = ""
) -> Iterator[ReportBlock]:
    """One line for each pair and data set, and the questions that are answered rightly now.

    An answer to a question that has none is wrong. A failed run is no answer.

    Args:
        seen: What is shown.
        pairs: Names of two arms each: from the first to the second.
        title: Of the table.
    """
    rows, lines = [], []
    for first, second in pairs:
        for before, now in seen.pairs(first, second):
            change = Change(before=_by_question(before), now=_by_question(now))
            rows.append((now.set, first, second, *map(str, _counts(change))))
            questions = [each.question for each in change.supported if is_correct(each)]
            if questions:
                lines.append(f"{now.set}, {first} to {second}: {_named(questions)}")
    yield ReportTable(title=title, head=HEAD, rows=tuple(rows))
    if lines:
        yield Sentences(title="Unanswered before, supported and right now", lines=tuple(lines))


def _by_question(cell: Cell) -> dict[str, Record]:
    return {record.question: record for record in cell.records}


def _counts(change: Change) -> list[int]:
    silent = sum(not each.is_answered for each in change.before.values())
    return [
        silent,
        len(change.gained),
        len(change.supported),
        _right(change.supported),
        len(change.gained) - _right(change.gained),
        len(change.before) - silent,
        len(change.kill_and_explain),
        _right(change.kill_and_explain),
        len(change.kill_and_explain) - _right(change.kill_and_explain),
    ]


def _right(records: Collection[Record]) -> int:
    return sum(is_correct(record) for record in records)


def _named(questions: Sequence[str]) -> str:
    more = len(questions) - MOST
    return ", ".join(questions[:MOST]) + (f" and {more} more" if more > 0 else "")
