"""Statements of reports in an engine: an amount is computed and its cell is cited."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.factories import engine_at

from fathom.engine import Engine

REPORT = """# {company} quarterly report

| Statements of income (in millions) | Quarter ended {first} | Quarter ended {last} |
|---|---|---|
| Total net sales | $ {before} | $ {after} |
| Operating income | 90 | 300 |
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine over the reports of two companies, which cover one quarter both."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    periods = {"first": "June 30, 2022", "last": "June 30, 2023"}
    for company, before, after in (("Norland", 1200, 1500), ("Sudria", 700, 800)):
        text = REPORT.format(company=company, before=before, after=after, **periods)
        (corpus / f"{company}.md").write_text(text)
    with engine_at(tmp_path) as opened:
        opened.ingest([corpus])
        yield opened


@pytest.mark.parametrize("strategy", ["naive", "adaptive"])
def test_an_amount_is_cited_at_its_cell(engine: Engine, strategy: str) -> None:
    answer = engine.ask(
        "What was Sudria's revenue for the quarter ended June 30, 2023?", strategy=strategy
    )
    assert (answer.short_answer, answer.tentative) == ("$800 million", False)
    assert answer.answer.startswith("Total net sales: $800 million (Quarter ended June 30, 2023)")
    assert answer.calculation is not None
    [cell] = answer.calculation.cells
    [citation] = answer.citations
    start = cell.start - citation.start
    assert citation.quote[start : start + len(cell.text)] == cell.text == "$ 800"
    assert engine.replay(str(answer.trace_id)).same


def test_a_change_cites_both_cells(engine: Engine) -> None:
    answer = engine.ask(
        "How much did Norland's sales change year over year in the quarter ended June 30, 2023?"
    )
    assert answer.short_answer == "$300 million"
    assert answer.calculation is not None
    assert [cell.text for cell in answer.calculation.cells] == ["$ 1500", "$ 1200"]


def test_a_question_about_nobody_is_not_answered_for_one_of_two(engine: Engine) -> None:
    answer = engine.ask("What was the revenue for the quarter ended June 30, 2023?")
    assert answer.status != "answered" or answer.calculation is None
    reasons = [step.reason for step in engine.trace(str(answer.trace_id)).steps]
    assert any(reason.startswith("it may be asked about ") for reason in reasons)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What was Norland's advertising revenue for the quarter ended June 30, 2023?",
         "no statement has what is asked for"),
        ("What was Norland's profit for the quarter ended June 30, 2023?",
         "no statement has what is asked for"),
    ],
)  # fmt: skip
def test_no_cell_is_read_for_a_row_that_no_statement_has(
    engine: Engine, text: str, reason: str
) -> None:
    answer = engine.ask(text)
    assert answer.status == "abstained"
    steps = engine.trace(str(answer.trace_id)).steps
    assert reason in [step.reason for step in steps]
