"""The choice of the report and the statement that answer a question.

A report has several statements and a company several reports; `tables.statement_question` answers
over one statement, this module decides between their answers.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fathom.retrieval.report_lookup import Report
from fathom.tables.statement_question import StatementAnswer, StatementQuestion
from fathom.tables.statements import FinancialStatement

_MAIN = 0.95
"""The confidence in a value from a main statement (balance sheet, income, cash flow)."""
_OTHER = 0.8
"""The confidence in a value from another table with periods."""


class _PlacedAnswer(NamedTuple):
    """An answer with the statement that gives it.

    Attributes:
        report: The report.
        statement: The statement.
        answer: The answer.
    """

    report: Report
    statement: FinancialStatement
    answer: StatementAnswer


def answer_over_reports(
    asked: StatementQuestion, reports: Sequence[Report]
) -> _PlacedAnswer | None:
    """Return the answer of the first report that has the value; `None` if no report has it.

    If the question names no period, the report with the latest one is used. If it names no company
    and reports give different values, the answer is a refusal that lists them.
    """
    placed = [answer for report in reports for answer in _answer_over_report(asked, report)]
    placed.sort(key=lambda item: not item.statement.is_main)
    if not asked.periods.periods:
        placed.sort(key=lambda item: item.answer.end, reverse=True)
    if not placed:
        return None
    first = placed[0]
    if first.answer.result is None or asked.names_report(first.report.words):
        return first
    values: dict[tuple[str, ...], str] = {}
    for item in placed:
        if item.answer.result is not None and item.answer.end == first.answer.end:
            values.setdefault(item.answer.result.values, item.report.hit.chunk.title)
    if len(values) < 2:
        return first
    refusal = "it may be asked about " + " or ".join(dict.fromkeys(values.values()))
    return first._replace(answer=StatementAnswer(None, refusal=refusal))


def _answer_over_report(asked: StatementQuestion, report: Report) -> Iterator[_PlacedAnswer]:
    """Yield at most one answer of a report: from a main statement, else from its other tables."""
    # A date without a length is first taken for a day, as balance sheets name them.
    statements = sorted(
        report.statements,
        key=lambda statement: (not statement.is_main, asked.asks_length == statement.names_days),
    )
    answers: list[_PlacedAnswer] = []
    for statement in statements:
        if answers and answers[0].statement.is_main:
            break
        answer = asked.answer(statement, report.words, report.quarter)
        if answer is not None and (answer.result or statement.is_main):
            answers.append(_PlacedAnswer(report, statement, answer))
    results = [item.answer.result for item in answers if item.answer.result is not None]
    if len({result.values for result in results}) > 1:
        lines = " or ".join(dict.fromkeys(result.line for result in results[:3]))
        refusal = StatementAnswer(None, refusal=f"it may mean {lines}")
        yield answers[0]._replace(answer=refusal)
    elif answers:
        yield answers[0]


def get_probability(statement: FinancialStatement) -> float:
    """Return the confidence in a value of a statement."""
    return _MAIN if statement.is_main else _OTHER
