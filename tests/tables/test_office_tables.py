"""Questions as an office asks them of its tables: staff, stock, invoices, courses and budgets."""

import pytest
from tests.tables.ports import read_table

from fathom.question.question import Question
from fathom.tables.answer import TableAnswer, answer_over_tables
from fathom.tables.links import TableWords

STAFF = """\
Employee ID,Name,Department,Job title,Start date,Salary (EUR),E-mail,Phone,Manager
E-014,Mara Quist,Finance,Accountant,2019-03-01,48000,mara@example.com,+47 555 0114,Olaf Brandt
E-022,Olaf Brandt,Finance,Head of finance,2012-08-15,82000,olaf@example.com,+47 555 0122,
E-031,Tove Lind,IT,Developer,2021-11-01,61000,tove@example.com,+47 555 0131,Hugo Stein
E-045,Hugo Stein,IT,Head of IT,2015-01-12,79000,hugo@example.com,+47 555 0145,
E-052,Iris Falk,Warehouse,Shift lead,2018-06-04,39500,iris@example.com,+47 555 0152,Olaf Brandt
E-060,Per Dahl,Warehouse,Packer,2023-02-20,31000,per@example.com,+47 555 0160,Iris Falk
"""
STOCK = """\
SKU,Item,Supplier,In stock,Reorder level,Unit price (USD),Location
A-100,Steel bolt M8,Norbolt,1200,500,0.12,Aisle 3
A-101,Steel nut M8,Norbolt,900,500,0.08,Aisle 3
B-200,Oak board 2 m,Woodline,45,60,18.50,Yard 1
B-201,Pine board 2 m,Woodline,160,80,9.75,Yard 1
C-300,Wood glue 1 l,Chemex,24,30,7.20,Cabinet B
C-301,Floor oil 5 l,Chemex,11,10,54.00,Cabinet B
"""
INVOICES = """\
Invoice no.,Customer,Issued,Due,Amount (EUR),Status,Paid on
2025-001,Alder Ltd,2025-01-10,2025-02-09,1250.00,paid,2025-02-03
2025-002,Birch GmbH,2025-01-22,2025-02-21,890.50,paid,2025-02-25
2025-003,Cedar SA,2025-02-03,2025-03-05,4300.00,overdue,
2025-004,Alder Ltd,2025-02-14,2025-03-16,610.00,open,
2025-005,Birch GmbH,2025-03-01,2025-03-31,2075.25,open,
"""
COURSES = """\
Course,Teacher,Day,Start,End,Room,Places,Enrolled,Fee
Pottery,Nina Holm,Monday,18:00,20:30,Studio 1,12,12,180
Spanish A1,Luis Mora,Tuesday,17:30,19:00,Room 4,16,9,145
Spanish A2,Luis Mora,Thursday,17:30,19:00,Room 4,16,14,145
Yoga,Asha Rao,Wednesday,7:00,8:00,Hall,25,21,95
First aid,Karl Voss,Saturday,9:00,16:00,Room 2,20,6,60
"""


def answer(question: str, text: str) -> TableAnswer:
    """Return the answer to a question over a table in CSV."""
    return answer_over_tables(Question(question), [TableWords.of(read_table(text, "list.csv"))])


@pytest.mark.parametrize(
    ("text", "question", "values"),
    [
        (STAFF, "What is the telephone number of Tove Lind?", ["+47 555 0131"]),
        (STAFF, "What is Tove Lind's phone number?", ["+47 555 0131"]),
        (STAFF, "What is the email of Per Dahl?", ["per@example.com"]),
        (STAFF, "Who is the manager of Iris Falk?", ["Olaf Brandt"]),
        (STAFF, "Who is Per Dahl's boss?", ["Iris Falk"]),
        (STAFF, "Who earns the most?", ["Olaf Brandt"]),
        (STAFF, "How much does Mara Quist earn?", ["48,000"]),
        (STAFF, "How much more does Olaf Brandt earn than Hugo Stein?", ["3,000"]),
        (STAFF, "Who started before 2016?", ["Hugo Stein", "Olaf Brandt"]),
        (STAFF, "Who has employee ID E-045?", ["Hugo Stein"]),
        (STOCK, "How many oak boards are in stock?", ["45"]),
        (STOCK, "How many boards are in stock?", ["205"]),
        (STOCK, "How much does the wood glue cost?", ["7.20"]),
        (STOCK, "Which item is the most expensive?", ["Floor oil 5 l"]),
        (STOCK, "What is the cheapest item?", ["Steel nut M8"]),
        (STOCK, "What is the SKU of the oak board?", ["B-200"]),
        (INVOICES, "How much does invoice 2025-003 amount to?", ["4300.00"]),
        (INVOICES, "When is invoice 2025-005 due?", ["2025-03-31"]),
        (INVOICES, "Which customer has the largest invoice?", ["Cedar SA"]),
        (INVOICES, "What is the total amount of open invoices?", ["2,685.25"]),
        (COURSES, "How many people are enrolled in Yoga?", ["21"]),
        (COURSES, "What does the pottery course cost?", ["180"]),
        (COURSES, "Which courses cost less than 100?", ["First aid", "Yoga"]),
        (COURSES, "How many courses are there?", ["5"]),
    ],
)
def test_a_question_of_an_office_is_answered(text: str, question: str, values: list[str]) -> None:
    answered = answer(question, text).answer
    assert answered is not None
    assert sorted(value.replace(",", "") for value in answered.result.values) == [
        value.replace(",", "") for value in values
    ]


@pytest.mark.parametrize(
    ("text", "question", "reason"),
    [
        (STAFF, "How many people does Olaf Brandt manage?", "no column has people"),
        (STOCK, "How many steel bolts do we have?", "no column has steel bolts"),
        (COURSES, "How many places are left in Yoga?", "no column has left"),
    ],
)
def test_an_amount_that_no_column_states_is_no_number_of_rows(
    text: str, question: str, reason: str
) -> None:
    refused = answer(question, text)
    assert (refused.answer, refused.refusal) == (None, reason)


def test_no_number_of_rows_and_no_name_is_an_amount() -> None:
    assert answer("How much does Alder Ltd owe?", INVOICES).answer is None


def test_times_of_day_are_no_durations() -> None:
    assert answer("How long does first aid last?", COURSES).answer is None


def test_all_things_in_a_period_are_listed_if_the_question_asks_for_several() -> None:
    text = "Shop,Opened\nGate,1920\nMill,1950\nSide,1960\n"
    for question, values in (
        ("Which shops opened after 1930?", ("Mill", "Side")),
        ("Which shop opened after 1930?", ("Mill",)),
    ):
        answered = answer(question, text).answer
        assert answered is not None
        assert answered.result.values == values
