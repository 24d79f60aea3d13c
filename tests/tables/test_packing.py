"""Long tables as the index keeps them: packed once, with the same answers after unpacking."""

import random
from functools import cache

import pytest
from tests.tables.ports import read_document

from fathom.question.question import Question
from fathom.tables.answer import answer_over_tables
from fathom.tables.packing import (
    LEAST_PACKED,
    PlacedTable,
    pack_tables,
    read_table,
    unpack_tables,
)
from fathom.types import Document

COUNTRIES = ("Norland", "Sudria", "Vestmark")


@cache
def make_orders(rows: int = 3500) -> Document:
    draw = random.Random(1)
    lines = [
        f"ORD-{at:05d},Customer {draw.randrange(99)},{draw.choice(COUNTRIES)},"
        f"{draw.randrange(100, 9999) / 100:.2f},{draw.randrange(1, 40) if at % 50 else ''},"
        f"20{draw.randrange(10, 25)}-{draw.randrange(1, 13):02d}-05,{'won' if at % 3 else 'lost'}"
        for at in range(rows)
    ]
    head = "Order,Customer,Country,Amount (crowns),Items,Date,Result"
    return read_document("\n".join([head, *lines, ""]), "orders.csv")


@cache
def pack_orders() -> bytes:
    return pack_tables(make_orders())


@cache
def type_orders(start: int) -> PlacedTable:
    typed = read_table(make_orders(), start)
    assert typed is not None
    return typed


@pytest.mark.parametrize(
    "question",
    [
        "What is the total amount in Norland?",
        "How many orders are from Sudria?",
        "How many orders are not from Sudria?",
        "Which order has the highest amount?",
        "How many orders have more than 30 items?",
        "What is the average amount of Customer 77?",
        "What is the amount of ORD-00123?",
        "How many orders before 2015?",
        "How many orders were won?",
        "Which country has the most orders?",
        "Which order comes after ORD-00007?",
        "How many orders has Vestmrak?",
        "What is the total amount in Atlantis?",
    ],
)
def test_a_packed_table_gives_the_same_answer_as_one_typed_now(question: str) -> None:
    (packed,) = unpack_tables(pack_orders())
    typed = type_orders(packed.span.start)
    answers = [answer_over_tables(Question(question), [table.content]) for table in (packed, typed)]
    assert answers[0] == answers[1]
    assert answers[0].answer is not None or answers[0].refusal


def test_a_packed_table_knows_its_place_and_its_rows() -> None:
    (packed,) = unpack_tables(pack_orders())
    typed = type_orders(packed.span.start)
    assert (packed.span, packed.names, tuple(packed.rows)) == (typed.span, typed.names, typed.rows)
    assert packed.holds(packed.rows[99].start)
    assert not packed.holds(packed.span.end)


def test_only_long_tables_are_packed() -> None:
    assert len(make_orders().text) > LEAST_PACKED
    assert pack_tables(make_orders(99)) == b""
    assert pack_tables(read_document("No table at all.\n" * 30_000)) == b""
    assert unpack_tables(b"") == []
