"""Questions over statements: labels by meaning, periods and scale, and what stays open."""

from pathlib import Path

import pytest

from fathom.documents.base import Builder
from fathom.domains.domain import load_domain
from fathom.question.question import Question
from fathom.tables.labels import LabelNames
from fathom.tables.rows import list_document_tables
from fathom.tables.statement_question import StatementAnswer, StatementQuestion
from fathom.tables.statements import FinancialStatement, list_statements
from fathom.types import Document

NAMES = LabelNames.of(load_domain("finance"))
INCOME = (
    ("Statements of income (in millions, except per share data)",
     "Three Months Ended June 30, 2022", "Three Months Ended June 30, 2023",
     "Six Months Ended June 30, 2023"),
    ("Total net sales", "$ 1,200", "$ 1,500", "$ 2,900"),
    ("Operating income", "(30)", "300", "500"),
    ("Research and development", "100", "150", "290"),
    ("Earnings per share:",),
    ("Basic", "$ (0.10)", "$ 0.55", "$ 1.02"),
    ("Diluted", "$ (0.10)", "$ 0.52", "$ 0.99"),
)  # fmt: skip
CASH = (
    ("Statements of cash flows (in thousands)", "Six Months Ended June 30, 2023"),
    ("Net cash provided by (used in) operating activities", "$ 900"),
    ("Purchases of property, plant and equipment", "(250)"),
    ("Dividends paid", "\u2014"),
)
BALANCE = (
    ("Balance sheets (in millions)", "December 31, 2022", "June 30, 2023"),
    ("Current assets:",),
    ("Marketable securities", "$ 10", "$ 20"),
    ("Non-current assets:",),
    ("Marketable securities", "30", "40"),
    ("Total assets", "$ 90", "$ 120"),
)
INDONESIAN = (
    ("Laporan laba rugi (dalam jutaan rupiah)", "Tiga bulan yang berakhir 30 Juni 2023"),
    ("Penjualan neto", "Rp 1.250.500"),
    ("Laba periode berjalan", "200.750"),
)


def build_statement(rows: tuple[tuple[str, ...], ...]) -> FinancialStatement:
    builder = Builder()
    for at, row in enumerate(rows):
        builder.add_row(list(row), head=at == 0)
    parsed = builder.build()
    document = Document(id="r", text=parsed.text, path="r.pdf", title="", blocks=parsed.blocks)
    return list_statements(list_document_tables(document))[0]


def ask(text: str, rows: tuple[tuple[str, ...], ...], names: LabelNames = NAMES) -> StatementAnswer:
    question = StatementQuestion.of(Question(text), names)
    answer = question.answer(build_statement(rows), frozenset({"norland", "ltd"}), "2023 q2")
    return answer or StatementAnswer(None)


def show(answer: StatementAnswer) -> str:
    result = answer.result
    return f"{', '.join(result.values)} {result.unit}".strip() if result else answer.refusal


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("What was Norland's revenue for the three months ended June 30, 2022?", "$1,200 million"),
        ("What was Norland's revenue in Q2 2023?", "$1,500 million"),
        ("What was the basic EPS in the quarter ended June 30, 2023?", "$0.55"),
        ("How much did sales change year over year in the quarter ended June 30, 2023?",
         "$300 million"),
        ("By what percentage did sales grow in the quarter ended June 30, 2023 compared with the "
         "same quarter a year earlier?", "25 %"),
        ("What percentage of revenue was R&D expense in the quarter ended June 30, 2023?", "10 %"),
        ("R&D as a percentage of net sales in the quarter ended June 30, 2023?", "10 %"),
        ("What was the operating margin for the six months ended June 30, 2023?", "17.24 %"),
    ],
)  # fmt: skip
def test_a_label_is_matched_by_meaning_in_its_period(text: str, value: str) -> None:
    assert show(ask(text, INCOME)) == value


def test_the_answer_names_the_label_that_was_taken() -> None:
    answer = ask("What was the capital expenditure in the six months to June 30, 2023?", CASH)
    assert answer.result is not None
    assert answer.result.line == "Purchases of property, plant and equipment: -$250 thousand"


def test_free_cash_flow_subtracts_a_payment_that_is_printed_in_brackets() -> None:
    text = "How much free cash flow did Norland have in the six months ended June 30, 2023?"
    assert show(ask(text, CASH)) == "$650 thousand"


def test_an_indonesian_statement_is_read() -> None:
    text = "Berapa laba bersih untuk tiga bulan yang berakhir pada 30 Juni 2023?"
    assert show(ask(text, INDONESIAN)) == "Rp200.750 juta"


@pytest.mark.parametrize(
    ("text", "rows", "reason"),
    [
        ("What were the marketable securities at June 30, 2023?", BALANCE,
         "it may mean Marketable securities (Current assets) or Marketable securities "
         "(Non-current assets)"),
        ("What was the revenue for the period ended June 30, 2023?", INCOME,
         "it may mean Three Months Ended June 30, 2023 or Six Months Ended June 30, 2023"),
        ("What dividends were paid in the six months ended June 30, 2023?", CASH,
         "a cell that is needed is empty"),
    ],
)  # fmt: skip
def test_several_rows_or_columns_are_told_as_candidates(
    text: str, rows: tuple[tuple[str, ...], ...], reason: str
) -> None:
    answer = ask(text, rows)
    assert (answer.result, answer.refusal) == (None, reason)


def test_a_section_tells_equal_labels_apart() -> None:
    text = "What were the non-current marketable securities as of June 30, 2023?"
    assert show(ask(text, BALANCE)) == "$40 million"


@pytest.mark.parametrize(
    "text",
    [
        "What was Sudria's revenue for the three months ended June 30, 2022?",
        "What was the revenue for the three months ended June 30, 2015?",
        "What was the advertising revenue for the three months ended June 30, 2022?",
        "By what percentage did operating income grow year over year in Q2 2023?",
        "How much did revenue change in the three months ended June 30, 2023?",
    ],
)
def test_nothing_is_said_of_other_companies_periods_and_labels(text: str) -> None:
    assert ask(text, INCOME) == StatementAnswer(None)


def test_a_domain_of_ones_own_adds_labels_and_measures(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'name = "own"\n[[classes]]\nname = "General"\n'
        '[labels]\n"Research and development" = ["laboratory budget"]\n'
        '[measures]\n"lab share" = { share = ["laboratory budget", "total net sales"] }\n'
    )
    names = LabelNames.of(load_domain(str(file)), load_domain("finance"))
    text = "What was the laboratory budget in the quarter ended June 30, 2023?"
    assert show(ask(text, INCOME, names)) == "$150 million"
    text = "What was the lab share in the quarter ended June 30, 2023?"
    assert show(ask(text, INCOME, names)) == "10 %"
