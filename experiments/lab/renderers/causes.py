"""The reasons for answers without a gold word: not found, not dared, or misread."""

from collections import Counter
from collections.abc import Iterator, Sequence

from experiments.lab.results import Results

from fathom.evaluation.records import Record
from fathom.evaluation.report.blocks import ReportBlock, ReportTable
from fathom.evaluation.rows import score_questions

CAUSES = (
    "not found, unanswered",
    "not found, answered",
    "found, unanswered",
    "found, answered",
    "failed",
)
"""Found: all relevant documents are among the first ten of the evidence."""


def count_causes(
    results: Results, *, arms: Sequence[str] = (), title: str = ""
) -> Iterator[ReportBlock]:
    """Yield counts of the questions whose answer shares no word with a gold one, for each arm.

    Only questions with gold answers and relevant documents count.

    Args:
        results: What is shown.
        arms: Only these.
        title: Of the table.
    """
    chosen = results.select_arms(arms)
    rows = []
    for cell in chosen.by_set:
        quality, has_answer = (
            score_questions("has-answer-F1", cell.records),
            score_questions("R@10", cell.records),
        )
        records = [
            record for record in cell.records if {record.question} <= quality.keys() & has_answer
        ]
        lost = [record for record in records if quality[record.question] == 0]
        counts = Counter(_find_cause(record, has_answer[record.question] == 1) for record in lost)
        counted = (str(counts[cause]) for cause in CAUSES)
        rows.append((cell.set, cell.arm.name, str(len(records)), str(len(lost)), *counted))
    head = ("data set", "system", "with an answer", "F1 = 0", *CAUSES)
    yield ReportTable(title=title, head=head, rows=tuple(rows))


def _find_cause(record: Record, is_found: bool) -> str:
    if record.status == "failed":
        return "failed"
    return f"{'found' if is_found else 'not found'}, {'' if record.is_answered else 'un'}answered"
